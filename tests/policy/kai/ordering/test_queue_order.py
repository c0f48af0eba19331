"""Rule by rule, which of two queues is served first; and the laws of the comparison."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.policy.kai.fair_share.shares import KaiShares, allocatable
from fairlead.policy.kai.ordering.queue_order import (
    Contender,
    QueueNumbers,
    contender,
    deciding_rule,
    per_held,
    precedes,
    queue_numbers,
)
from fairlead.policy.kai.ordering.tournament import Bracket
from tests.model.worlds import queue, started, state_with, workload
from tests.text_table import rows

GPU = 1000  # thousandths of a device
UNITS = (1, GPU)
TOTAL = (20, 20 * GPU)

# A cell is millicores+devices, - is no limit. The queue that goes first is listed first.
RULES = {
    "1 one resource within its share is enough to be before who is over in all": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      2+2   3+2    1+1
        b      200       0    0+0    -      2+2   3+3    0+0
    """,
    # 4 + 1 <= 5 against 4 + 2 > 5
    "2 who stays within its guarantee goes before who would leave it": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    5+5    -      5+5   4+4    1+1
        b      200       0    5+5    -      5+5   4+4    1+2
    """,
    "3 the higher priority goes first": """
        queue  priority  age  quota  limit  fair  holds  job
        a      101       1    0+0    -      9+9   4+4    1+1
        b      100       0    0+0    -      9+9   0+0    1+1
    """,
    # b may hold no gpu and would hold one; a's cpu share is the larger one: 9/10
    "4 who would use a resource of which it may use nothing goes last": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      10+4  8+0    1+0
        b      100       0    0+0    9+0    9+9   0+0    1+1
    """,
    # gpu decides both: (2 + 1) / 6 = 1/2 against (3 + 1) / 7 = 4/7
    "5 the smaller dominant share with the job goes first": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      9+6   1+2    0+1
        b      100       0    0+0    -      9+7   1+3    0+1
    """,
    # a: no limit and no end to its guarantee, so 9 of the cluster's 20; b: 1/2
    "5 without any limit the share is one of the whole cluster": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    -      -      0+9   0+8    0+1
        b      100       0    -      -+8    0+9   0+3    0+1
    """,
    # both would hold cpu of which they may hold none: 2 x 1000 against 3 x 1000
    "5 where nothing may be held a share is a thousand times what is held": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      0+9   1+8    1+1
        b      100       0    0+0    -      0+9   2+1    1+1
    """,
    # in millicores 2 x 1000, in devices 1 x 1000 (and not 1000 thousandths x 1000)
    "5 and a thousand times counts devices and millicores": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      9+0   0+0    0+1
        b      100       0    0+0    -      0+9   1+0    1+0
    """,
    # with the job 4/8 both; without it 2/8 against 3/8
    "6 then the smaller dominant share without the job": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      8+8   2+2    2+2
        b      100       0    0+0    -      8+8   3+3    1+1
    """,
    "7 then who may hold less in every resource": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+0    -      3+3   0+0    0+0
        b      100       0    0+0    -      3+4   0+0    0+0
    """,
    "7 and no limit at all is above every number": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       1    0+-    -+99   3+3   0+0    0+0
        b      100       0    0+-    -      3+4   0+0    0+0
    """,
    # 3 < 4 in cpu and 4 > 3 in gpu: neither may hold less
    "8 the older one where neither may hold less": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       0    0+0    -      4+3   0+0    0+0
        b      100       1    0+0    -      3+4   0+0    0+0
    """,
    "8 and the name in the end": """
        queue  priority  age  quota  limit  fair  holds  job
        a      100       0    0+0    -      3+3   1+1    1+1
        b      100       0    0+0    -      3+3   1+1    1+1
    """,
}


def cell(text: str) -> Limits:
    """``2+3`` is 2 millicores and 3 devices; ``-`` alone is no limit for both."""
    cpu, gpu = text.split("+") if "+" in text else (text, text)
    return (None if cpu == "-" else int(cpu), None if gpu == "-" else int(gpu) * GPU)


def amounts(text: str) -> Amounts:
    return tuple(amount or 0 for amount in cell(text))


def numbers_of(row: dict[str, str]) -> QueueNumbers:
    fair, quota = amounts(row["fair"]), cell(row["quota"])
    most = tuple(map(allocatable, quota, cell(row["limit"]), fair))
    return QueueNumbers(
        name=QueueName(row["queue"]),
        priority=int(row["priority"]),
        created_ms=int(row["age"]),
        guaranteed=quota,
        fair_share=fair,
        allocatable=most,
        per_held=per_held(most, TOTAL, UNITS),
        allocated=amounts(row["holds"]),
    )


def standings_of(table: str) -> list[Contender]:
    return [contender(numbers_of(row), amounts(row["job"])) for row in rows(table)]


@pytest.mark.parametrize("title", RULES)
def test_the_first_rule_in_which_two_queues_differ_decides(title: str) -> None:
    first, second = standings_of(RULES[title])
    assert precedes(first, second)
    assert not precedes(second, first)
    assert deciding_rule(first, second) == deciding_rule(second, first) == int(title[0])


def test_shares_that_floats_cannot_tell_apart_are_told_apart() -> None:
    small, large = (10**17, 3 * 10**17 + 1), (10**17, 3 * 10**17)
    assert small[0] / small[1] == large[0] / large[1]
    one, other = (
        contender(
            QueueNumbers(
                name=QueueName(name),
                priority=100,
                created_ms=0,
                guaranteed=(0,),
                fair_share=(most,),
                allocatable=(most,),
                per_held=per_held((most,), (0,), (1,)),
                allocated=[held],
            ),
            (0,),
        )
        for name, (held, most) in (("b", small), ("a", large))
    )
    assert precedes(one, other)
    assert deciding_rule(one, other) == 5


# Smaller allocatable: a before b. Neither may hold less: b is older than c, and c older than a.
CIRCLE = """
    queue  priority  age  quota  limit  fair  holds  job
    a      100       3    2+2    -      0+0   0+0    0+0
    b      100       1    3+3    -      0+0   0+0    0+0
    c      100       2    1+4    -      0+0   0+0    0+0
"""


def test_three_queues_can_go_round_in_a_circle() -> None:
    a, b, c = standings_of(CIRCLE)
    assert precedes(a, b)
    assert precedes(b, c)
    assert precedes(c, a)


# a: 5 - 3 = 2 of 4, b: 4 - 1 = 3 of 4; by what they hold b's 4/4 would be before a's 5/4
VICTIMS = """
    queue  priority  age  quota  limit  fair  holds  taken
    a      100       1    1+1    -      9+4   1+5    0+3
    b      100       0    1+1    -      9+4   1+4    0+1
"""


def test_what_victims_give_back_counts_in_the_dominant_share_alone() -> None:
    first, second = (
        contender(numbers_of(row), (0, 0), taken=amounts(row["taken"])) for row in rows(VICTIMS)
    )
    assert precedes(first, second)
    assert deciding_rule(first, second) == 5
    plain_first, plain_second = (contender(numbers_of(row), (0, 0)) for row in rows(VICTIMS))
    assert precedes(plain_second, plain_first)
    assert (first.precedence, first.share) == (plain_first.precedence, plain_first.share)


def test_a_queue_that_gives_back_more_than_it_holds_has_a_share_of_zero() -> None:
    row = rows(VICTIMS)[0]
    none = contender(numbers_of(row), (0, 0), taken=amounts("1+5"))
    less = contender(numbers_of(row), (0, 0), taken=amounts("9+9"))
    assert less.share_with_job == none.share_with_job == (0, 1)


def test_numbers_of_a_state_follow_what_is_allocated() -> None:
    no_gpu = replace(queue("a"), ceiling=(None, 0))
    state = state_with(no_gpu, workload("job", "a", cpu=500, gpu=3 * GPU))
    total = (2000, 4 * GPU)
    (share,) = KaiShares(state, total, Fraction(0)).rows()
    numbers = queue_numbers(state, share, total)
    # cpu: nothing of the 500 that it asks for and gets as its fair share
    assert contender(numbers, (0, 0)).precedence == (False, False, -100, False)
    assert contender(numbers, (100, 0)).share_with_job == (100, 500)
    state.apply(started("job", None))
    # gpu: 3 devices where it may hold none are a share of 3 x 1000
    now = contender(numbers, (0, 0))
    assert Fraction(*now.share) == 3000
    assert now.precedence == (False, True, -100, True)  # 500 of cpu are within the share


class Entrant(NamedTuple):
    """A queue with its next job, and the cluster in which it stands."""

    numbers: QueueNumbers
    job: Amounts
    taken: Amounts | None
    total: Amounts

    def contend(self) -> Contender:
        return contender(self.numbers, self.job, taken=self.taken)


SMALL_UNITS = (1, 2)
small = st.integers(0, 6)
vector = st.tuples(small, small)
limits = st.tuples(st.none() | small, st.none() | small)


@st.composite
def siblings(draw: st.DrawFn) -> list[Entrant]:
    """Queues in small numbers, so that they often tie."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True))
    total = draw(vector)
    return [draw(entrants(name, total)) for name in names]


@st.composite
def entrants(draw: st.DrawFn, name: str, total: Amounts) -> Entrant:
    quota, limit, fair = draw(limits), draw(limits), draw(vector)
    most = tuple(map(allocatable, quota, limit, fair))
    numbers = QueueNumbers(
        name=QueueName(name),
        priority=draw(st.sampled_from([50, 100])),
        created_ms=draw(st.integers(0, 1)),
        guaranteed=quota,
        fair_share=fair,
        allocatable=most,
        per_held=per_held(most, total, SMALL_UNITS),
        allocated=draw(vector),
    )
    return Entrant(numbers, draw(vector), draw(st.none() | vector), total)


@given(siblings())
def test_of_two_queues_exactly_one_is_first(queues: list[Entrant]) -> None:
    standings = [each.contend() for each in queues]
    for one, other in combinations(standings, 2):
        assert precedes(one, other) != precedes(other, one)
        assert deciding_rule(one, other) == deciding_rule(other, one)
    assert not any(precedes(one, one) for one in standings)


@given(siblings())
def test_the_order_is_that_of_the_rules_written_out(queues: list[Entrant]) -> None:
    for one, other in combinations(queues, 2):
        rule, is_first = rules_written_out(one, other)
        assert deciding_rule(one.contend(), other.contend()) == rule
        assert precedes(one.contend(), other.contend()) == is_first


@given(siblings().flatmap(lambda queues: st.tuples(st.just(queues), st.permutations(queues))))
def test_listing_queues_in_another_order_does_not_change_the_first_of_the_bracket(
    listings: tuple[list[Entrant], list[Entrant]],
) -> None:
    assert first_of_bracket(listings[0]) == first_of_bracket(listings[1])


def first_of_bracket(listed: list[Entrant]) -> QueueName:
    """Who wins when places go by age and name, and queues enter as they are listed."""
    standings = [each.contend() for each in listed]
    ages = sorted(each.age for each in standings)
    bracket = Bracket(len(ages), precedes)
    for each in standings:
        bracket.enter(ages.index(each.age), each)
    winner = bracket.winner()
    assert winner is not None
    return ages[winner][1]


def rules_written_out(one: Entrant, other: Entrant) -> tuple[int, bool]:
    """The number of the deciding rule, and whether *one* comes first by it."""
    parts = zip(ordered_parts(one), ordered_parts(other), strict=True)
    for number, (left, right) in enumerate(parts, start=1):
        if left != right:
            return number, left < right
    left_most, right_most = (
        [math.inf if most is None else most for most in each.numbers.allocatable]
        for each in (one, other)
    )
    if left_most != right_most:
        pairs = list(zip(left_most, right_most, strict=True))
        if all(left <= right for left, right in pairs):
            return 7, True
        if all(left >= right for left, right in pairs):
            return 7, False
    ages = [(each.numbers.created_ms, each.numbers.name) for each in (one, other)]
    return 8, ages[0] < ages[1]


def ordered_parts(entrant: Entrant) -> list[Fraction]:
    """What rules 1 to 6 compare, the smaller first."""
    numbers, held = entrant.numbers, entrant.numbers.allocated
    taken = entrant.taken or (0, 0)
    after = [held[at] + entrant.job[at] for at in (0, 1)]
    return [
        Fraction(all(held[at] > numbers.fair_share[at] for at in (0, 1))),
        Fraction(any(is_above(after[at], numbers.guaranteed[at]) for at in (0, 1))),
        Fraction(-numbers.priority),
        Fraction(any(numbers.allocatable[at] == 0 and after[at] > 0 for at in (0, 1))),
        dominant_share(entrant, [after[at] - taken[at] for at in (0, 1)]),
        dominant_share(entrant, held),
    ]


def is_above(amount: int, bound: int | None) -> bool:
    return bound is not None and amount > bound


def dominant_share(entrant: Entrant, held: Sequence[int]) -> Fraction:
    shares = [Fraction(0)]
    for at in (0, 1):
        most = entrant.numbers.allocatable[at]
        divisor = entrant.total[at] if most is None else most
        in_units = Fraction(held[at], SMALL_UNITS[at])
        shares.append(Fraction(held[at], divisor) if divisor else in_units * 1000)
    return max(shares)
