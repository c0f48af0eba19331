"""The line for left-over units: whoever got one stands first, and nobody is missing."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fairlead.explain.kai.division import (
    MOST_SIBLINGS,
    LeftoverRanking,
    Ranked,
    leftover_rankings,
    siblings_shown,
)
from fairlead.fairness.division import Claim, divide
from fairlead.fairness.division_steps import DivisionStep, LeftoverStep, RoundStep

claims = st.builds(
    Claim,
    guaranteed=st.integers(0, 20),
    ceiling=st.none() | st.integers(0, 200),
    weight=st.integers(0, 5),
    requested=st.integers(0, 200),
    usage_e9=st.integers(0, 10**9),
)


def steps_of(amount: int, given_claims: list[Claim], cut: int, k: int) -> list[DivisionStep]:
    """Divide with a unit of 10 and two levels, the first *cut* siblings above the others."""
    places = range(len(given_claims))
    steps: list[DivisionStep] = []
    divide(
        amount,
        given_claims,
        [places[:cut], places[cut:]],
        unit=10,
        k=Fraction(k),
        steps=steps,
    )
    return steps


@given(
    amount=st.integers(0, 500),
    given_claims=st.lists(claims, min_size=1, max_size=8),
    cut=st.integers(0, 8),
    k=st.integers(0, 2),
)
def test_the_line_is_what_the_division_says(
    amount: int, given_claims: list[Claim], cut: int, k: int
) -> None:
    steps = steps_of(amount, given_claims, cut, k)
    gifts = [step for step in steps if isinstance(step, LeftoverStep)]
    rankings = leftover_rankings(steps)
    winners = [each for ranking in rankings for each in ranking.line[: ranking.winners]]
    assert [(each.sibling, each.granted) for each in winners] == [
        (gift.sibling, gift.granted) for gift in gifts
    ]
    for ranking in rankings:
        line = [(-each.fraction, each.sibling) for each in ranking.line]
        assert line == sorted(line)
        assert all(each.granted == 0 for each in ranking.line[ranking.winners :])
        last = [s for s in steps if isinstance(s, RoundStep) and s.level == ranking.level][-1]
        remembering = {entry.sibling for entry in last.entries if entry.remembered}
        assert {each.sibling for each in ranking.line} == remembering
    if gifts:
        levels = {step.level for step in steps if isinstance(step, RoundStep)}
        assert {ranking.level for ranking in rankings} >= {gift.level for gift in gifts}
        assert {ranking.level for ranking in rankings} <= levels


def a_line(*siblings: int, winners: int, level: int = 0) -> LeftoverRanking:
    line = [
        Ranked(sibling=each, fraction=Fraction(1, 2), granted=0, decided_by="order")
        for each in siblings
    ]
    return LeftoverRanking(level=level, line=tuple(line), winners=winners)


def test_itself_its_neighbours_the_last_unit_and_the_largest_are_shown() -> None:
    shares = [0] * 40
    shares[7] = 9
    ranking = a_line(*range(20, 40), winners=10)  # 29 got the last unit
    # itself with its neighbours 37 and 39, 29 with 28 and 30, the largest share 7, then by place
    assert siblings_shown(shares, 38, [ranking]) == {38, 37, 39, 28, 29, 30, 7, 0, 1, 2, 3, 4}


def test_its_own_line_comes_before_the_lines_of_other_priorities() -> None:
    others = [a_line(*range(at, at + 5), winners=3, level=at) for at in range(0, 35, 5)]
    own = a_line(36, 37, 38, 39, winners=1, level=99)
    shown = siblings_shown([0] * 40, 39, [*others, own])
    assert len(shown) == MOST_SIBLINGS
    assert {39, 38, 36, 37} <= shown


def test_nobody_is_left_out_of_a_few() -> None:
    assert siblings_shown([1, 2, 3], 0, []) == {0, 1, 2}


def test_a_line_without_winners_shows_its_first() -> None:
    line = a_line(*range(20, 40), winners=0)
    assert 20 in siblings_shown([0] * 40, 38, [line])
