"""The ledger equals the slow sums: exactly, or to 1e-9 with decay."""

from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import floor
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Charge
from fairlead.usage.running_sum import MOST_LINES
from fairlead.usage.window import Sliding, Tumbling, Window, begins_at
from tests.scale_examples import scale_examples
from tests.usage.journals import COMMON, RESOURCES, journals
from tests.usage.plain_sums import Changes, integral, sampled

GPU = ("gpu",)
CHARGES: list[Charge] = ["all", "over-quota"]
A, B, TOP = QueueName("a"), QueueName("b"), QueueName("top")
LENGTH = 1280
UNIT = 10**12  # amounts so large that whole units of resource-time do not hide the error


@st.composite
def histories(draw: st.DrawFn) -> Changes:
    """Levels that change up to forty times within about three windows."""
    steps = draw(st.lists(st.integers(0, LENGTH // 8), min_size=1, max_size=40))
    levels = st.integers(0, 5)
    start_ms = draw(st.integers(0, 10**6))
    return [(at_ms, draw(levels) * UNIT) for at_ms in accumulate(steps, initial=start_ms)]


half_lives = st.none() | st.integers(50, 4 * LENGTH)
windows = st.sampled_from([Sliding(LENGTH), Tumbling(777, 13), Tumbling(10**7, 0)])
later = st.integers(0, 2 * LENGTH)


def used(
    window: Window,
    changes: Changes,
    now_ms: int,
    half_life_ms: int | None,
    resolution_ms: int | None = None,
) -> int:
    ledger = Ledger(
        GPU,
        window,
        half_life_ms=half_life_ms,
        way="exact" if resolution_ms is None else "sampled",
        resolution_ms=resolution_ms or 1,
    )
    for at_ms, level in changes:
        ledger.take(Held(at_ms=at_ms, queue=A, amounts=(level,)))
    return ledger.usage(now_ms).queues[A].all[0]


def is_near(got: int, exact: Decimal, more: Decimal = Decimal(0)) -> bool:
    return abs(got - exact) <= exact * Decimal("1e-9") + 1 + more


@given(changes=histories(), after_ms=later, half_life_ms=half_lives)
def test_a_tumbling_window_is_exact(
    changes: Changes, after_ms: int, half_life_ms: int | None
) -> None:
    window = Tumbling(LENGTH, 17)
    now_ms = changes[-1][0] + after_ms
    exact = integral(changes, begins_at(window, now_ms), now_ms, half_life_ms)
    got = used(window, changes, now_ms, half_life_ms)
    assert is_near(got, exact)
    if half_life_ms is None:
        assert got == exact


@given(changes=histories(), data=st.data(), half_life_ms=half_lives)
def test_a_sliding_window_is_exact_wherever_it_begins(
    changes: Changes, data: st.DataObject, half_life_ms: int | None
) -> None:
    """The window mostly begins near a change."""
    near_ms = data.draw(st.sampled_from([at_ms for at_ms, _ in changes]))
    around_ms = data.draw(st.integers(-20, 20))
    now_ms = max(changes[-1][0], near_ms + LENGTH + around_ms)
    exact = integral(changes, now_ms - LENGTH, now_ms, half_life_ms)
    got = used(Sliding(LENGTH), changes, now_ms, half_life_ms)
    assert is_near(got, exact)
    if half_life_ms is None:
        assert got == exact


@settings(max_examples=scale_examples(30))
@given(seed=st.integers(0, 2**32), after_ms=st.integers(0, 3 * MOST_LINES))
def test_of_too_many_changes_it_is_off_by_no_more_than_a_level_over_a_small_part(
    seed: int, after_ms: int
) -> None:
    """Every millisecond, so that half of all changes are forgotten again and again."""
    length_ms, most = 3 * MOST_LINES, 5
    chance = Random(seed)
    changes = [(at_ms, chance.randint(0, most)) for at_ms in range(length_ms + MOST_LINES)]
    now_ms = changes[-1][0] + after_ms
    exact = integral(changes, now_ms - length_ms, now_ms, None)
    got = used(Sliding(length_ms), changes, now_ms, None)
    assert abs(got - exact) <= most * -(-length_ms // (MOST_LINES // 2))


@pytest.mark.parametrize("half_life_ms", [None, 6 * 3_600_000])
@pytest.mark.parametrize(("step_ms", "length_ms"), [(60_000, 86_400_000), (5_000, 3_600_000)])
def test_of_a_queue_that_toggles_often_the_mean_counts_where_changes_are_forgotten(
    step_ms: int, length_ms: int, half_life_ms: int | None
) -> None:
    steps, gpus = 2 * length_ms // step_ms, 8
    changes = [(place * step_ms, place % 2 * gpus) for place in range(steps)]
    ledger = Ledger(GPU, Sliding(length_ms), half_life_ms=half_life_ms)
    ledger.take(Capacity(at_ms=0, amounts=(gpus,)))
    for at_ms, level in changes:
        ledger.take(Held(at_ms=at_ms, queue=A, amounts=(level,)))
    for place in range(20):
        now_ms = changes[-1][0] + place * 37_777
        usage = ledger.usage(now_ms)
        exact = integral(changes, now_ms - length_ms, now_ms, half_life_ms)
        assert abs(usage.queues[A].all[0] - exact) < usage.capacity[0] * Decimal("0.001")


@settings(max_examples=scale_examples(60))
@given(
    changes=histories(),
    after_ms=later,
    half_life_ms=half_lives,
    resolution_ms=st.integers(3, 40),
    window=st.sampled_from([Tumbling(LENGTH, 17), Sliding(LENGTH)]),
)
def test_the_sampled_way_is_the_sum_over_samples(
    changes: Changes,
    after_ms: int,
    half_life_ms: int | None,
    resolution_ms: int,
    window: Window,
) -> None:
    now_ms = changes[-1][0] + after_ms
    begin_ms = begins_at(window, now_ms)
    exact = sampled(changes, begin_ms, now_ms, half_life_ms, resolution_ms)
    assert is_near(used(window, changes, now_ms, half_life_ms, resolution_ms), exact)


@settings(max_examples=scale_examples(60))
@given(changes=histories(), after_ms=later, half_life_ms=half_lives)
def test_the_exact_way_is_the_limit_of_the_sampled_one(
    changes: Changes, after_ms: int, half_life_ms: int | None
) -> None:
    """In a window that begins before everything; each change costs at most one sample's worth."""
    window = Tumbling(2 * 10**6, 0)
    now_ms = changes[-1][0] + after_ms
    exact = used(window, changes, now_ms, half_life_ms)
    for resolution_ms in (64, 8, 1):
        difference = abs(used(window, changes, now_ms, half_life_ms, resolution_ms) - exact)
        slope = 0 if half_life_ms is None else Decimal(exact) / half_life_ms
        assert difference <= resolution_ms * (5 * UNIT * (len(changes) + 1) + slope) + 1


@given(
    changes=histories(),
    first_ms=later,
    then_ms=later,
    half_life_ms=st.integers(50, 4 * LENGTH),
)
def test_decay_in_two_steps_is_decay_in_one(
    changes: Changes, first_ms: int, then_ms: int, half_life_ms: int
) -> None:
    """Nothing is held after the last change, so that what follows is decay alone."""
    window = Tumbling(10**9, 0)
    changes = [*changes, (changes[-1][0] + 1, 0)]
    start_ms = changes[-1][0]
    at_once = used(window, changes, start_ms + first_ms + then_ms, half_life_ms)
    stop = start_ms + first_ms
    stepwise = used(window, [*changes, (stop, 0)], stop + then_ms, half_life_ms)
    assert stepwise == at_once
    exact = integral(changes, 0, start_ms, half_life_ms)
    faded = exact * Decimal(2) ** (-Decimal(first_ms + then_ms) / half_life_ms)
    assert abs(at_once - faded) <= faded * Decimal("1e-9") + 1


@given(one=histories(), other=histories(), half_life_ms=half_lives, window=windows, data=st.data())
def test_the_order_among_different_queues_does_not_matter(
    one: Changes, other: Changes, half_life_ms: int | None, window: Window, data: st.DataObject
) -> None:
    entries_of_a: list[Entry] = [Held(at_ms=t, queue=A, amounts=(n,)) for t, n in one]
    entries_of_b: list[Entry] = [Held(at_ms=t, queue=B, amounts=(n,)) for t, n in other]
    mixed = _shuffled_together(entries_of_a, entries_of_b, data)
    capacity = Capacity(at_ms=0, amounts=(10 * UNIT,))
    now_ms = max(one[-1][0], other[-1][0])
    answers = []
    for order in ([capacity, *entries_of_a, *entries_of_b], [*mixed, capacity]):
        ledger = Ledger(GPU, window, half_life_ms=half_life_ms)
        for entry in order:
            ledger.take(entry)
        answers.append((ledger.usage(now_ms), ledger.normalised(now_ms)))
    (usage, parts), (other_usage, other_parts) = answers
    assert parts == other_parts
    assert usage == other_usage


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(150))
@given(
    old=journals(most_step_ms=25, kinds=[*COMMON, "granted", "forgiven", "removed"]),
    half_life_ms=st.none() | st.integers(50, 40_000),
    resolution_ms=st.none() | st.integers(3, 40),
    asked=st.lists(st.integers(0, 30), min_size=1, max_size=8),
)
def test_who_asks_often_gets_the_answers_of_who_asks_once(
    old: list[Entry], half_life_ms: int | None, resolution_ms: int | None, asked: list[int]
) -> None:
    """All changes come again when the window's old end passes the first."""
    length_ms = 8192
    entries = [*old, *(replace(entry, at_ms=entry.at_ms + length_ms) for entry in old)]

    def fresh() -> Ledger:
        return Ledger(
            RESOURCES,
            Sliding(length_ms),
            half_life_ms=half_life_ms,
            way="exact" if resolution_ms is None else "sampled",
            resolution_ms=resolution_ms or 1,
        )

    def never_asked() -> Ledger:
        ledger = fresh()
        ledger.resume(often.state())
        return ledger

    often = fresh()
    for entry in entries:
        often.take(entry)
        for _ in range(3):
            assert often.usage(entry.at_ms) == never_asked().usage(entry.at_ms)
    now_ms = entries[-1].at_ms if entries else 0
    for step_ms in asked:
        now_ms += step_ms
        for charge in CHARGES:
            parts = never_asked().normalised(now_ms, charge=charge)
            assert often.normalised(now_ms, charge=charge) == parts


@settings(max_examples=scale_examples(60))
@given(
    entries=journals(unit=2**60),
    huge=st.sampled_from([1, 2**20, 2**48]),
    half_life_ms=half_lives,
    after_ms=later,
)
def test_each_resource_is_counted_as_if_it_were_the_only_one(
    entries: list[Entry], huge: int, half_life_ms: int | None, after_ms: int
) -> None:
    """The second resource becomes as large as can be in the midst of the entries."""
    middle = len(entries) // 2
    both = [*entries[:middle], *(_scaled(entry, (1, huge)) for entry in entries[middle:])]
    answers = []
    for places in ([0, 1], [0], [1]):
        ledger = Ledger(
            tuple(RESOURCES[place] for place in places), Sliding(LENGTH), half_life_ms=half_life_ms
        )
        for entry in both:
            ledger.take(_only(entry, places))
        now_ms = (ledger.newest_ms or 0) + after_ms
        answers.append((ledger.usage(now_ms), ledger.normalised(now_ms, charge="over-quota")))
    together, *alone = answers
    for name, use in together[0].queues.items():
        assert use.all == tuple(usage.queues[name].all[0] for usage, _ in alone)
        above = tuple(usage.queues[name].above_guarantee[0] for usage, _ in alone)
        assert use.above_guarantee == above
        assert together[1][name] == tuple(parts[name][0] for _, parts in alone)
    for holder, use_of_user in together[0].users.items():
        assert use_of_user == tuple(usage.users[holder][0] for usage, _ in alone)


def _scaled(entry: Entry, factors: tuple[int, int]) -> Entry:
    match entry:
        case Held() | Capacity():
            return replace(entry, amounts=tuple(map(int.__mul__, entry.amounts, factors)))
        case Granted():
            times = tuple(map(int.__mul__, entry.resource_time, factors))
            return replace(entry, resource_time=times)
    return entry


def _only(entry: Entry, places: list[int]) -> Entry:
    match entry:
        case Held() | Capacity() | Guarantee():
            return replace(entry, amounts=tuple(entry.amounts[place] for place in places))
        case Granted():
            return replace(entry, resource_time=tuple(entry.resource_time[p] for p in places))
    return entry


@given(
    entries=journals(),
    after_ms=st.integers(0, 400),
    parents=st.fixed_dictionaries(
        {}, optional={A: st.sampled_from([B, TOP]), B: st.sampled_from([None, TOP])}
    ),
)
def test_parts_are_plain_fractions_of_what_is_at_or_below_a_queue(
    entries: list[Entry],
    after_ms: int,
    parents: dict[QueueName, QueueName | None],
) -> None:
    """Without decay usage has no rounding, so the plain division is the answer, bit for bit."""
    ledger = Ledger(RESOURCES, Tumbling(10**9))
    for entry in entries:
        ledger.take(entry)
    now_ms = (ledger.newest_ms or 0) + after_ms
    usage = ledger.usage(now_ms)
    used: dict[QueueName, list[int]] = {}
    for name, use in usage.queues.items():
        at_or_above: QueueName | None = name
        while at_or_above is not None:
            total = used.setdefault(at_or_above, [0] * len(RESOURCES))
            for place, amount in enumerate(use.all):
                total[place] += amount
            at_or_above = parents.get(at_or_above)
    assert ledger.normalised(now_ms, parents=parents) == {
        name: tuple(map(_nearest_billionth, total, usage.capacity)) for name, total in used.items()
    }


def _nearest_billionth(amount: int, whole: int) -> int:
    if amount <= 0 or whole <= 0:
        return 0
    return floor(Fraction(amount, whole) * 10**9 + Fraction(1, 2))


def _shuffled_together(one: list[Entry], other: list[Entry], data: st.DataObject) -> list[Entry]:
    """Both lists in one, each in its own order."""
    turns = data.draw(st.permutations([True] * len(one) + [False] * len(other)))
    ones, others = iter(one), iter(other)
    return [next(ones) if turn else next(others) for turn in turns]


@given(
    changes=histories(),
    grant=st.integers(-(10**18), 10**18),
    half_life_ms=half_lives,
    window=windows,
    after_ms=later,
)
def test_a_grant_and_its_negative_are_nothing(
    changes: Changes, grant: int, half_life_ms: int | None, window: Window, after_ms: int
) -> None:
    now_ms = changes[-1][0] + after_ms
    answers = []
    for amounts in ([], [grant, -grant]):
        ledger = Ledger(GPU, window, half_life_ms=half_life_ms)
        for at_ms, level in changes:
            ledger.take(Held(at_ms=at_ms, queue=A, amounts=(level,)))
            if at_ms == changes[len(changes) // 2][0]:
                for amount in amounts:
                    ledger.take(
                        Granted(at_ms=at_ms, queue=A, resource_time=(amount,), who="w", reason="r")
                    )
        answers.append(ledger.usage(now_ms))
    assert answers[0] == answers[1]


@given(changes=histories(), after_ms=st.integers(0, 50 * 365 * 24 * 3_600_000))
def test_many_half_lives_later_sums_are_as_good_as_ever(changes: Changes, after_ms: int) -> None:
    """The base of the weights has moved up thousands of times by then."""
    half_life_ms = LENGTH
    start_ms = changes[-1][0] + after_ms
    recent = [(start_ms + at_ms, level) for at_ms, level in changes]
    now_ms = recent[-1][0]
    begin_ms = begins_at(Tumbling(10**7, 0), now_ms)
    exact = integral([*changes, *recent], begin_ms, now_ms, half_life_ms)
    got = used(Tumbling(10**7, 0), [*changes, *recent], now_ms, half_life_ms)
    assert is_near(got, exact)


@given(
    at_ms=st.integers(0, 2 * 10**12), length_ms=st.integers(1, 50), half_lives=st.integers(0, 39)
)
def test_a_moment_of_use_is_exact_enough_under_a_half_life_of_ten_years(
    at_ms: int, length_ms: int, half_lives: int
) -> None:
    """The weights of two moments are almost equal, and their difference still has nine digits."""
    half_life_ms = 10 * 365 * 24 * 3_600_000
    level = 10**24  # so much that after 39 half-lives whole units still have nine digits
    changes = [(at_ms, level), (at_ms + length_ms, 0)]
    now_ms = at_ms + length_ms + half_lives * half_life_ms
    window = Tumbling(10**15, 0)
    exact = integral(changes, 0, now_ms, half_life_ms)
    assert abs(used(window, changes, now_ms, half_life_ms) - exact) <= exact * Decimal("1e-9")


def test_what_is_small_and_old_is_not_lost_beside_something_huge_and_new() -> None:
    """The base of the weights moves up as 10**33 begin, 41 half-lives after 10**15 ended."""
    changes = [(0, 10**15), (1000, 0), (41_000, 10**33)]
    exact = integral(changes, 0, 41_000, 1000)
    got = used(Tumbling(10**9), changes, 41_000, 1000)
    assert abs(got - exact) <= exact * Decimal("1e-9") + 1
