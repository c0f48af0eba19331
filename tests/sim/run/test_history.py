"""What of a record of use counts before a simulation, and where it comes to an end."""

from collections.abc import Sequence

import pytest

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName
from fairlead.sim.run.history import UsageRecord, history_before, history_mark
from fairlead.usage.entries import Capacity, Entry, Gap, Granted, Guarantee, Held, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding

A, B = QueueName("a"), QueueName("b")
RESOURCES = ("nvidia.com/gpu", "cpu", "amd.com/gpu", "example.com/tpu")


def held(at_ms: int, queue: QueueName, *amounts: int, user: str = "") -> Held:
    return Held(at_ms=at_ms, queue=queue, user=user, amounts=amounts)


def taken(
    entries: Sequence[Entry], at_ms: int = 100, looked_at_ms: int | None = None
) -> list[Entry]:
    record = UsageRecord(
        name="record", resources=RESOURCES, entries=entries, looked_at_ms=looked_at_ms
    )
    return list(history_before(record, at_ms, 1000))


def test_amounts_are_those_of_kais_axes() -> None:
    """Devices of all vendors are one axis, cpu is another, and of the rest nothing is counted."""
    entries: list[Entry] = [
        Capacity(at_ms=10, amounts=(8, 100, 4, 2)),
        Guarantee(at_ms=10, queue=A, amounts=(2, None, 1, None)),
        Granted(at_ms=20, queue=A, resource_time=(5, -7, 1, 9), who="x", reason="y"),
    ]
    capacity, guarantee, granted = taken(entries)
    assert capacity == Capacity(at_ms=910, amounts=(100, 0, 12))
    assert guarantee == Guarantee(at_ms=910, queue=A, amounts=(None, 0, 3))
    assert isinstance(granted, Granted)
    assert granted.resource_time == (-7, 0, 6)


def test_only_what_is_before_the_moment_counts_and_it_is_moved_to_the_start() -> None:
    entries = [held(10, A, 1, 0, 0, 0), held(99, A, 0, 0, 0, 0), held(100, B, 1, 0, 0, 0)]
    assert [entry.at_ms for entry in taken(entries)] == [910, 999]


def test_whoever_holds_something_lets_go_at_the_start() -> None:
    """Each user by itself; the record goes on, so that they held it until then is known."""
    entries = [
        held(10, A, 1, 0, 0, 0, user="ann"),
        held(20, A, 2, 0, 0, 0, user="bo"),
        held(30, A, 0, 0, 0, 0, user="bo"),
        held(150, A, 5, 0, 0, 0, user="ann"),
    ]
    assert taken(entries)[3:] == [Held(at_ms=1000, queue=A, user="ann", amounts=(0, 0, 0))]


@pytest.mark.parametrize(
    ("looked_at_ms", "until_ms"), [(None, 910), (60, 960), (300, 1000)], ids=str
)
def test_what_is_held_after_the_record_ends_is_not_known(
    looked_at_ms: int | None, until_ms: int
) -> None:
    *_, last = taken([held(10, A, 1, 0, 0, 0)], looked_at_ms=looked_at_ms)
    assert last == Held(at_ms=until_ms, queue=A, amounts=(0, 0, 0))


def test_queues_that_were_renamed_or_removed_let_go_by_their_last_name() -> None:
    entries: list[Entry] = [
        held(10, A, 1, 0, 0, 0),
        held(10, B, 1, 0, 0, 0),
        Renamed(at_ms=20, queue=A, name=QueueName("c")),
        Removed(at_ms=30, queue=B),
        Gap(at_ms=50, since_ms=40),
    ]
    *_, gap, last = taken(entries)
    assert gap == Gap(at_ms=950, since_ms=940)
    assert last == Held(at_ms=950, queue=QueueName("c"), amounts=(0, 0, 0))


def test_a_ledger_takes_what_is_left_of_a_record() -> None:
    """A used 2 of 8 GPUs for 90 of the 100 ms before the start."""
    entries: list[Entry] = [Capacity(at_ms=0, amounts=(8, 0, 0, 0)), held(10, A, 2, 0, 0, 0)]
    ledger = Ledger(("cpu", "memory", "gpu"), Sliding(100))
    for entry in taken(entries, looked_at_ms=100):
        ledger.take(entry)
    assert ledger.usage(1000).queues[A].all[2] == 2 * 90


def test_a_record_that_begins_later_is_refused() -> None:
    with pytest.raises(SimulationError, match="record has no entry before the simulation"):
        taken([held(100, A, 1, 0, 0, 0)])


def test_two_histories_have_one_mark_only_if_they_say_the_same() -> None:
    """Also where resource-time needs more than 64 bits."""
    used: list[Entry] = [
        Capacity(at_ms=910, amounts=(1, 2, 3)),
        Granted(at_ms=950, queue=A, resource_time=(0, 0, 2**70), who="x", reason="y"),
    ]
    mark = history_mark(used)
    assert mark is not None
    assert (mark.begins_ms, mark.entries) == (910, 2)
    assert history_mark(list(used)) == mark
    other = history_mark([*used, held(960, A, 1, 0, 0)])
    assert other is not None
    assert other.sha256 != mark.sha256
    assert history_mark(()) is None
