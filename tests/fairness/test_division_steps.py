"""The record of a division: it changes nothing, and it adds up to the shares."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given

from fairlead.fairness.division import Claim, divide
from fairlead.fairness.division_steps import (
    DivisionStep,
    FinalStep,
    GuaranteeStep,
    LeftoverStep,
    RoundEntry,
    RoundStep,
)
from tests.fairness.division_cases import Case, cases


def recorded(case: Case) -> tuple[list[int], list[DivisionStep]]:
    steps: list[DivisionStep] = []
    shares = divide(case.amount, case.claims, case.levels, unit=case.unit, k=case.k, steps=steps)
    return shares, steps


@given(case=cases())
def test_recording_changes_nothing(case: Case) -> None:
    assert recorded(case)[0] == case.shares()


@given(case=cases())
def test_the_steps_add_up_to_the_shares_and_the_rest(case: Case) -> None:
    shares, steps = recorded(case)
    first, last = steps[0], steps[-1]
    assert isinstance(first, GuaranteeStep)
    assert isinstance(last, FinalStep)
    held, remaining = list(first.granted), first.remaining
    for step in steps[1:-1]:
        if isinstance(step, RoundStep):
            assert step.remaining == remaining
            for entry in step.entries:
                held[entry.sibling] += entry.granted
                remaining -= entry.granted
        elif isinstance(step, LeftoverStep):
            held[step.sibling] += step.granted
            remaining -= step.granted
            assert step.remaining == remaining
    assert tuple(held) == last.shares == tuple(shares)
    assert last.unclaimed == max(0, remaining)


@given(case=cases())
def test_a_round_shows_the_terms_of_its_own_arithmetic(case: Case) -> None:
    for step in recorded(case)[1]:
        if isinstance(step, RoundStep) and step.share_weight_total:
            assert sum(entry.portion for entry in step.entries) == step.remaining
            for entry in step.entries:
                assert (
                    entry.portion * step.share_weight_total == step.remaining * entry.share_weight
                )
                assert entry.done == (entry.need <= entry.portion)
                whole = entry.portion // case.unit * case.unit
                assert entry.granted == (entry.need if entry.done else whole)


@given(case=cases())
def test_left_over_units_go_down_the_ranks(case: Case) -> None:
    steps = recorded(case)[1]
    leftovers = [step for step in steps if isinstance(step, LeftoverStep)]
    assert all(0 < step.granted <= case.unit for step in leftovers)
    for earlier, later in pairwise(leftovers):
        assert (earlier.level, earlier.rank) < (later.level, later.rank)
        if earlier.level == later.level:
            assert earlier.fraction >= later.fraction
            assert (earlier.chosen_by == "order") == (earlier.fraction == later.fraction)
    newest = {
        entry.sibling: entry.remembered
        for step in steps
        if isinstance(step, RoundStep)
        for entry in step.entries
    }
    assert all(newest[step.sibling] == step.fraction for step in leftovers)


def test_a_division_in_full() -> None:
    """8 * (2, 1, 2, 1)/6, then 2 * (2, 1, 1)/4, then one unit by the older fraction of 2/3."""
    requests = [50, 50, 2, 50]
    claims = [
        Claim(guaranteed=0, ceiling=None, weight=weight, requested=request)
        for weight, request in zip([2, 1, 2, 1], requests, strict=True)
    ]
    steps: list[DivisionStep] = []
    divide(8, claims, [range(4)], unit=1, k=Fraction(0), steps=steps)
    third = Fraction(1, 3)
    half = Fraction(1, 2)
    assert steps == [
        GuaranteeStep(amount=8, requestable=(50, 50, 2, 50), granted=(0,) * 4, remaining=8),
        RoundStep(
            level=0,
            number=1,
            remaining=8,
            weight_total=6,
            share_weight_total=6,
            entries=(
                _entry(0, 2, need=50, portion=8 * third, granted=2, remembered=2 * third),
                _entry(1, 1, need=50, portion=4 * third, granted=1, remembered=third),
                _entry(2, 2, need=2, portion=8 * third, granted=2, remembered=None),
                _entry(3, 1, need=50, portion=4 * third, granted=1, remembered=third),
            ),
        ),
        RoundStep(
            level=0,
            number=2,
            remaining=2,
            weight_total=4,
            share_weight_total=4,
            entries=(
                _entry(0, 2, need=48, portion=Fraction(1), granted=1, remembered=2 * third),
                _entry(1, 1, need=49, portion=half, granted=0, remembered=half),
                _entry(3, 1, need=49, portion=half, granted=0, remembered=half),
            ),
        ),
        LeftoverStep(
            level=0,
            sibling=0,
            rank=1,
            fraction=2 * third,
            chosen_by="fraction",
            granted=1,
            remaining=0,
        ),
        FinalStep(shares=(4, 1, 2, 1), unclaimed=0),
    ]


def test_equal_fractions_are_told_as_decided_by_order() -> None:
    """5 * (1, 1, 1)/3 = 1 2/3 each: two units for the two oldest, the second before an equal."""
    claim = Claim(guaranteed=0, ceiling=None, weight=1, requested=9)
    steps: list[DivisionStep] = []
    divide(5, [claim] * 3, [[2, 0, 1]], unit=1, k=Fraction(0), steps=steps)
    leftovers = [step for step in steps if isinstance(step, LeftoverStep)]
    assert [(step.sibling, step.rank, step.chosen_by) for step in leftovers] == [
        (2, 1, "order"),
        (0, 2, "order"),
    ]


def test_a_level_that_usage_stops_says_so() -> None:
    """All of the weight, usage 2, k = 1: 1 + (1 - 2) = 0, so the round divides nothing."""
    claim = Claim(guaranteed=0, ceiling=None, weight=3, requested=9, usage_e9=2 * 10**9)
    steps: list[DivisionStep] = []
    divide(5, [claim], [[0]], unit=1, k=Fraction(1), steps=steps)
    nothing = RoundEntry(
        sibling=0,
        weight=3,
        share_weight=0,
        need=9,
        portion=Fraction(0),
        granted=0,
        done=False,
        remembered=None,
    )
    assert steps[1:] == [
        RoundStep(
            level=0,
            number=1,
            remaining=5,
            weight_total=3,
            share_weight_total=0,
            entries=(nothing,),
        ),
        FinalStep(shares=(0,), unclaimed=5),
    ]


def _entry(
    sibling: int,
    weight: int,
    *,
    need: int,
    portion: Fraction,
    granted: int,
    remembered: Fraction | None,
) -> RoundEntry:
    return RoundEntry(
        sibling=sibling,
        weight=weight,
        share_weight=weight,
        need=need,
        portion=portion,
        granted=granted,
        done=granted == need,
        remembered=remembered,
    )
