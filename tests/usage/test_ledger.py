"""What the ledger makes of entries, the odd ones included; arithmetic in the comments."""

import pytest

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
from fairlead.usage.queue_use import QueueUse
from fairlead.usage.running_sum import MOST_LINES
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Cron, Sliding, Tumbling, Window

HOUR = 3_600_000
DAY = 24 * HOUR
A, B, C, TOP = QueueName("a"), QueueName("b"), QueueName("c"), QueueName("top")


def held(hour: float, amount: int, queue: QueueName = A, user: str = "") -> Held:
    return Held(at_ms=int(hour * HOUR), queue=queue, user=user, amounts=(amount,))


def capacity(hour: float, amount: int) -> Capacity:
    return Capacity(at_ms=int(hour * HOUR), amounts=(amount,))


def granted(hour: float, gpu_hours: int, *, reason: str = "r", user: str = "") -> Granted:
    return Granted(
        at_ms=int(hour * HOUR),
        queue=A,
        user=user,
        resource_time=(gpu_hours * HOUR,),
        who="ann",
        reason=reason,
    )


def forgiven(hour: int, queue: QueueName | None) -> Forgiven:
    return Forgiven(at_ms=hour * HOUR, queue=queue, who="ann", reason="r")


def gap(since_hour: int, until_hour: int) -> Gap:
    return Gap(at_ms=until_hour * HOUR, since_ms=since_hour * HOUR)


def ledger_of(
    *entries: Entry, window: Window | None = None, half_life_ms: int | None = None
) -> Ledger:
    ledger = Ledger(("gpu",), window or Sliding(100 * DAY), half_life_ms=half_life_ms)
    for entry in entries:
        ledger.take(entry)
    return ledger


def gpu_hours(ledger: Ledger, hour: float, queue: QueueName = A) -> float:
    return ledger.usage(int(hour * HOUR)).queues[queue].all[0] / HOUR


def above(ledger: Ledger, hour: float) -> float:
    return ledger.usage(int(hour * HOUR)).queues[A].above_guarantee[0] / HOUR


def part(ledger: Ledger, hour: float, queue: QueueName = A) -> int:
    return ledger.normalised(int(hour * HOUR))[queue][0]


def test_24_of_100_gpu_hours_are_0_24() -> None:
    """10 GPUs for 10 hours; 4 of them held for 6 hours."""
    ledger = ledger_of(capacity(0, 10), held(0, 4), held(6, 0))
    assert gpu_hours(ledger, 10) == 24
    assert part(ledger, 10) == 240_000_000
    usage = ledger.usage(10 * HOUR)
    assert usage.capacity == (100 * HOUR,)
    assert usage.unknown == ()


@pytest.mark.parametrize(
    ("end", "inside"),
    [(100, 24), (55, 24), (6, 24), (3, 12), (1.5, 6), (0.25, 1), (0, 0)],
)
def test_24_of_100_gpu_hours_are_0_24_wherever_in_the_window_they_lie(
    end: float, inside: int
) -> None:
    """One GPU for 100 hours; 4 others held for 6 hours, *end* hours after the window begins."""
    ledger = Ledger(("gpu",), Sliding(100 * HOUR))
    now = 200.25  # so the window does not begin at a round moment
    begin = now - 100 + end - 6
    for entry in (capacity(0, 1), held(begin, 4), held(begin + 6, 0)):
        ledger.take(entry)
    assert gpu_hours(ledger, now) == inside
    assert part(ledger, now) == inside * 10_000_000


@pytest.mark.parametrize("way", ["exact", "sampled"])
def test_what_was_used_one_half_life_ago_counts_half(way: str) -> None:
    """What 10 hours came to at their end is half of it a half-life later, a quarter after two."""
    ledger = Ledger(
        ("gpu",),
        Sliding(100 * DAY),
        half_life_ms=DAY,
        way="sampled" if way == "sampled" else "exact",
    )
    ledger.take(held(0, 10**6))
    ledger.take(held(10, 0))
    used = gpu_hours(ledger, 10)
    assert gpu_hours(ledger, 10 + 24) == pytest.approx(used / 2, rel=1e-9)
    assert gpu_hours(ledger, 10 + 48) == pytest.approx(used / 4, rel=1e-9)


def test_always_the_same_part_of_the_capacity_is_that_part_whatever_the_decay() -> None:
    ledger = ledger_of(capacity(0, 8), held(0, 2), half_life_ms=HOUR)
    assert [part(ledger, hour) for hour in (0.5, 1, 7, 1000)] == [250_000_000] * 4


def test_a_tumbling_window_starts_from_nothing() -> None:
    """Windows of a day from 06:00: at 05:00 the night counts, at 07:00 only an hour does."""
    ledger = ledger_of(capacity(0, 4), held(0, 2), window=Tumbling(DAY, 6 * HOUR))
    assert gpu_hours(ledger, 5) == 10  # the window of the day before began at -18:00
    assert gpu_hours(ledger, 6) == 0
    assert gpu_hours(ledger, 7) == 2
    ledger.take(held(8, 0))
    assert gpu_hours(ledger, 29) == 4  # from 06:00 to 08:00
    assert gpu_hours(ledger, 30) == 0


def test_a_window_by_cron_starts_from_nothing_when_it_fires() -> None:
    """At midnight in Berlin, which is 23:00 in UTC in the winter of 1970."""
    window = Cron("0 0 * * *", "Europe/Berlin")
    ledger = ledger_of(held(0, 1), held(2, 3), window=window)
    assert gpu_hours(ledger, 22) == 1 * 2 + 3 * 20
    assert gpu_hours(ledger, 24) == 3
    ledger.take(held(25, 0))
    assert gpu_hours(ledger, 40) == 3 * 2


def test_a_sliding_window_forgets_what_is_older() -> None:
    ledger = ledger_of(held(0, 1), held(64, 0), window=Sliding(128 * HOUR))
    assert [gpu_hours(ledger, hour) for hour in (64, 128, 160, 192, 500)] == [64, 64, 32, 0, 0]


def test_use_above_the_guarantee_of_the_moment() -> None:
    """2 hours of 5 - 3, then 1 hour of 5 - 4, then an hour of all guaranteed: 2 * 2 + 1."""
    ledger = ledger_of(
        Guarantee(at_ms=0, queue=A, amounts=(3,)),
        held(0, 5),
        Guarantee(at_ms=2 * HOUR, queue=A, amounts=(4,)),
        Guarantee(at_ms=3 * HOUR, queue=A, amounts=(None,)),
        capacity(0, 10),
    )
    assert above(ledger, 4) == 5
    assert gpu_hours(ledger, 4) == 20
    assert ledger.normalised(4 * HOUR, charge="over-quota")[A] == (125_000_000,)  # 5 of 40


def test_without_a_guarantee_all_use_is_above_it() -> None:
    assert above(ledger_of(held(0, 5)), 2) == 10


def test_users_are_charged_inside_their_queue() -> None:
    """Ann 1 and Bob 2 of a guarantee of 2: 3 are held, 1 is above; from hour 2 on only Bob's."""
    ledger = ledger_of(
        Guarantee(at_ms=0, queue=A, amounts=(2,)),
        held(0, 1, user="ann"),
        held(0, 2, user="bob"),
        held(2, 0, user="ann"),
        held(3, 1),  # nobody in particular
    )
    usage = ledger.usage(4 * HOUR)
    assert usage.users == {(A, "ann"): (2 * HOUR,), (A, "bob"): (8 * HOUR,)}
    assert usage.queues[A] == QueueUse(all=(11 * HOUR,), above_guarantee=(3 * HOUR,))


def test_an_entry_older_than_the_last_of_its_queue_is_refused_and_changes_nothing() -> None:
    ledger = ledger_of(held(0, 1), held(5, 2), capacity(5, 4))
    before = ledger.usage(6 * HOUR)
    late: list[Entry] = [
        held(4, 9),
        Guarantee(at_ms=HOUR, queue=A, amounts=(1,)),
        granted(4, 9),
        capacity(4, 9),
        forgiven(4, A),
        forgiven(4, None),
        Renamed(at_ms=4 * HOUR, queue=A, name=C),
        Removed(at_ms=4 * HOUR, queue=A),
    ]
    for entry in late:
        with pytest.raises(UsageError, match="the order must be that of time"):
            ledger.take(entry)
    assert ledger.usage(6 * HOUR) == before
    ledger.take(held(4, 1, queue=B))  # another queue need not be in step
    assert gpu_hours(ledger, 6, B) == 2


def test_a_caller_whose_clock_jumped_back_writes_the_newest_moment() -> None:
    """At hour 5 the clock says 3. What happens until it is 5 again is written as of 5."""
    ledger = ledger_of(held(0, 1), held(5, 2))
    assert ledger.newest_ms == 5 * HOUR
    ledger.take(held(max(3, ledger.newest_ms / HOUR), 4))
    assert gpu_hours(ledger, 6) == 5 + 4


def test_usage_before_the_last_entry_is_not_known_any_more() -> None:
    with pytest.raises(UsageError, match="entries up to 18000000 ms were taken"):
        ledger_of(held(5, 1)).usage(4 * HOUR)


TWICE: list[Entry] = [
    held(3, 4),
    held(3, 4, user="ann"),
    capacity(3, 7),
    Guarantee(at_ms=3 * HOUR, queue=A, amounts=(1,)),
    granted(3, 5),
    forgiven(3, A),
    forgiven(3, None),
    Renamed(at_ms=3 * HOUR, queue=A, name=C),
    Removed(at_ms=3 * HOUR, queue=A),
    gap(2, 3),
]


@pytest.mark.parametrize("entry", TWICE, ids=lambda entry: type(entry).__name__)
def test_the_same_entry_twice_is_once(entry: Entry) -> None:
    start: list[Entry] = [capacity(0, 8), held(0, 2), held(1, 1, queue=B)]
    once, twice = ledger_of(*start, entry), ledger_of(*start, entry, entry)
    assert twice.usage(9 * HOUR) == once.usage(9 * HOUR)
    assert once.usage(9 * HOUR) != ledger_of(*start).usage(9 * HOUR)


def test_a_renamed_queue_takes_its_past_along() -> None:
    ledger = ledger_of(held(0, 1), Renamed(at_ms=2 * HOUR, queue=A, name=C))
    assert gpu_hours(ledger, 5, C) == 5
    assert A not in ledger.usage(5 * HOUR).queues
    ledger.take(held(3, 1, queue=A))  # the old name is free again
    assert gpu_hours(ledger, 5) == 2


def test_a_queue_is_not_renamed_to_another_with_a_record() -> None:
    ledger = ledger_of(held(0, 1), held(0, 1, queue=B))
    with pytest.raises(UsageError, match="cannot be renamed to b"):
        ledger.take(Renamed(at_ms=HOUR, queue=A, name=B))


def test_the_past_of_a_removed_queue_counts_until_it_leaves_the_window() -> None:
    window = Sliding(128 * HOUR)
    ledger = ledger_of(
        held(0, 1), held(0, 1, user="ann"), Removed(at_ms=2 * HOUR, queue=A), window=window
    )
    assert gpu_hours(ledger, 100) == 4
    assert ledger.drop_faded(100 * HOUR) == []
    assert ledger.drop_faded(130 * HOUR) == [A]
    assert ledger.usage(130 * HOUR).queues == {}


def test_a_removed_queue_that_returns_goes_on() -> None:
    ledger = ledger_of(held(0, 1), Removed(at_ms=2 * HOUR, queue=A), held(5, 3))
    assert gpu_hours(ledger, 6) == 2 + 3
    assert ledger.drop_faded(1000 * DAY) == []


def test_capacity_counts_for_as_long_as_it_is_there() -> None:
    """4 GPUs for 2 hours, then 8: at hour 4 there were 24 GPU-hours, 6 of them used."""
    ledger = ledger_of(capacity(0, 4), capacity(2, 8), held(1, 2))
    assert part(ledger, 4) == 250_000_000


def test_of_no_capacity_use_is_nothing_and_said_to_be_unknown() -> None:
    ledger = ledger_of(held(0, 2))
    assert part(ledger, 3) == 0
    assert ledger.unknown(3 * HOUR) == ledger.usage(3 * HOUR).unknown == ("gpu",)
    ledger.take(capacity(3, 0))
    assert ledger.unknown(4 * HOUR) == ("gpu",)
    ledger.take(capacity(4, 2))
    assert ledger.unknown(5 * HOUR) == ()


def test_in_a_gap_neither_use_nor_capacity_counts() -> None:
    """Of 10 hours 6 are unknown: 4 hours of 1 of 4 GPUs are known."""
    ledger = ledger_of(capacity(0, 4), held(0, 1), held(0, 1, user="ann"), gap(2, 8))
    usage = ledger.usage(10 * HOUR)
    assert usage.queues[A].all == (2 * 4 * HOUR,)
    assert usage.users[A, "ann"] == (4 * HOUR,)
    assert usage.capacity == (4 * 4 * HOUR,)


def test_a_gap_in_which_something_is_known_is_refused() -> None:
    ledger = ledger_of(held(3, 1))
    with pytest.raises(UsageError, match="there is an entry"):
        ledger.take(gap(2, 8))
    with pytest.raises(UsageError, match="after its end"):
        ledger.take(gap(8, 7))


def test_a_grant_may_leave_a_credit_which_is_no_part_of_the_capacity() -> None:
    """6 used, 10 given: a credit of 4, which is used up 2 hours later."""
    ledger = ledger_of(capacity(0, 10), held(0, 2), granted(3, -10))
    assert [gpu_hours(ledger, hour) for hour in (3, 5, 6)] == [-4, 0, 2]
    assert [above(ledger, hour) for hour in (3, 5, 6)] == [-4, 0, 2]
    assert [part(ledger, hour) for hour in (3, 5, 6)] == [0, 0, 33_333_333]  # 2 of 60


def test_two_different_grants_in_one_moment_are_two() -> None:
    ledger = ledger_of(granted(1, 5), granted(1, 5, reason="another"), granted(1, 5, user="ann"))
    ledger.take(granted(1, 5))  # the first one again
    assert gpu_hours(ledger, 2) == 15
    assert ledger.usage(2 * HOUR).users[A, "ann"] == (5 * HOUR,)


def test_a_grant_fades_as_use_does() -> None:
    ledger = ledger_of(granted(0, -100), half_life_ms=DAY)
    assert gpu_hours(ledger, 24) == pytest.approx(-50, rel=1e-9)


@pytest.mark.parametrize(
    ("window", "hour"), [(Sliding(128 * HOUR), 129), (Tumbling(128 * HOUR, HOUR), 128)]
)
def test_a_grant_counts_in_a_window_that_begins_with_it(window: Window, hour: int) -> None:
    """Both windows begin at hour 1, whether or not anything happened since; an hour later not."""
    alone = ledger_of(granted(1, 5), window=window)
    followed = ledger_of(granted(1, 5), held(1, 0), held(7, 0), window=window)
    assert [gpu_hours(each, hour) for each in (alone, followed)] == [5, 5]
    assert [gpu_hours(each, hour + 1) for each in (alone, followed)] == [0, 0]


def test_an_answer_is_not_remembered_beyond_a_new_base_of_weights() -> None:
    """Buckets of 10 ms and a half-life of 645: at 41 * 645 = 26,445 ms the base moves.

    The window begins in the bucket of 25,160 ms, in which there is a change, before and after.
    """
    entries = [
        Held(at_ms=at_ms, queue=A, amounts=(10**9 + at_ms,)) for at_ms in (0, 25_163, 25_171)
    ]
    last = Held(at_ms=26_446, queue=A, amounts=(0,))
    asked = ledger_of(*entries, window=Sliding(1280), half_life_ms=645)
    assert asked.usage(26_442).queues[A].all > (0,)
    asked.take(last)
    never_asked = ledger_of(*entries, last, window=Sliding(1280), half_life_ms=645)
    assert asked.usage(26_447) == never_asked.usage(26_447)


def test_what_is_forgiven_is_as_if_never_and_what_follows_counts() -> None:
    ledger = ledger_of(
        capacity(0, 2), held(0, 1), held(0, 1, user="ann"), held(0, 1, queue=B), forgiven(10, A)
    )
    assert gpu_hours(ledger, 12) == 4
    assert ledger.usage(12 * HOUR).users[A, "ann"] == (2 * HOUR,)
    assert ledger.usage(12 * HOUR).capacity == (24 * HOUR,)
    assert gpu_hours(ledger, 12, B) == 12
    ledger.take(forgiven(12, None))
    assert gpu_hours(ledger, 13, B) == 1


def test_inner_queues_are_the_sum_of_what_is_below_when_asked() -> None:
    """20 GPU-hours; a used 2, b 4. When b moves out of top, it takes its past along."""
    ledger = ledger_of(capacity(0, 10), held(0, 1), held(0, 2, queue=B))
    together = ledger.normalised(2 * HOUR, parents={A: TOP, B: TOP, TOP: None})
    assert together == {A: (100_000_000,), B: (200_000_000,), TOP: (300_000_000,)}
    apart = ledger.normalised(2 * HOUR, parents={A: TOP, B: None, TOP: None})
    assert apart == {A: (100_000_000,), B: (200_000_000,), TOP: (100_000_000,)}


def test_an_inner_queue_that_is_charged_itself_has_that_as_well() -> None:
    """20 GPU-hours; 2 of a below it and 6 of its own."""
    ledger = ledger_of(capacity(0, 10), held(0, 1), held(0, 3, queue=TOP))
    parts = ledger.normalised(2 * HOUR, parents={A: TOP})
    assert parts == {A: (100_000_000,), TOP: (400_000_000,)}


def test_without_resources_every_queue_has_no_parts() -> None:
    ledger = Ledger((), Sliding(DAY))
    ledger.take(Held(at_ms=0, queue=A, amounts=()))
    assert ledger.normalised(HOUR, parents={A: TOP}) == {A: (), TOP: ()}


@pytest.mark.parametrize(
    "rules",
    [
        UsageRules(),
        UsageRules(window=Tumbling(DAY, HOUR), half_life_ms=HOUR),
        UsageRules(way="sampled", resolution_ms=1234),
        UsageRules(charge="over-quota", staleness_ms=1, on_stale="hold"),
    ],
)
def test_a_ledger_by_rules_counts_as_they_say(rules: UsageRules) -> None:
    spelled_out = Ledger(
        ("gpu", "cpu"),
        rules.window,
        half_life_ms=rules.half_life_ms,
        way=rules.way,
        resolution_ms=rules.resolution_ms,
    )
    assert Ledger.by(("gpu", "cpu"), rules).counts_by == spelled_out.counts_by


def test_a_queue_below_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="is below itself"):
        ledger_of(held(0, 1)).normalised(HOUR, parents={A: B, B: A})


@pytest.mark.parametrize(
    "entry",
    [
        Held(at_ms=0, queue=A, amounts=(1, 2)),
        Capacity(at_ms=0, amounts=()),
        Guarantee(at_ms=0, queue=A, amounts=(None, None)),
        Granted(at_ms=0, queue=A, resource_time=(1, 2), who="", reason=""),
        Held(at_ms=0, queue=A, amounts=(-1,)),
        Guarantee(at_ms=0, queue=A, amounts=(-1,)),
    ],
)
def test_amounts_that_make_no_sense_are_refused(entry: Entry) -> None:
    ledger = ledger_of()
    with pytest.raises(UsageError, match="resource"):
        ledger.take(entry)
    assert ledger.newest_ms is None
    assert ledger.usage(0).queues == {}


@pytest.mark.parametrize("half_life_ms", [0, -5])
def test_a_half_life_of_nothing_is_refused(half_life_ms: int) -> None:
    with pytest.raises(UsageError, match="half-life"):
        ledger_of(half_life_ms=half_life_ms)


def test_memory_is_bounded_however_many_changes_there_are() -> None:
    ledger = ledger_of(window=Sliding(10**6))
    for at_ms in range(3 * MOST_LINES):
        ledger.take(Held(at_ms=at_ms, queue=A, amounts=(at_ms % 3,)))
    assert len(ledger._accounts[A].sums._edges_ms) <= MOST_LINES
