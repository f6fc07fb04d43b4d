"""What bodies and answers hold, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nearcast.gateway.formats import Attributes, Fault, Name, Text
from nearcast.model.region import MOST

__all__ = ["LONGEST", "Heard", "Particulars", "Problem", "Reading", "Statement", "Taken", "Written"]

LONGEST = 256
"""Characters of an id: brokers remember it for long."""
_Id = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class Statement(msgspec.Struct, forbid_unknown_fields=True):
    """A statement of the language."""

    text: str


class Written(msgspec.Struct, omit_defaults=True):
    """Where an op is in the log. It has been applied. What may not be as it was meant is said."""

    sequence: int
    warnings: list[str] = []


class Taken(msgspec.Struct, omit_defaults=True):
    """Where the last of the positions is in the log. They are on disk; what could not be read is listed."""

    accepted: int
    sequence: int
    refused: int = 0
    faults: list[Fault] = []
    warnings: list[str] = []


_Values = Annotated[dict[Name, bool | int | float | Text], msgspec.Meta(max_length=MOST - 1)]
"""One less than there may be, since ``value`` is one of them in the log."""


class Reading(msgspec.Struct, forbid_unknown_fields=True):
    """A reading of a source: ``value`` is ``@``, ``values`` holds others."""

    publication: _Id
    value: bool | int | float | Text | None = None
    values: _Values = {}
    time: str | int | float | None = None
    client: str | None = None


class Particulars(msgspec.Struct, forbid_unknown_fields=True):
    """What a client says of itself; null removes an attribute. Lease and lateness are seconds."""

    attributes: Attributes = {}
    lease: float | None = None
    lateness: float | None = None


class Heard(msgspec.Struct, forbid_unknown_fields=True):
    """How far a client has heard: the cursor of an event."""

    cursor: str


class Problem(msgspec.Struct, omit_defaults=True):
    """What went wrong, as RFC 9457 has it; ``field`` says with what."""

    title: str
    status: int
    detail: str
    field: str = ""
    type: str = "about:blank"
