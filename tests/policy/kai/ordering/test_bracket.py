"""The winner of the bracket is known at all times, and at the cost of one way to the final."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.policy.kai.ordering.tournament import Bracket

HANDS = ("rock", "paper", "scissors")


def beats(one: str, other: str) -> bool:
    """Paper wraps rock, scissors cut paper, rock breaks scissors; equal hands do not beat."""
    return (HANDS.index(one) - HANDS.index(other)) % 3 == 1


def winner_of(hands: Sequence[str | None]) -> int | None:
    bracket = Bracket(len(hands), beats)
    for place, hand in enumerate(hands):
        bracket.enter(place, hand)
    return bracket.winner()


# (0 1) (2 3): the winners of the pairs meet; r, p, s are hands and - is an empty place
BRACKETS = """
    hands  winner  why
    -      none    nobody_is_in_the_race
    r      0       alone
    rp     1       paper_wraps_rock
    rps    2       paper_beats_rock_and_then_scissors_cut_paper
    srp    2       rock_breaks_scissors_and_then_paper_wraps_rock
    r-ps   0       scissors_cut_paper_and_then_rock_breaks_scissors
    --sr   3       only_one_half_is_in_the_race
    rrrr   0       where_neither_beats_the_other_the_left_one_goes_on
    rrp    2       one_without_a_neighbour_goes_on_unplayed
    rspp-  2       rock_breaks_scissors_and_then_the_left_paper_wraps_rock
"""


@pytest.mark.parametrize("line", BRACKETS.strip().splitlines()[1:], ids=str.split)
def test_neighbours_meet_and_the_winner_goes_on(line: str) -> None:
    hands, winner, _ = line.split()
    entrants = [next((hand for hand in HANDS if hand[0] == letter), None) for letter in hands]
    assert winner_of(entrants) == (None if winner == "none" else int(winner))


def test_a_bracket_without_places_has_no_winner() -> None:
    assert Bracket[str](0, beats).winner() is None


def test_an_entrant_that_leaves_is_followed_by_the_one_it_had_beaten() -> None:
    bracket = Bracket(3, beats)
    for place, hand in enumerate(["rock", "paper", "paper"]):
        bracket.enter(place, hand)
    assert bracket.winner() == 1
    bracket.enter(1, None)
    assert bracket.winner() == 2  # rock goes on unplayed and loses to the other paper
    bracket.enter(2, None)
    assert bracket.winner() == 0


hands = st.none() | st.sampled_from(HANDS)


@given(st.integers(1, 20), st.lists(st.tuples(st.integers(0, 19), hands), max_size=40))
def test_the_winner_is_that_of_the_bracket_played_anew(
    size: int, moves: list[tuple[int, str | None]]
) -> None:
    bracket = Bracket(size, beats)
    entrants: list[str | None] = [None] * size
    for place, hand in moves:
        place %= size
        bracket.enter(place, hand)
        entrants[place] = hand
        assert bracket.winner() == played_anew(entrants)


@given(st.lists(hands, min_size=1, max_size=20), st.lists(hands, min_size=1, max_size=20))
def test_all_may_enter_at_once(before: list[str | None], entrants: list[str | None]) -> None:
    bracket = Bracket(len(entrants), beats)
    for place, hand in enumerate(before[: len(entrants)]):
        bracket.enter(place, hand)
    bracket.enter_all(entrants)
    assert bracket.winner() == played_anew(entrants)
    bracket.enter(0, None)
    assert bracket.winner() == played_anew([None, *entrants[1:]])


def played_anew(entrants: Sequence[str | None]) -> int | None:
    """Round after round, with every match of it."""
    width = 1
    while width < len(entrants):
        width *= 2
    left: list[tuple[int, str] | None] = [
        None if hand is None else (place, hand) for place, hand in enumerate(entrants)
    ]
    left += [None] * (width - len(left))
    while len(left) > 1:
        left = [match(one, other) for one, other in zip(left[::2], left[1::2], strict=True)]
    return None if left[0] is None else left[0][0]


def match(one: tuple[int, str] | None, other: tuple[int, str] | None) -> tuple[int, str] | None:
    if one is None or other is None:
        return one or other
    return other if beats(other[1], one[1]) else one


@given(st.lists(st.integers(), min_size=1, max_size=40))
def test_where_the_comparison_is_an_order_the_winner_is_its_first(numbers: list[int]) -> None:
    bracket = Bracket(len(numbers), int.__lt__)
    for place, number in enumerate(numbers):
        bracket.enter(place, number)
    assert bracket.winner() == numbers.index(min(numbers))


@given(st.lists(hands, min_size=1, max_size=40), st.integers(0, 39), hands)
def test_a_change_plays_no_more_than_one_way_to_the_final(
    entrants: list[str | None], place: int, hand: str | None
) -> None:
    played = 0

    def counted(one: str, other: str) -> bool:
        nonlocal played
        played += 1
        return beats(one, other)

    bracket = Bracket(len(entrants), counted)
    for at, each in enumerate(entrants):
        bracket.enter(at, each)
    played = 0
    bracket.enter(place % len(entrants), hand)
    assert 2 ** (played - 1) < len(entrants)  # at most log2 of the size, rounded up
