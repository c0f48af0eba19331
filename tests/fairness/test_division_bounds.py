"""How far rounding takes the division from exact proportions, and what follows from it.

Let *exact* be the division without rounding, k = 0: guarantees, then priority by priority the
same amount per weight for all who are not yet satisfied. With n siblings

    exact - max(1, n - 1) units < share <= exact + (n - 1)^2 / 4 + 1 units.

Why. Only one level is cut short: those above are satisfied in full, with or without rounding.
Say it plays m rounds, leaves u siblings unsatisfied, and its rounds offered L per weight in all.
Before the last rounding the siblings hold the whole amount between them, nobody more than
min(need, weight * L), so L is no less than the exact level, and each of the u has lost less than
a unit to each earlier round: it holds more than exact - (m - 1). Since the sum is the same, nobody
holds more than exact + (m - 1)(u - 1). The last rounding takes less than a unit, the left-over
step gives one at most. Every round but the last satisfies someone, so m - 1 <= n - u, and
(n - u)(u - 1) <= (n - 1)^2 / 4. What lower levels pick up is less than u units, which is within.

Exact shares never fall when the amount or the own weight grows, and scale with all amounts. So
the real ones fall by less than the sum of both bounds, and scale within them.
"""

from collections.abc import Sequence
from fractions import Fraction

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.division import Claim, divide
from fairlead.fairness.division_steps import DivisionStep, RoundStep
from tests.fairness.division_cases import Case, cases
from tests.fairness.reference_division import requestable

K0 = Fraction(0)
without_usage = cases(k=st.just(K0))


def exact_shares(case: Case) -> list[Fraction]:
    """The division without rounding: every level rises evenly per weight until all is given."""
    shares = []
    for claim in case.claims:
        guaranteed = case.amount if claim.guaranteed is None else claim.guaranteed
        shares.append(Fraction(min(guaranteed, requestable(claim))))
    remaining = case.amount - sum(shares, Fraction(0))
    for level in case.levels:
        needs = {i: requestable(case.claims[i]) - shares[i] for i in level}
        thirsty = [i for i in level if needs[i] > 0 and case.claims[i].weight > 0]
        thirsty.sort(key=lambda i: needs[i] / case.claims[i].weight)
        while thirsty and remaining > 0:
            per_weight = remaining / sum(case.claims[i].weight for i in thirsty)
            first = thirsty.pop(0)
            gift = min(needs[first], per_weight * case.claims[first].weight)
            shares[first] += gift
            remaining -= gift
    return shares


def gain_bound(case: Case) -> Fraction:
    """What a share may exceed the exact one by, in base units."""
    return (Fraction((len(case.claims) - 1) ** 2, 4) + 1) * case.unit


def loss_bound(case: Case) -> int:
    """What a share stays below the exact one by less than, in base units."""
    return max(1, len(case.claims) - 1) * case.unit


@given(case=without_usage)
def test_rounding_takes_a_share_no_further_from_the_exact_one_than_the_bound(case: Case) -> None:
    for share, exact in zip(case.shares(), exact_shares(case), strict=True):
        assert exact - loss_bound(case) < share <= exact + gain_bound(case)


@given(case=cases())
def test_while_nobody_is_satisfied_a_share_is_within_a_unit_of_its_portion(case: Case) -> None:
    """With or without usage: one round per level, rounded down, and at most one unit on top."""
    hungry = tuple(
        msgspec.structs.replace(claim, ceiling=None, requested=case.amount + 1)
        for claim in case.claims
    )
    steps: list[DivisionStep] = []
    shares = divide(case.amount, hungry, case.levels, unit=case.unit, k=case.k, steps=steps)
    rounds = [step for step in steps if isinstance(step, RoundStep)]
    assert len(rounds) == len({step.level for step in rounds})
    for entry in (entry for step in rounds for entry in step.entries):
        over_quota = shares[entry.sibling] - (case.amount + 1 - entry.need)
        assert abs(over_quota - entry.portion) < case.unit


@given(case=without_usage, factor=st.integers(2, 50))
def test_shares_scale_with_all_amounts_within_both_bounds(case: Case, factor: int) -> None:
    scaled = msgspec.structs.replace(
        case,
        amount=case.amount * factor,
        claims=tuple(
            msgspec.structs.replace(
                claim,
                guaranteed=None if claim.guaranteed is None else claim.guaranteed * factor,
                ceiling=None if claim.ceiling is None else claim.ceiling * factor,
                requested=claim.requested * factor,
            )
            for claim in case.claims
        ),
    )
    up = gain_bound(case) + factor * loss_bound(case)
    down = loss_bound(case) + factor * gain_bound(case)
    for share, large in zip(case.shares(), scaled.shares(), strict=True):
        assert -down < large - factor * share < up


@given(case=without_usage, more=st.integers(1, 50))
def test_more_capacity_lowers_a_share_by_less_than_both_bounds(case: Case, more: int) -> None:
    larger = msgspec.structs.replace(case, amount=case.amount + more)
    for before, after in zip(case.shares(), larger.shares(), strict=True):
        assert before - after < gain_bound(case) + loss_bound(case)


@given(case=without_usage, data=st.data(), more=st.integers(1, 50))
def test_more_weight_lowers_the_own_share_by_less_than_both_bounds(
    case: Case, data: st.DataObject, more: int
) -> None:
    chosen = data.draw(st.integers(0, len(case.claims) - 1))
    claims = list(case.claims)
    claims[chosen] = msgspec.structs.replace(claims[chosen], weight=claims[chosen].weight + more)
    heavier = msgspec.structs.replace(case, claims=tuple(claims))
    assert case.shares()[chosen] - heavier.shares()[chosen] < gain_bound(case) + loss_bound(case)


def test_two_siblings_with_whole_needs_never_lose_by_more_capacity_or_weight() -> None:
    """All of the small ones: it takes a third sibling to be paradoxical."""
    for amount in range(9):
        for weight in range(1, 5):
            for first in range(6):
                for second in range(6):
                    a, b = _shares(amount, [weight, 2], [first, second])
                    more_capacity = _shares(amount + 1, [weight, 2], [first, second])
                    assert more_capacity[0] >= a
                    assert more_capacity[1] >= b
                    assert _shares(amount, [weight + 1, 2], [first, second])[0] >= a


def test_the_smallest_loss_by_more_capacity() -> None:
    """3 * (1, 3, 3)/7 = 3/7, 9/7, 9/7: the unit goes to 3/7. With 4 the 4/7 are the smallest."""
    assert _shares(3, [1, 3, 3], [9, 9, 9]) == [1, 1, 1]
    assert _shares(4, [1, 3, 3], [9, 9, 9]) == [0, 2, 2]


def test_a_share_above_the_request_falls_back_to_it_when_there_is_more() -> None:
    """Halves cover neither need of 0.7, so the whole unit goes to one; of two both get 0.7."""
    claims = [Claim(guaranteed=0, ceiling=None, weight=1, requested=7)] * 2
    assert divide(10, claims, [range(2)], unit=10, k=K0) == [10, 0]
    assert divide(20, claims, [range(2)], unit=10, k=K0) == [7, 7]


def test_the_smallest_loss_by_more_weight() -> None:
    """With weight 3 the second queue needs exactly its portion, and the second round falls away."""
    assert _shares(3, [1, 2, 2], [1, 1, 2]) == [0, 1, 2]
    assert _shares(3, [1, 2, 3], [1, 1, 2]) == [1, 1, 1]


def test_with_usage_one_unit_more_can_cost_many() -> None:
    """No bound holds then: who leaves a round earlier changes what usage does to the others."""
    weights, requested, usages = [1, 2, 1, 5], [53, 16, 75, 9], [5, 2, 1, 0]
    assert _shares(96, weights, requested, usages) == [15, 16, 56, 9]
    assert _shares(97, weights, requested, usages) == [23, 16, 49, 9]


def _shares(
    amount: int, weights: Sequence[int], requested: Sequence[int], tenths: Sequence[int] = ()
) -> list[int]:
    """Plain siblings, oldest first, in whole units; usage in tenths of the cluster, k = 1."""
    usages = tenths or [0] * len(weights)
    claims = [
        Claim(guaranteed=0, ceiling=None, weight=weight, requested=most, usage_e9=usage * 10**8)
        for weight, most, usage in zip(weights, requested, usages, strict=True)
    ]
    return divide(amount, claims, [range(len(claims))], unit=1, k=Fraction(1))
