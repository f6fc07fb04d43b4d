"""Decision 28, at random: what a publisher does where a subscriber may not see it makes no difference to what that one
is told, neither then nor later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nearcast.model.notification import Notification
from tests.match.harness import System

HOME = "BOX(0 0, 10 10)"
INSIDE = st.tuples(st.integers(1, 9), st.integers(1, 9))
NEAR = st.tuples(st.integers(-6, 16), st.integers(-6, 16))
OUTSIDE = NEAR.filter(lambda at: not (0 <= at[0] <= 10 and 0 <= at[1] <= 10))


class Step(NamedTuple):
    """Where ann is next: where bob may see her, or at home, in one way or in another. Then bob may go elsewhere."""

    seconds: int
    seen: tuple[int, int] | None
    one: tuple[int, int] = (5, 5)
    other: tuple[int, int] = (5, 5)
    bob: tuple[int, int] | None = None


BOB = st.none() | NEAR
STEPS = st.lists(
    st.one_of(
        st.builds(Step, st.integers(1, 5), OUTSIDE, bob=BOB),
        st.builds(Step, st.integers(1, 5), st.none(), INSIDE, INSIDE, BOB),
    ),
    min_size=2,
    max_size=9,
)
ZONES = st.builds("DISC({0[0]} {0[1]}, {1} m)".format, NEAR, st.integers(1, 6))
SAID = (
    "&location IN {0}", "NOT &location IN {0}", "&location CROSSES {0}", "&location WITHIN {1} m OF #location",
    "NOT &location WITHIN {1} m OF #location", "NOW - LEFT(&location IN {0}) < {1} s",
    "NOW - ENTERED(&location IN {0}) > {1} s", "NOW - LEFT(&location WITHIN {1} m OF #location) < {1} s",
    "NOW - ENTERED(&location CROSSES {0}) < {1} s", "MEAN STAY(1, ANY location IN {0}) > {1} s",
    "#location WITHIN {1} m OF ANY location",
)  # fmt: skip
CONDITIONS = st.builds(str.format, st.sampled_from(SAID), ZONES, st.integers(1, 9))
FILTERS = st.one_of(
    CONDITIONS,
    st.builds("{} AND {}".format, CONDITIONS, CONDITIONS),
    st.builds("({}) OR {}".format, CONDITIONS, CONDITIONS),
)
OPTIONS = st.sampled_from(
    ["", "", "DWELL 3 s", "COOLDOWN 4 s", "HYSTERESIS 6 m", "CONFIDENCE 90 %", "FRESH 4 s", "WITH UPDATES"]
)
SELECTED = st.builds("SELECT{} WHERE {} {}".format, st.sampled_from(["", "", " NEAREST 1"]), FILTERS, OPTIONS)


def at_home(s: System, before: Step, step: Step, now: float) -> None:
    """The filter itself leaves home out."""
    if not now:
        s.publish("ann", "me", f"PUBLISH TO NOT &location IN {HOME}")


def at_home_or_far_from_bob(s: System, before: Step, step: Step, now: float) -> None:
    """So that what bob does may also be why he does not see her."""
    if not now:
        s.publish("ann", "me", f"PUBLISH TO NOT &location IN {HOME} AND #location WITHIN 9 m OF &location")


def paused(s: System, before: Step, step: Step, now: float) -> None:
    """It is paused just before, and goes on once she is elsewhere."""
    if not now:
        s.publish("ann", "me", "PUBLISH")
    if before.seen and not step.seen:
        s.publish("ann", "me", "PUBLISH PAUSED", now)


def withdrawn(s: System, before: Step, step: Step, now: float) -> None:
    if not now:
        s.publish("ann", "me", "PUBLISH")
    if before.seen and not step.seen:
        s.retract("ann", "me", now)


def told_by_attributes(s: System, before: Step, step: Step, now: float) -> None:
    if not now:
        s.publish("ann", "me", "PUBLISH TO &shown = TRUE")
        s.client("ann", shown=True)
    if before.seen and not step.seen:
        s.client("ann", now, shown=False)


def go_on(s: System, how: Callable[..., None], now: float) -> None:
    if how in (paused, withdrawn):
        s.publish("ann", "me", "PUBLISH", now)
    if how is told_by_attributes:
        s.client("ann", now, shown=True)


WAYS = (at_home, at_home_or_far_from_bob, paused, withdrawn, told_by_attributes)


def story(how: Callable[..., None], text: str, steps: Sequence[Step], which: str) -> list[Notification]:
    s, now, before = System(), 0, Step(0, (-6, -6))
    s.publish("eve", "shop", "PUBLISH AT POINT(12 12)")
    s.move("bob", 3, 12, 0)
    how(s, before, before, 0)
    s.move("ann", -6, -6, 0)
    s.subscribe("bob", "s", text, 0)
    for step in steps:
        how(s, before, step, now)
        now += step.seconds
        x, y = step.seen or (step.one if which == "one" else step.other)
        s.move("ann", x, y, now)
        if step.seen and not before.seen:
            go_on(s, how, now)
        if step.bob:
            s.move("bob", *step.bob, now)
        if step.seen:  # what is due is told now, as it would be otherwise when the next timer is
            s.tick(now)
        before = step
    return [n for n in s.log if n.subscriber == "bob"]


def as_shown(n: Notification) -> tuple[object, ...]:
    return (n.kind, n.time, n.publisher, n.reason, n.cause, n.content, n.why)


@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=max(10, settings().max_examples // 4))
@given(SELECTED, STEPS)
@example("SELECT WHERE NOT &location IN DISC(2 2, 2 m)", [Step(1, (12, 5)), Step(1, None, (2, 2), (8, 8))])
@example("SELECT WHERE &location CROSSES DISC(8 5, 1 m)", [Step(1, None, (5, 5), (5, 9)), Step(1, (15, 5))])
@example(
    "SELECT WHERE &location IN DISC(2 2, 2 m) HYSTERESIS 99 m",
    [Step(1, (12, 5)), Step(1, None, (2, 2), (8, 8)), Step(1, (12, 5))],
)
@example(
    "SELECT WHERE NOW - LEFT(&location IN DISC(2 2, 2 m)) < 9 s",
    [Step(1, (12, 5)), Step(1, None, (2, 2), (8, 8)), Step(1, (12, 5))],
)
def test_what_is_hidden_makes_no_difference(how: Callable[..., None], text: str, steps: list[Step]) -> None:
    one, other = ([as_shown(n) for n in story(how, text, steps, which)] for which in ("one", "other"))
    assert one == other
