"""The division of one resource among siblings: the rule by example, and its laws."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division import Claim, divide
from tests.fairness.division_cases import Case, cases, rows
from tests.fairness.reference_division import reference_divide, requestable

# Amounts in whole units; a dash is no limit, or a guarantee of all there is. Queues stand in the
# order of age. The line above each table is the arithmetic that leads to it.
SCENARIOS = {
    # 12 - 2 - 2 = 8 over quota, 4 each, which is the need of 4 each.
    "everybody's request is covered": """
        amount 12
        queue priority guaranteed ceiling weight requested usage gets
        a     100      2          -       2      6         0     6
        b     100      2          -       2      6         0     6
    """,
    # 15 - 4 = 11 over quota, needs of 4 and 4: 3 are nobody's.
    "nobody gets more than asked for": """
        amount 15
        queue priority guaranteed ceiling weight requested usage gets
        a     100      2          -       2      6         0     6
        b     100      2          -       2      6         0     6
    """,
    # 8 - 4 = 4 over quota: 1/4 of it is 1, 3/4 of it is 3.
    "the rest is divided by weight": """
        amount 8
        queue priority guaranteed ceiling weight requested usage gets
        a     100      2          -       1      6         0     3
        b     100      2          -       3      6         0     5
    """,
    # 6 - 4 = 2 over quota, all for the higher priority, whatever the weights are.
    "a higher priority comes first": """
        amount 6
        queue priority guaranteed ceiling weight requested usage gets
        a     1        2          -       100    6         0     2
        b     2        2          -       1      6         0     4
    """,
    # 3 + 4 = 7 > 5: honoured on paper, and nothing is left to divide.
    "guarantees are honoured beyond the amount": """
        amount 5
        queue priority guaranteed ceiling weight requested usage gets
        a     100      3          -       1      9         0     3
        b     100      4          -       1      9         0     4
    """,
    # Guaranteed min(9, 4) and min(9, 2); the 4 that a and b do not ask for go to c.
    "a guarantee that is not asked for is divided": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      9          -       1      4         0     4
        b     100      9          2       1      8         0     2
        c     100      0          -       1      8         0     4
    """,
    # a is guaranteed all 10, asks for 7; b gets the rest.
    "a guarantee of all there is": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      -          -       0      7         0     7
        b     100      0          -       1      9         0     3
    """,
    # a would get 10 * 4/5 = 8 but may hold 3; the 5 of difference go to b in a second round.
    "who meets the ceiling leaves the rest to the others": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          3       4      99        0     3
        b     100      0          -       1      99        0     7
    """,
    # 10/3 = 3 1/3 each, rounded down to 3; the tenth goes on to d before it is handed out.
    "what rounding leaves goes to the next priority first": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      10        0     3
        b     100      0          -       1      10        0     3
        c     100      0          -       1      10        0     3
        d     50       0          -       1      10        0     1
    """,
    # 3 1/3 each; d wants nothing, so the tenth unit goes to the oldest of three equal fractions.
    "equal fractions: the oldest gets the unit": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      10        0     4
        b     100      0          -       1      10        0     3
        c     100      0          -       1      10        0     3
        d     50       0          -       1      0         0     0
    """,
    # 10/7, 30/7, 30/7 = 1 3/7, 4 2/7, 4 2/7: one unit is left, 3/7 is the largest.
    "the largest fraction gets the unit": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       3      10        0     4
        b     100      0          -       3      10        0     4
        c     100      0          -       1      10        0     2
    """,
    # Round 1: 9 * (1/3, 1/3, 1/3) = 3 each, c is done with 1. Round 2: 2 * (1/2, 1/2) = 1 each.
    "a second round divides what a satisfied queue leaves": """
        amount 9
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      9         0     4
        b     100      0          -       1      9         0     4
        c     100      0          -       1      1         0     1
    """,
    # 3 * (1, 2, 3)/6 = 1/2, 1, 1 1/2: b needs exactly its portion. A second round would divide
    # the last unit in 1/4 and 3/4 and so give it to c; as it is, a and c are equal, a is older.
    "meeting the portion exactly calls for no other round": """
        amount 3
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      1         0     1
        b     100      0          -       2      1         0     1
        c     100      0          -       3      2         0     1
    """,
    # Two and a half devices: 1 1/4 each, rounded down to 1; the half goes to a, which is older.
    "less than a unit is handed out as it is": """
        amount 2.5
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      9         0     1.5
        b     100      0          -       1      9         0     1
    """,
    # 1/2 each, and neither need fits in it; the whole device goes to a, beyond its request.
    "a left-over unit may exceed the request": """
        amount 1
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      0.7       0     1
        b     100      0          -       1      0.7       0     0
    """,
    # The same with ceilings.
    "a left-over unit may exceed the ceiling": """
        amount 1
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          0.7     1      9         0     1
        b     100      0          0.7     1      9         0     0
    """,
    # 15/2 each = 7.5. a and b need more; of 15 - 7 - 7 = 1 the older gets the unit.
    "weight 0 gets nothing over the guarantee": """
        amount 17
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      9         0     8
        b     100      0          -       1      9         0     7
        c     100      2          -       0      9         0     2
    """,
    # w = 1/2 each, s = 1/2 + (1/2 - 1/4) = 3/4 and 1/2 + 1/2 = 1: 14 * 3/7 and 14 * 4/7.
    "past usage lowers a weight": """
        amount 14
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      99        0.25  6
        b     100      0          -       1      99        0     8
    """,
    # s = 1/2 + (1/2 - 1) = 0 for a and 1 for b, which is done with 3. Then w = 1, s = 1 for a.
    "a queue without weight at first gets some once another is satisfied": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      99        1     7
        b     100      0          -       1      3         0     3
    """,
    # s = 0 for a and b: they get nothing over quota, and c of the next priority all.
    "usage that outweighs every claim ends the level": """
        amount 10
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      99        1     0
        b     100      1          -       1      99        1.5   1
        c     50       0          -       1      99        0.5   9
    """,
    # Round 1: 9 * 1/6 = 1 1/2, 1 1/2 and 6; c needs 4. Of the 3 that are left, round 2 offers
    # 1 1/2 each again, and the unit that is left after that goes to the older of two halves.
    "fractions do not add up over rounds": """
        amount 9
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       1      9         0     3
        b     100      0          -       1      9         0     2
        c     100      0          -       4      4         0     4
    """,
    # Round 1: 8 * (2, 1, 2, 1)/6 = 2 2/3, 1 1/3, 2 2/3, 1 1/3, where c needs 2: 2, 1, 2, 1.
    # Round 2: 2 * (2, 1, 1)/4 = 1, 1/2, 1/2: a's is whole, so it is ranked by its older 2/3.
    "an older fraction stays when a later portion is whole": """
        amount 8
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       2      50        0     4
        b     100      0          -       1      50        0     1
        c     100      0          -       2      2         0     2
        d     100      0          -       1      50        0     1
    """,
    # Round 1: 5 * (3, 1, 6)/10 = 1 1/2, 1/2, 3, where c needs 1. Round 2: 3 * (3, 1)/4 = 2 1/4,
    # 3/4: a needs 1 1/2 and is done. Round 3 offers b all of the 1 1/2 that are left: b has 1,
    # and the half goes to b; a's older fraction of 1/2 no longer counts.
    "a fraction is forgotten when the need is met": """
        amount 5
        queue priority guaranteed ceiling weight requested usage gets
        a     100      0          -       3      2.5       0     2.5
        b     100      0          -       1      50        0     1.5
        c     100      0          -       6      1         0     1
    """,
}


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_the_rule_by_example(table: str) -> None:
    amount, queues = rows(table)
    claims = [queue.claim for queue in queues]
    priorities = sorted({queue.priority for queue in queues}, reverse=True)
    levels = [[i for i, q in enumerate(queues) if q.priority == each] for each in priorities]
    assert divide(amount, claims, levels, unit=1000, k=Fraction(1)) == [q.gets for q in queues]


@given(case=cases())
def test_the_fast_division_equals_the_plain_one(case: Case) -> None:
    plain = reference_divide(case.amount, case.claims, case.levels, case.unit, case.k)
    assert case.shares() == plain


@given(case=cases())
def test_shares_sum_to_the_amount_or_the_guarantees_at_most(case: Case) -> None:
    guarantees = sum(_guarantee(case, claim) for claim in case.claims)
    assert sum(case.shares()) <= max(case.amount, guarantees)


@given(case=cases(k=st.just(Fraction(0))))
def test_without_usage_all_is_given_that_anyone_with_weight_wants(case: Case) -> None:
    """The sum is known exactly: what is nobody's was wanted by nobody who has weight."""
    guarantees = sum(_guarantee(case, claim) for claim in case.claims)
    wanted = sum(requestable(c) - _guarantee(case, c) for c in case.claims if c.weight)
    assert sum(case.shares()) == max(guarantees, min(case.amount, guarantees + wanted))


@given(case=cases())
def test_with_usage_something_is_left_only_to_those_whose_usage_outweighs_them(case: Case) -> None:
    """Who has weight and is left wanting while something is left has k * usage >= (1 + k) * w.

    w is the part of its level's weight, taken over all of the level: among fewer it is larger.
    """
    shares = case.shares()
    if sum(shares) >= case.amount:
        return
    for level in case.levels:
        weight_total = sum(case.claims[i].weight for i in level)
        for i in level:
            claim = case.claims[i]
            if claim.weight and shares[i] < requestable(claim):
                usage = Fraction(claim.usage_e9, 10**9)
                assert case.k * usage >= (1 + case.k) * Fraction(claim.weight, weight_total)


@given(case=cases())
def test_a_share_covers_the_guarantee_and_stays_below_the_request_plus_a_unit(case: Case) -> None:
    for claim, share in zip(case.claims, case.shares(), strict=True):
        assert _guarantee(case, claim) <= share
        assert share < requestable(claim) + case.unit


@given(case=cases(), data=st.data())
def test_listing_claims_in_another_order_changes_nothing(case: Case, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(case.claims))))
    place = {old: new for new, old in enumerate(order)}
    moved = msgspec.structs.replace(
        case,
        claims=tuple(case.claims[i] for i in order),
        levels=tuple(tuple(place[i] for i in level) for level in case.levels),
    )
    before, after = case.shares(), moved.shares()
    assert [after[place[i]] for i in range(len(before))] == before


@given(case=cases(), factor=st.integers(2, 1000))
def test_only_the_ratio_of_weights_matters(case: Case, factor: int) -> None:
    heavier = [msgspec.structs.replace(c, weight=c.weight * factor) for c in case.claims]
    assert msgspec.structs.replace(case, claims=tuple(heavier)).shares() == case.shares()


@given(case=cases(), k=st.sampled_from([Fraction(-1), Fraction(-1, 7), Fraction(0)]))
def test_usage_does_not_count_when_k_is_0_or_less(case: Case, k: Fraction) -> None:
    unused = [msgspec.structs.replace(claim, usage_e9=0) for claim in case.claims]
    without_usage = msgspec.structs.replace(case, claims=tuple(unused))
    assert msgspec.structs.replace(case, k=k).shares() == without_usage.shares()


def test_an_amount_beyond_64_bits_is_divided_to_the_unit() -> None:
    claim = Claim(guaranteed=0, ceiling=None, weight=1, requested=10**30)
    shares = divide(10**25 + 2, [claim] * 3, [range(3)], unit=1, k=Fraction(0))
    third = (10**25 - 1) // 3
    assert shares == [third + 1] * 3


def test_nobody_divides_nothing() -> None:
    assert divide(5, [], [], unit=1, k=Fraction(1)) == []


def _guarantee(case: Case, claim: Claim) -> int:
    most = case.amount if claim.guaranteed is None else claim.guaranteed
    return min(most, requestable(claim))
