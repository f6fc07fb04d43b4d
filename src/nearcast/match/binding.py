"""The binding of a source to a subscription (LACL): its states, its operations, and who hears a reading.

A reading goes to the subscriptions that its source is bound to; the conditions on locations are not asked again.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["TABLE", "Binding", "Operation", "follow", "operate"]


class Binding(StrEnum):
    START = "start"
    ACTIVE = "active"
    INACTIVE = "inactive"
    STOP = "stop"


class Operation(StrEnum):
    JOIN = "join"
    """The location condition holds for the first time."""
    QUIT = "quit"
    """Life control turned false."""
    ACTIVE = "active"
    INACTIVE = "inactive"
    START = "start"
    """Life control turned true again."""


TABLE = {
    (Binding.START, Operation.JOIN): Binding.ACTIVE,
    (Binding.START, Operation.QUIT): Binding.STOP,
    (Binding.ACTIVE, Operation.INACTIVE): Binding.INACTIVE,
    (Binding.ACTIVE, Operation.QUIT): Binding.STOP,
    (Binding.INACTIVE, Operation.ACTIVE): Binding.ACTIVE,
    (Binding.INACTIVE, Operation.QUIT): Binding.STOP,
    (Binding.STOP, Operation.START): Binding.START,
}
"""Where each operation leads. Any other leaves the binding as it is."""


def operate(binding: Binding, operation: Operation) -> Binding:
    return TABLE.get((binding, operation), binding)


def follow(binding: Binding, *, alive: bool, bound: bool) -> Binding:
    """Where a binding stands once life control is ``alive`` and the location condition is ``bound``."""
    if not alive:
        return operate(binding, Operation.QUIT)
    binding = operate(binding, Operation.START)
    if not bound:
        return operate(binding, Operation.INACTIVE)
    return operate(operate(binding, Operation.JOIN), Operation.ACTIVE)
