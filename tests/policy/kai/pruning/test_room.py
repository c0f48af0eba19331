"""How many places there may be at most, counted by amounts alone.

Pods ask for cpu and GPUs. Nodes: *idle* has 1 cpu and 2 GPUs free and may be looked at; *full* has
1 cpu free and may be looked at once somebody leaves it; *gone* is known to nobody.
"""

import pytest

from fairlead.model.axes import Amounts
from fairlead.policy.kai.pruning.room import RoomBound
from tests.policy.kai.rooms import rooms_with

FREE: dict[str, Amounts] = {"idle": (1, 2), "full": (1, 0)}
ONE_GPU: Amounts = (0, 1)
TWO_GPUS: Amounts = (0, 2)
NOTHING: Amounts = (0, 0)


def bound(*sizes: Amounts) -> RoomBound:
    rooms = rooms_with(FREE)
    made = RoomBound(sizes, rooms, base=["idle"])
    made.learn(rooms, ["full", "gone"])
    return made


@pytest.mark.parametrize(
    ("count", "need"),
    [
        (1, (-1, -1)),  # one place wanted of the 2 for small ones; none of the 1 for large ones
        (2, (0, -1)),
        (3, (1, -1)),
        (4, (1, 0)),
    ],
)
def test_so_many_places_are_lacking_for_the_first_pods(count: int, need: tuple[int, int]) -> None:
    assert bound(ONE_GPU, ONE_GPU, ONE_GPU, TWO_GPUS).lacking(count) == need


@pytest.mark.parametrize(
    ("more", "is_allowed"),
    [
        ({}, False),
        ({"full": (0, 1)}, False),  # 0 + 1 of 2
        ({"idle": (0, 1)}, False),  # 2 + 1: still one place, and that is counted already
        ({"idle": (0, 2)}, True),  # 2 + 2: a second place
        ({"full": (0, 1), "idle": (0, 2)}, True),
        ({"gone": (8, 8)}, False),
    ],
)
def test_what_leaves_must_make_the_places_that_are_lacking(
    more: dict[str, Amounts], is_allowed: bool
) -> None:
    """Two pods of two GPUs want two places; there is one, so one is lacking."""
    made = bound(TWO_GPUS, TWO_GPUS)
    assert made.lacking(2) == (1,)
    assert made.allows(made.lacking(2), more) is is_allowed


def test_what_is_kept_is_room_from_then_on_and_no_gain_again() -> None:
    made = bound(TWO_GPUS, TWO_GPUS, TWO_GPUS)
    made.keep([("full", ONE_GPU), ("full", ONE_GPU)])
    assert made.lacking(3) == (1,)  # a place on each node
    assert not made.allows(made.lacking(3), {"full": ONE_GPU})  # 2 + 1
    assert made.allows(made.lacking(3), {"full": TWO_GPUS})  # 2 + 2
    made.unkeep([("full", ONE_GPU)])
    assert made.lacking(3) == (2,)
    assert made.allows((1,), {"full": ONE_GPU})  # 1 + 1


def test_a_node_may_be_looked_at_though_its_victim_held_nothing() -> None:
    """Pods that ask for a cpu: one fits each node; *full* counts while somebody has left it."""
    made = bound((1, 0), (1, 0))
    assert made.lacking(2) == (1,)
    made.keep([("full", NOTHING)])
    assert made.lacking(2) == (0,)
    made.unkeep([("full", NOTHING)])
    assert made.lacking(2) == (1,)


def test_pods_that_ask_for_nothing_find_a_place_on_any_node() -> None:
    assert bound(NOTHING, NOTHING).lacking(2) == (0,)
