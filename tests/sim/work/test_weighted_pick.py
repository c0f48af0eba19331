"""Drawing by weight, at the very edges between one and the next."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.work.number import picking, whole_weights

STEP = 2.0**-53  # between one number of random() and the next


class Told(Random):
    """Chance that is told what to say."""

    said: float = 0.0

    def random(self) -> float:
        return self.said


def picked(weights: list[int | Decimal], said: float) -> int:
    stream = Told()
    stream.said = said
    return picking(range(len(weights)), weights, stream)()


@pytest.mark.parametrize(
    ("weights", "said", "place"),
    [
        ([1, 1], 0.0, 0),
        ([1, 1], 0.5 - STEP, 0),
        ([1, 1], 0.5, 1),  # the edge belongs to the second
        ([1, 1], 1.0 - STEP, 1),
        ([0, 1, 0], 0.0, 1),  # what weighs nothing is not drawn, even at the edge
        ([0, 1, 0], 1.0 - STEP, 1),
        ([1, 0, 1], 0.5, 2),
        ([Decimal("0.75"), Decimal("0.25")], 0.75 - STEP, 0),
        ([Decimal("0.75"), Decimal("0.25")], 0.75, 1),
    ],
)
def test_edges(weights: list[int | Decimal], said: float, place: int) -> None:
    assert picked(weights, said) == place


@given(
    weights=st.lists(st.integers(0, 10**20), min_size=2, max_size=9).filter(any),
    steps=st.integers(0, 2**53 - 1),
)
def test_the_fast_pick_equals_a_walk_in_whole_numbers(
    weights: list[int | Decimal], steps: int
) -> None:
    """Walks until more than the drawn part of all weights lies behind."""
    behind: int | Decimal = 0
    place = -1
    while behind * 2**53 <= steps * sum(weights):
        place += 1
        behind += weights[place]
    assert picked(weights, steps / 2**53) == place


def test_one_alone_is_not_drawn_for() -> None:
    stream = Random(1)
    assert picking(["only"], [Decimal("0.1")], stream)() == "only"
    assert stream.random() == Random(1).random()


def test_weights_become_whole_in_proportion() -> None:
    assert whole_weights([Decimal("0.8"), Decimal("0.15"), 2]) == [16, 3, 40]
