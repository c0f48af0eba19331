"""How many places there may be at most if all moved pods stay, by amounts alone.

Pods ask for cpu and GPUs. Nodes: *half* has 4 of its 8 GPUs free, *full* none, *gone* is not
known. The preemptor may look at *half*, and at *full* where a pod leaves it.
"""

import pytest

from fairlead.model.axes import Amounts
from fairlead.policy.kai.pruning.moves import MovablePod, MoveBound
from tests.policy.kai.rooms import rooms_with

FREE: dict[str, Amounts] = {"half": (8, 4), "full": (8, 0)}
ROOMS = rooms_with(FREE)


def movable(node: str, gpus: int) -> MovablePod:
    return MovablePod(node, freed=(0, gpus), asked=(0, gpus))


@pytest.mark.parametrize(
    ("gpus", "evicted_pods", "is_allowed"),
    [
        ([4], [], True),  # as it is
        ([4, 4], [], False),
        ([8], [("full", 8)], False),  # 1 place, which the moved pod needs as well
        ([8], [("half", 4)], False),  # 1 place of 8, but 2 of 4 for 2 + 1
        ([8], [("full", 4), ("full", 4)], False),  # 1 place of 8, but 1 + 2 of 4 for 2 + 1 + 1
        ([4], [("full", 4)], True),  # 1 + 1 places for 1 + 1
        ([4], [("full", 3)], True),  # 1 + 0 of 4 for 1 + 0, and 1 + 1 of 3 for 1 + 1
        ([4, 4], [("full", 4), ("full", 4)], False),  # 1 + 2 places for 2 + 2 pods
        ([4, 4], [("full", 3), ("full", 1)], False),  # 1 + 1 of 4 for 2, but 4 + 4 of 1 for 8 + 4
        ([2, 4], [], False),  # 2 places for pods of 2, and the larger takes two of them
        ([4], [("gone", 8)], True),  # nothing is won there, and nothing is asked for
        ([8], [("gone", 8)], False),
        ([0], [], True),
    ],
)
def test_a_moved_pod_takes_as_many_places_again(
    gpus: list[int], evicted_pods: list[tuple[str, int]], *, is_allowed: bool
) -> None:
    bound = MoveBound(ROOMS, [movable(*each) for each in evicted_pods])
    assert bound.allows([(0, each) for each in gpus], {"half"}) is is_allowed


def test_the_scarcest_resource_counts() -> None:
    bound = MoveBound(ROOMS, [])
    assert bound.allows([(4, 1), (4, 1)], {"half"})
    assert not bound.allows([(4, 1)] * 3, {"half"})  # 8 cpu // 4 = 2, 4 GPUs // 1 = 4


def test_nothing_is_denied_where_the_victims_are_not_certain() -> None:
    assert MoveBound(ROOMS, None).allows([(0, 100)], {"half"})


def test_where_a_preemptor_may_look_counts_also_for_the_same_sizes() -> None:
    """Pods with a part of a GPU look at nodes with GPUs alone; both nodes have 8 cpu."""
    bound = MoveBound(ROOMS, [])
    assert not bound.allows([(8, 0), (8, 0)], {"half"})
    assert bound.allows([(8, 0), (8, 0)], {"half", "full"})
    assert not bound.allows([(8, 0), (8, 0)], {"half"})
