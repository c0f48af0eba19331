"""Random records of use in which everything happens that can be written down."""

from collections.abc import Sequence

from hypothesis import strategies as st

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding

RESOURCES = ("cpu", "gpu")
QUEUES = [QueueName(name) for name in "abc"]
COMMON = ("held", "held", "held", "user", "guarantee", "capacity")
RARE = ("granted", "forgiven", "forgiven all", "renamed", "removed", "gap")


@st.composite
def journals(
    draw: st.DrawFn,
    *,
    unit: int = 1,
    most_step_ms: int = 400,
    longest: int = 40,
    kinds: Sequence[str] = COMMON + RARE,
) -> list[Entry]:
    """Entries in the order of time, each of which a ledger takes."""
    step = st.tuples(st.integers(0, most_step_ms), st.sampled_from(kinds))
    steps = draw(st.lists(step, max_size=longest))
    at_ms = draw(st.integers(0, 10**6))
    taken: list[Entry] = []
    ledger = Ledger(RESOURCES, Sliding(10**9))
    for step_ms, kind in steps:
        at_ms += step_ms
        entry = draw(_entry(kind, at_ms, step_ms, unit))
        try:
            ledger.take(entry)
        except UsageError:
            continue  # such as a name that is taken
        taken.append(entry)
    return taken


@st.composite
def _entry(draw: st.DrawFn, kind: str, at_ms: int, step_ms: int, unit: int) -> Entry:
    queue = draw(st.sampled_from(QUEUES))
    level = st.integers(0, 6).map(lambda size: size * unit)
    amounts = st.tuples(level, level)
    match kind:
        case "held":
            return Held(at_ms=at_ms, queue=queue, amounts=draw(amounts))
        case "user":
            user = draw(st.sampled_from(["ann", "bob"]))
            return Held(at_ms=at_ms, queue=queue, user=user, amounts=draw(amounts))
        case "capacity":
            return Capacity(at_ms=at_ms, amounts=draw(amounts))
        case "guarantee":
            limits = draw(st.tuples(st.none() | level, level))
            return Guarantee(at_ms=at_ms, queue=queue, amounts=limits)
        case "granted":
            used = draw(st.tuples(*[st.integers(-2000, 2000)] * 2))
            user = draw(st.sampled_from(["", "ann"]))
            return Granted(
                at_ms=at_ms,
                queue=queue,
                user=user,
                resource_time=(used[0] * unit, used[1] * unit),
                who="w",
                reason=draw(st.sampled_from("rs")),
            )
        case "renamed":
            return Renamed(at_ms=at_ms, queue=queue, name=draw(st.sampled_from(QUEUES)))
        case "removed":
            return Removed(at_ms=at_ms, queue=queue)
        case "gap":
            return Gap(at_ms=at_ms, since_ms=at_ms - draw(st.integers(0, step_ms)))
        case _:
            whom = queue if kind == "forgiven" else None
            return Forgiven(at_ms=at_ms, queue=whom, who="w", reason="r")
