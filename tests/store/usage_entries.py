"""Entries for the tests of stores, short to write and made at random."""

from hypothesis import strategies as st

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

HOUR = 3_600_000
DAY = 24 * HOUR
START = 1_770_000_000_000
A, B, C = QueueName("a"), QueueName("b"), QueueName("c")
RESOURCES = ("cpu", "gpu")


def held(hour: float, *amounts: int, queue: QueueName = A, user: str = "") -> Held:
    return Held(at_ms=_at(hour), queue=queue, user=user, amounts=amounts)


def capacity(hour: float, *amounts: int) -> Capacity:
    return Capacity(at_ms=_at(hour), amounts=amounts)


def guarantee(hour: float, *amounts: int | None, queue: QueueName = A) -> Guarantee:
    return Guarantee(at_ms=_at(hour), queue=queue, amounts=amounts)


def granted(hour: float, *gpu_hours: int, queue: QueueName = A) -> Granted:
    times = tuple(each * HOUR for each in gpu_hours)
    return Granted(at_ms=_at(hour), queue=queue, resource_time=times, who="ann", reason="a gift")


def forgiven(hour: float, queue: QueueName | None = None) -> Forgiven:
    return Forgiven(at_ms=_at(hour), queue=queue, who="ann", reason="a new year")


def renamed(hour: float, queue: QueueName, name: QueueName) -> Renamed:
    return Renamed(at_ms=_at(hour), queue=queue, name=name)


def removed(hour: float, queue: QueueName = A) -> Removed:
    return Removed(at_ms=_at(hour), queue=queue)


def gap(since_hour: float, hour: float) -> Gap:
    return Gap(at_ms=_at(hour), since_ms=_at(since_hour))


def _at(hour: float) -> int:
    return START + int(hour * HOUR)


amounts = st.tuples(st.integers(0, 2**50), st.integers(0, 9_000) | st.just(5 << 20))
limits = st.tuples(st.none() | st.integers(0, 2**50), st.none() | st.just(7 << 30))
queues = st.sampled_from([A, B, C])
users = st.sampled_from(["", "", "eve"])
grants = st.tuples(
    st.integers(-(10**30), 10**30), st.just(-3)
)  # in hours; a ledger takes 40 digits
one_of_many = st.one_of(
    st.builds(lambda q, u, x: held(0, *x, queue=q, user=u), queues, users, amounts),
    st.builds(lambda q, u, x: held(0, *x, queue=q, user=u), queues, users, amounts),
    st.builds(lambda q, x: guarantee(0, *x, queue=q), queues, limits),
    st.builds(lambda x: capacity(0, *x), amounts),
    st.builds(lambda q, x: granted(0, *x, queue=q), queues, grants),
    st.builds(lambda q: forgiven(0, q), st.none() | queues),
    st.builds(lambda q: removed(0, q), queues),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Entries in the order of time, some at the same moment, over about two weeks."""
    steps = draw(st.lists(st.tuples(one_of_many, st.sampled_from([0, 1, HOUR, 7 * HOUR, DAY]))))
    at_ms = START
    entries: list[Entry] = []
    for entry, step_ms in steps:
        at_ms += step_ms
        entries.append(_moved(entry, at_ms))
    return entries


def _moved(entry: Entry, at_ms: int) -> Entry:
    values = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return type(entry)(**{**values, "at_ms": at_ms})
