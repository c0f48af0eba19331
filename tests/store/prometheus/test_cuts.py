"""However a time is cut into fetches, the ledger is the same, whatever the samples say."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.feed.reading import standing
from fairlead.store.prometheus.answer import Answer, Series
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.queue_use import Charge, QueueUse, Usage
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Sliding, Tumbling
from tests.scale_examples import scale_examples

MINUTE = 60_000
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
HELD = "kai_queue_allocated_gpus"
CAPACITY = 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})'
DUE = "kai_queue_deserved_gpus"
A, B = QueueName("a"), QueueName("b")
SOURCE = PrometheusSource(url="http://h")

Column = list[str]  # what a series says minute by minute; "-": it is absent
Labels = tuple[tuple[str, str], ...]
Told = Mapping[tuple[str, Labels], Column]  # by query and labels
NOTHING = QueueUse(all=(0, 0, 0), above_guarantee=(0, 0, 0))


class ColumnClient(PrometheusClient):
    """Answers from columns, as a server of these series would."""

    def __init__(self, told: Told) -> None:
        super().__init__(SOURCE, {})
        self._told = told

    def range(self, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Iterator[Answer]:
        asked = range(begin_ms, end_ms + 1, step_ms)
        found = []
        for (name, labels), column in self._told.items():
            samples = [
                (at_ms, Decimal(text))
                for at_ms, text in zip(count(START, MINUTE), column, strict=False)
                if text != "-" and at_ms in asked
            ]
            if name == query and samples:
                found.append(Series(labels=dict(labels), samples=samples))
        yield Answer(series=found)


def history_of(told: Told, charge: Charge = "all") -> PrometheusHistory:
    rules = UsageRules(window=Tumbling(1000 * MINUTE, START - MINUTE), charge=charge)
    return asking(ColumnClient(told), rules)


def asking(client: PrometheusClient, rules: UsageRules) -> PrometheusHistory:
    history = PrometheusHistory(SOURCE, rules, {})
    history._client = client
    return history


def of(name: str, copy: str = "1") -> Labels:
    return (("queue_name", name), ("pod", copy))


def fetched(told: Told, charge: Charge, minutes: list[int]) -> Usage | None:
    """What counts after fetches at all of *minutes*; None if the last of them was refused."""
    history = history_of(told, charge)
    for minute in minutes[:-1]:
        with suppress(StoreError):  # which changes nothing
            history.read(START + minute * MINUTE)
    now_ms = START + minutes[-1] * MINUTE
    try:
        return history.read(now_ms).ledger.usage(now_ms)
    except StoreError:
        return None


def plain_levels(column: Column, *, may_be_negative: bool = False) -> list[int | None]:
    """What a series says, minute by minute: no amount is the amount of the minute before."""
    levels: list[int | None] = []
    for text in column:
        number = None if text == "-" else Decimal(text)
        if number is None or (number.is_finite() and (number >= 0 or may_be_negative)):
            levels.append(None if number is None else int(number))
        else:
            levels.append(levels[-1] if levels else None)
    return levels


def plain_largest(columns: list[list[int | None]]) -> list[int | None]:
    return [
        max((each for each in row if each is not None), default=None)
        for row in zip(*columns, strict=True)
    ]


def plain_sums(told: Told) -> dict[QueueName, tuple[int, int]]:
    """GPU-minutes of each queue, all and above the guarantee, as the rules are stated."""
    capacity = plain_levels(told[CAPACITY, ()])
    held, due = (
        {
            name: plain_largest(
                [
                    plain_levels(column, may_be_negative=query == DUE)
                    for (asked, labels), column in told.items()
                    if asked == query and dict(labels)["queue_name"] == name
                ]
            )
            for name in (A, B)
        }
        for query in (HELD, DUE)
    )
    sums = {}
    for name in (A, B):
        used = above = guaranteed = 0
        for minute, amount in enumerate(held[name]):
            told_due = due[name][minute]
            guaranteed = guaranteed if told_due is None else told_due
            if capacity[minute] is not None and amount is not None:
                used += amount
                above += 0 if guaranteed < 0 else max(0, amount - guaranteed)
        sums[name] = (used, above)
    return sums


COUNT = 8
columns = st.lists(
    st.sampled_from(["-", "0", "1", "1", "2", "3", "NaN", "NaN", "+Inf", "-1"]),
    min_size=COUNT,
    max_size=COUNT,
)
all_told = st.fixed_dictionaries(
    {
        (CAPACITY, ()): columns,
        (HELD, of(A)): columns,
        (HELD, of(A, "2")): columns,
        (HELD, of(B)): columns,
        (DUE, of(A)): columns,
        (DUE, of(A, "2")): columns,
        (DUE, of(B)): columns,
    }
)


@settings(max_examples=scale_examples(200))
@given(
    told=all_told,
    cuts=st.sets(st.integers(0, COUNT - 2)),
    charge=st.sampled_from(["all", "over-quota"]),
)
def test_many_fetches_give_the_ledger_of_one_and_the_plain_sums(
    told: Told, cuts: set[int], charge: Charge
) -> None:
    last = COUNT - 1
    at_once = fetched(told, charge, [last])
    assert fetched(told, charge, [*sorted(cuts), last]) == at_once
    assert fetched(told, charge, list(range(COUNT))) == at_once
    if at_once is None:
        assert charge == "over-quota"
        return
    scale = 1000 * MINUTE  # thousandths of a GPU, milliseconds
    for name, (used, above) in plain_sums(told).items():
        found = at_once.queues.get(name, NOTHING)
        assert found.all[2] == used * scale
        if charge == "over-quota":
            assert found.above_guarantee[2] == above * scale


def test_no_amount_means_the_same_at_the_beginning_of_a_fetch_as_in_the_middle() -> None:
    """Queue a holds 4 in all eight minutes: 8 x 4,000 thousandths x 60,000 ms."""
    told = {
        (CAPACITY, ()): "8 8 8 NaN 8 8 8 8".split(),
        (HELD, of(A)): "4 4 NaN NaN +Inf -1 4 4".split(),
        (HELD, of(B)): "1 1 1 1 1 1 1 1".split(),
    }
    for minutes in ([7], [2, 7], [1, 2, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7]):
        usage = fetched(told, "all", minutes)
        assert usage is not None
        assert usage.queues[A].all == (0, 0, 1_920_000_000)
        assert usage.capacity == (0, 0, 3_840_000_000)


def test_what_was_told_before_a_time_that_was_not_asked_about_does_not_hold_on() -> None:
    """Tumbling on at minute 4, the window begins with a NaN: what was held then is not known."""
    told = {(CAPACITY, ()): ["8"] * 6, (HELD, of(A)): "4 4 4 4 NaN 4".split()}
    rules = UsageRules(window=Tumbling(4 * MINUTE, START - 1))
    history = asking(ColumnClient(told), rules)
    history.read(START + MINUTE)
    usage = history.read(START + 5 * MINUTE).ledger.usage(START + 5 * MINUTE)
    assert usage.queues[A].all == (0, 0, 1 * 4000 * MINUTE)


def problems_at(told: Told, minutes: list[int]) -> list[tuple[str, ...]]:
    history = history_of(told)
    return [history.read(START + minute * MINUTE).problems for minute in minutes]


def test_what_is_said_of_no_amount_depends_on_what_was_told_before_it() -> None:
    """Queues a and d said 4 in the fetch before, but d was silent since; c will say something."""
    told = {
        (CAPACITY, ()): ["8"] * 3,
        (HELD, of(A)): "4 NaN 4".split(),
        (HELD, of("b")): "- NaN NaN".split(),
        (HELD, of("c")): "- NaN 1".split(),
        (HELD, of("d")): "4 - NaN".split(),
        ("kai_queue_allocated_cpu_cores", of(A)): ["0"] * 3,
        ("kai_queue_allocated_memory_bytes", of(A)): ["0"] * 3,
    }
    says = "Prometheus at http://h says NaN for queue"
    no_amount = f"at 2026-01-01T00:01:00Z in {HELD}, which is no amount"
    later = no_amount.replace("00:01:00Z", "00:02:00Z")
    assert problems_at(told, [0, 2]) == [
        (),
        (
            f"{says} a {no_amount}; the amount before it was kept",
            f"{says} b {no_amount}; nothing else is told there",
            f"{says} c {no_amount}; nothing counts there until it says one",
            f"{says} d {later}; nothing else is told there",
        ),
    ]


def test_a_guarantee_that_is_not_told_any_more_holds_on_in_the_next_fetch() -> None:
    """4 held, 3 due: one above it in each of six minutes, told or not."""
    told = {
        (CAPACITY, ()): ["8"] * 6,
        (HELD, of(A)): ["4"] * 6,
        (DUE, of(A)): "3 3 - - NaN -".split(),
    }
    for minutes in ([5], [0, 1, 2, 3, 4, 5]):
        usage = fetched(told, "over-quota", minutes)
        assert usage is not None
        assert usage.queues[A].above_guarantee == (0, 0, 6 * 1000 * MINUTE)


def test_a_guarantee_told_while_nobody_holds_anything_counts_later() -> None:
    told = {
        (CAPACITY, ()): ["8"] * 4,
        (HELD, of(A)): "4 - - 4".split(),
        (DUE, of(A)): "3 3 1 -".split(),
    }
    for minutes in ([3], [0, 1, 2, 3]):
        usage = fetched(told, "over-quota", minutes)
        assert usage is not None
        assert usage.queues[A].above_guarantee == (0, 0, (4 - 3 + 4 - 1) * 1000 * MINUTE)


def test_without_any_guarantee_a_fetch_is_refused_until_one_is_told() -> None:
    told = {
        (CAPACITY, ()): ["8"] * 3,
        (HELD, of(A)): ["4"] * 3,
        (DUE, of(A)): "- NaN 3".split(),
    }
    history = history_of(told, "over-quota")
    for minute, text in ((0, "has no series of what is guaranteed"), (1, "no usable number")):
        with pytest.raises(StoreError, match=text):
            history.read(START + minute * MINUTE)
    usage = history.read(START + 2 * MINUTE).ledger.usage(START + 2 * MINUTE)
    assert usage.queues[A].all == (0, 0, 3 * 4000 * MINUTE)


def test_a_guarantee_of_another_resource_is_none_of_this_one() -> None:
    told = {
        ("kai_queue_quota_cpu_cores", of(A)): ["3", "3"],
        (CAPACITY, ()): ["8", "8"],
        (HELD, of(A)): ["-", "4"],
    }
    history = history_of(told, "over-quota")
    history.read(START)
    with pytest.raises(StoreError, match=f"guaranteed to queues of nvidia.com/gpu .{DUE}"):
        history.read(START + MINUTE)


SILENCE = {
    (CAPACITY, ()): ["8"] * COUNT,
    (HELD, of(A)): "4 4 - - - 4 2 2".split(),
    (HELD, of(B)): "1 1 - - - 1 1 1".split(),
}


@pytest.mark.parametrize("window_minutes", [2, 4, 1000])
@pytest.mark.parametrize("minutes", [[1, 2, 3, 4, 5, 6, 7], [1, 3, 7], [2, 6, 7]], ids=str)
def test_after_a_silence_no_usage_is_lost_and_none_counts_twice(
    window_minutes: int, minutes: list[int]
) -> None:
    """In minutes 2 to 4 no queue reports: nothing counts then, and all of before and after does."""
    rules = UsageRules(window=Tumbling(window_minutes * MINUTE, START - 1))
    history = asking(ColumnClient(SILENCE), rules)
    for minute in minutes:
        now_ms = START + minute * MINUTE
        found = history.read(now_ms).ledger.usage(now_ms)
        at_once = asking(ColumnClient(SILENCE), rules).read(now_ms).ledger.usage(now_ms)
        first = minute // window_minutes * window_minutes
        for name in (A, B):
            reported = [each for each in SILENCE[HELD, of(name)][first : minute + 1] if each != "-"]
            used = sum(map(int, reported)) * 1000 * MINUTE
            assert found.queues.get(name, NOTHING).all[2] == used
            assert at_once.queues.get(name, NOTHING).all[2] == used


def test_in_a_silence_of_more_than_a_window_the_last_complete_answer_is_kept() -> None:
    """From minute 2 on no queue reports; the window of 4 minutes is over at minute 6."""
    told = {(CAPACITY, ()): ["8"] * 9, (HELD, of(A)): "4 4 - - - - - - -".split()}
    history = asking(ColumnClient(told), UsageRules(window=Sliding(4 * MINUTE)))
    known_ms = START + MINUTE
    before = history.read(known_ms)
    for minute in range(2, 9):
        now_ms = START + minute * MINUTE
        reading = history.read(now_ms)
        assert reading.newest_ms == known_ms
        held = standing(reading, "hold")
        as_of_ms = held.as_of_ms(now_ms)
        assert as_of_ms == known_ms
        assert held.ledger.usage(as_of_ms).queues[A].all == (0, 0, 2 * 4000 * MINUTE)
        left = max(0, 5 - minute) if minute > 3 else 2
        decayed = standing(reading, "decay")
        usage = decayed.ledger.usage(decayed.as_of_ms(now_ms)).queues[A]
        assert usage.all == (0, 0, left * 4000 * MINUTE)
    assert before.before_silence is None


def test_without_a_usable_number_of_what_is_held_no_guarantee_is_missed() -> None:
    """A NaN, then silence: something is told, but nothing that could be above a guarantee."""
    told = {(CAPACITY, ()): ["8"] * 2, (HELD, of(A)): ["NaN", "-"]}
    [problem] = history_of(told, "over-quota").read(START + MINUTE).problems
    assert "but no usable number among them, only such as NaN for queue a" in problem
