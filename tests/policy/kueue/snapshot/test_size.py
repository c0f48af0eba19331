"""How large an admitted workload is on its dominant resource."""

import pytest

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.policy.kueue.snapshot.size import WorkloadSizes
from fairlead.policy.kueue.workloads import Usage
from tests.policy.kueue.plan_world import cluster

SMALLEST_FIRST = KueueSettings(options=KueueOptions(smallest_first=True))
# Axes: 0 red cpu, 1 red gpu, 2 blue cpu, 3 blue gpu. The tree of LAB has 40 cpu and 8 gpu.
TWO_TREES = """
    name  parent quota
    LAB   -      0,0,0,0
    a     LAB    10,4,10,0
    b     LAB    10,0,10,4
    alone -      0,0,2,0
"""


@pytest.mark.parametrize(
    ("queue", "usage", "size"),
    [
        ("a", ((0, 10),), 0.25),  # 10 of 40 cpu
        ("a", ((0, 4), (1, 2)), 0.25),  # cpu 4 of 40 < gpu 2 of 8
        ("b", ((1, 1), (3, 3)), 0.5),  # of both flavors together 4 of 8 gpu
        ("alone", ((2, 1),), 0.5),  # 1 of 2 in its own tree
        ("alone", ((3, 3),), 3.0),  # of a resource without quota
        ("a", (), 0.0),
    ],
)
def test_the_dominant_resource_is_the_size(queue: str, usage: Usage, size: float) -> None:
    state = cluster(TWO_TREES, groups="cpu,gpu:red,blue")
    assert WorkloadSizes(state, SMALLEST_FIRST).of(QueueName(queue), usage) == size
    assert WorkloadSizes(state, KueueSettings()).of(QueueName(queue), usage) == 0
