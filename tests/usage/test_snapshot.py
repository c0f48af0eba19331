"""A ledger that was written down and read back is the same in every answer."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.usage import snapshot as snapshot_module
from fairlead.usage.entries import Capacity, Entry, Granted, Held
from fairlead.usage.lanes import TOO_MUCH
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.snapshot import restored, snapshot
from fairlead.usage.window import Cron, Sliding, Tumbling
from tests.scale_examples import scale_examples
from tests.usage.journals import QUEUES, RESOURCES, journals

A = QueueName("a")
WEEK_MS = 7 * 24 * 3_600_000
RULES = [
    UsageRules(window=Sliding(1000)),
    UsageRules(window=Sliding(1000), half_life_ms=90),
    UsageRules(window=Tumbling(700, 13), half_life_ms=2000),
    UsageRules(window=Sliding(1000), half_life_ms=300, way="sampled", resolution_ms=7),
    UsageRules(window=Cron("@hourly"), way="sampled", resolution_ms=50),
]


def ledger_of(entries: list[Entry], rules: UsageRules) -> Ledger:
    ledger = Ledger(
        RESOURCES,
        rules.window,
        half_life_ms=rules.half_life_ms,
        way=rules.way,
        resolution_ms=rules.resolution_ms,
    )
    for entry in entries:
        ledger.take(entry)
    return ledger


def answers(ledger: Ledger, now_ms: int) -> list[object]:
    usage = ledger.usage(now_ms)
    parents = {queue: QueueName("top") for queue in QUEUES}
    return [
        usage,
        list(usage.queues),
        list(usage.users),
        ledger.normalised(now_ms, charge="over-quota", parents=parents),
        ledger.newest_ms,
    ]


@settings(max_examples=scale_examples(150))
@given(
    entries=journals(unit=2**60),
    rules=st.sampled_from(RULES),
    cut=st.floats(0, 1),
    after_ms=st.integers(0, 3000),
)
def test_it_answers_and_goes_on_as_the_one_that_was_written_down(
    entries: list[Entry], rules: UsageRules, cut: float, after_ms: int
) -> None:
    """Written down in the midst of the entries; the last one before is then taken twice."""
    middle = round(cut * len(entries))
    first = ledger_of(entries[:middle], rules)
    second = restored(snapshot(first), RESOURCES, rules)
    now_ms = (first.newest_ms or 0) + after_ms
    assert answers(second, now_ms) == answers(first, now_ms)
    for entry in entries[max(0, middle - 1) :]:
        outcomes = [_taken(ledger, entry) for ledger in (first, second)]
        assert outcomes[0] == outcomes[1]
    assert snapshot(first) == snapshot(second)
    assert first.drop_faded(now_ms + 10**7) == second.drop_faded(now_ms + 10**7)


def _taken(ledger: Ledger, entry: Entry) -> str:
    """An entry from before the snapshot may be refused; if so, then by both, and in equal words."""
    try:
        ledger.take(entry)
    except UsageError as problem:
        return str(problem)
    return "taken"


def test_what_is_taken_later_does_not_change_what_was_written_down() -> None:
    rules = RULES[0]
    ledger = ledger_of([Held(at_ms=0, queue=A, amounts=(1, 2))], rules)
    data = snapshot(ledger)
    ledger.take(Held(at_ms=500, queue=A, amounts=(9, 9)))
    assert restored(data, RESOURCES, rules).usage(500).queues[A].all == (500, 1000)
    assert snapshot(restored(data, RESOURCES, rules)) == data


def test_the_largest_numbers_come_back() -> None:
    """In a level, a sum, a grant and the capacity."""
    most = TOO_MUCH - 1
    rules = UsageRules(window=Sliding(WEEK_MS), half_life_ms=1000)
    entries: list[Entry] = [
        Capacity(at_ms=0, amounts=(most, most)),
        Held(at_ms=0, queue=A, user="ann", amounts=(most, 0)),
        Granted(at_ms=5, queue=A, resource_time=(-most, most), who="w", reason="r"),
    ]
    ledger = ledger_of(entries, rules)
    again = restored(snapshot(ledger), RESOURCES, rules)
    assert answers(again, 5) == answers(ledger, 5)
    assert again.levels(5) == ledger.levels(5)


def test_a_ledger_of_nothing_comes_back() -> None:
    empty = Ledger((), Sliding(1000))
    rules = UsageRules(window=Sliding(1000))
    assert restored(snapshot(empty), (), rules).levels(5) == empty.levels(5)
    empty.take(Held(at_ms=0, queue=A, amounts=()))
    assert restored(snapshot(empty), (), rules).usage(5) == empty.usage(5)


WRITTEN = UsageRules(window=Sliding(1000), half_life_ms=90)


@pytest.mark.parametrize(
    "rules",
    [
        UsageRules(window=Sliding(1001), half_life_ms=90),
        UsageRules(window=Tumbling(1000), half_life_ms=90),
        UsageRules(window=Sliding(1000), half_life_ms=91),
        UsageRules(window=Sliding(1000)),
        UsageRules(window=Sliding(1000), half_life_ms=90, way="sampled"),
    ],
)
def test_what_counts_otherwise_is_refused(rules: UsageRules) -> None:
    with pytest.raises(UsageError, match=r"Sliding\(length_ms=1000\), 90, None\), not "):
        restored(snapshot(ledger_of([], WRITTEN)), RESOURCES, rules)


def test_another_resolution_is_refused_if_there_are_samples_and_makes_no_difference_otherwise() -> (
    None
):
    coarse = UsageRules(window=Sliding(1000), way="sampled", resolution_ms=100)
    fine = msgspec.structs.replace(coarse, resolution_ms=10)
    with pytest.raises(UsageError, match="100"):
        restored(snapshot(ledger_of([], coarse)), RESOURCES, fine)
    exact = msgspec.structs.replace(WRITTEN, resolution_ms=10, charge="over-quota", staleness_ms=9)
    assert restored(snapshot(ledger_of([], WRITTEN)), RESOURCES, exact).newest_ms is None


@pytest.mark.parametrize("resources", [("cpu",), ("gpu", "cpu"), ("cpu", "gpu", "memory")])
def test_other_resources_are_refused(resources: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=", not "):
        restored(snapshot(ledger_of([], WRITTEN)), resources, WRITTEN)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_module, "VERSION", 99)
    data = snapshot(ledger_of([], WRITTEN))
    monkeypatch.undo()
    with pytest.raises(UsageError, match="has version 99; this program reads 6"):
        restored(data, RESOURCES, WRITTEN)


@pytest.mark.parametrize("data", [b"", b"abc", b"\0\0\0\0"])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="snapshot"):
        restored(data, RESOURCES, WRITTEN)
