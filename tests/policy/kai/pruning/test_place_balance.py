"""How many places are too few if all victims come back, by amounts alone.

Pods ask for cpu and GPUs. Nodes: *half* has 4 of its 8 GPUs free, *full* none, *gone* is not
known. The preemptor may look at *half*, and at *full* where a pod leaves it.
"""

from collections.abc import Sequence

import pytest

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.workload import numbered_pod
from fairlead.policy.kai.pruning.room import EvictedPod, PlaceBalance
from fairlead.policy.kai.victims.candidates import VictimGroup
from tests.policy.kai.rooms import rooms_with

FREE: dict[str, Amounts] = {"half": (8, 4), "full": (8, 0)}
ROOMS = rooms_with(FREE)
POD = numbered_pod("main", 0)


def groups(*pods: tuple[str | None, int]) -> tuple[list[VictimGroup], PlaceBalance]:
    """Return a group for each pod that leaves, and the balance for preemptors of 4 GPUs, and 2."""
    made = [
        VictimGroup(
            job=WorkloadName(f"j{at} {gpus}"),
            pods=(POD,),
            costs={},
            nodes={POD: node},
        )
        for at, (node, gpus) in enumerate(pods)
    ]

    def moving(group: VictimGroup) -> Sequence[EvictedPod | None]:
        node, gpus = group.nodes[POD], int(group.job.split()[1])
        return [None if node is None else EvictedPod(node, (0, gpus), (0, gpus))]

    return made, PlaceBalance([(0, 4), (0, 2), (0, 0)], ROOMS, {"half"}, moving)


@pytest.mark.parametrize(
    ("count", "pods", "short"),
    [
        (1, [], [0, 0]),  # 4 free: a place of 4, or two of 2; the 4 takes all
        (2, [], [0, 1]),  # a 2 takes no place of 4, but the third of 2
        (1, [("full", 4)], [0, 0]),  # a place more, which the victim takes again
        (1, [("half", 4)], [0, 0]),
        (1, [("full", 8)], [0, 0]),  # two more, and two taken
        (1, [("full", 2), ("full", 2)], [-1, 0]),  # 2 places of 4 for the preemptor alone
        (2, [("full", 2), ("full", 2)], [-1, 1]),  # 4 places of 2 for 2 + 1 + 1 + 1
        (1, [("full", 3)], [0, 0]),  # no place of 4 more; one of 2, and one taken
        (1, [("gone", 8)], [0, 0]),  # nothing is won there, and nothing is asked for
        (1, [(None, 8)], [0, 0]),  # it held no node
        (3, [], [0, 1]),  # who asks for nothing takes nothing
    ],
)
def test_places_that_are_too_few(
    count: int, pods: list[tuple[str | None, int]], short: list[int]
) -> None:
    leaving, balance = groups(*pods)
    assert balance.short(count, leaving) == short


def test_what_each_pod_takes_again() -> None:
    leaving, balance = groups(("full", 8), ("gone", 8), ("half", 3))
    assert balance.sizes == [(0, 4), (0, 2)]
    assert [balance.taken(each) for each in leaving] == [[(2, 4)], [(0, 0)], [(0, 1)]]
