"""Sums of a cluster larger than any are exact, and what no ledger could count is refused."""

from decimal import Decimal

import pytest

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held
from fairlead.usage.lanes import TOO_MUCH
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.snapshot import restored, snapshot
from fairlead.usage.window import Sliding

RESOURCES = ("cpu", "memory")
DAY_MS = 86_400_000
START = 14_733 * 121_500_000  # where a bucket of 60 and of 90 days begins: sums are exact
PIB = 2**50
QUEUES = [QueueName(f"team-{number:03}") for number in range(1000)]
MOST_OF_A_NODE = 2**63 - 1  # what Kubernetes can count


def full_for_60_days(each: int, rules: UsageRules) -> Ledger:
    """1,000 queues, below one parent, hold *each* bytes and together all memory for 60 days."""
    ledger = Ledger.by(RESOURCES, rules)
    ledger.take(Capacity(at_ms=START, amounts=(1000, 1000 * each)))
    for queue in QUEUES:
        ledger.take(Guarantee(at_ms=START, queue=queue, amounts=(0, each // 2)))
        ledger.take(Held(at_ms=START, queue=queue, amounts=(1, each)))
    # Half-way, each is held anew, so that sums are bent, too.
    for queue in QUEUES:
        ledger.take(Held(at_ms=START + 30 * DAY_MS, queue=queue, user="ann", amounts=(0, 1)))
    return ledger


@pytest.mark.parametrize("each", [10 * PIB // 1000, 10 * PIB, MOST_OF_A_NODE])
@pytest.mark.parametrize("window_days", [60, 90])
def test_1000_queues_that_fill_10_pib_for_60_days_are_counted_exactly(
    each: int, window_days: int
) -> None:
    """10 PiB in all, or in each queue, or the most of Kubernetes: up to 5 * 10**31 byte-ms."""
    rules = UsageRules(window=Sliding(window_days * DAY_MS))
    now_ms = START + 60 * DAY_MS
    ledger = full_for_60_days(each, rules)
    expected = (60 * DAY_MS, each * 60 * DAY_MS + 30 * DAY_MS)
    root = QueueName("all")
    for found in (ledger, restored(snapshot(ledger), RESOURCES, rules)):
        usage = found.usage(now_ms)
        assert {use.all for use in usage.queues.values()} == {expected}
        above = (each - each // 2) * 60 * DAY_MS + 30 * DAY_MS
        assert {use.above_guarantee[1] for use in usage.queues.values()} == {above}
        assert usage.capacity == (1000 * 60 * DAY_MS, 1000 * each * 60 * DAY_MS)
        parts = found.normalised(now_ms, parents=dict.fromkeys(QUEUES, root))
        assert parts[root] == (10**9, 10**9)
        assert {parts[queue] for queue in QUEUES} == {(10**6, 10**6)}


@pytest.mark.parametrize("each", [10 * PIB, MOST_OF_A_NODE])
def test_the_same_with_a_half_life(each: int) -> None:
    """The integral of 2**(-t / H) over 60 days, with H of one week, is H / ln 2 * (1 - 2**-8.6)."""
    week_ms = 7 * DAY_MS
    rules = UsageRules(window=Sliding(90 * DAY_MS), half_life_ms=week_ms)
    ledger = full_for_60_days(each, rules)
    now_ms = START + 60 * DAY_MS
    faded = 1 - Decimal(2) ** (Decimal(-60) / 7)
    exact = each * week_ms / Decimal(2).ln() * faded
    found = {use.all[1] for use in ledger.usage(now_ms).queues.values()}
    assert all(abs(used - exact) <= exact * Decimal("1e-9") for used in found)
    parts = ledger.normalised(now_ms, parents=dict.fromkeys(QUEUES, QueueName("all")))
    assert parts[QueueName("all")] == (10**9, 10**9)


MOST = TOO_MUCH - 1


@pytest.mark.parametrize("half_life_ms", [None, 1, 7 * DAY_MS])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_grants_are_counted_to_the_last_unit(
    half_life_ms: int | None, sign: int
) -> None:
    rules = UsageRules(window=Sliding(DAY_MS), half_life_ms=half_life_ms)
    ledger = Ledger.by(RESOURCES, rules)
    for queue in QUEUES:
        granted = (sign * MOST, -sign * MOST)
        ledger.take(Granted(at_ms=START, queue=queue, resource_time=granted, who="eve", reason="r"))
    for use in ledger.usage(START).queues.values():
        assert abs(use.all[0] - sign * MOST) <= MOST // 10**9
        assert use.all[1] == -use.all[0]
        assert half_life_ms is not None or use.all[0] == sign * MOST


A = QueueName("a")
TOO_LARGE: dict[str, tuple[Entry, str]] = {
    "held": (
        Held(at_ms=START, queue=A, amounts=(0, TOO_MUCH)),
        f"the amount {TOO_MUCH} of a resource is too large",
    ),
    "capacity": (
        Capacity(at_ms=START, amounts=(TOO_MUCH, 0)),
        f"the amount {TOO_MUCH} of a resource is too large",
    ),
    "guarantee": (
        Guarantee(at_ms=START, queue=A, amounts=(None, TOO_MUCH)),
        f"the amount {TOO_MUCH} of a resource is too large",
    ),
    "granted": (
        Granted(at_ms=START, queue=A, resource_time=(0, TOO_MUCH), who="eve", reason="r"),
        f"the grant of {TOO_MUCH} to queue a is too large",
    ),
    "taken back": (
        Granted(at_ms=START, queue=A, resource_time=(-TOO_MUCH, 0), who="eve", reason="r"),
        f"the grant of -{TOO_MUCH} to queue a is too large",
    ),
}


@pytest.mark.parametrize(("entry", "text"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_what_is_too_large_is_refused_and_changes_nothing(entry: Entry, text: str) -> None:
    ledger = Ledger.by(RESOURCES, UsageRules())
    with pytest.raises(UsageError) as refused:
        ledger.take(entry)
    assert str(refused.value) == (
        f"{text}, expected at most 40 digits; amounts are millicores, bytes and thousandths of a "
        "GPU, those of grants times milliseconds"
    )
    assert ledger.newest_ms is None
    assert ledger.usage(START).queues == {}
