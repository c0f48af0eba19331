"""A node that may have more room than before is told, so that nobody is refused from memory."""

from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.events import (
    NodeAdded,
    NodeRemoved,
    Placement,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.workload import PodId
from fairlead.placement.node_index import NodeIndex
from tests.model.worlds import node, queue, state_with, workload

POD = PodId(0, 0)


def test_part_of_a_device_that_is_given_back_is_more_room() -> None:
    """Both share one device and ask for nothing else, so no sum of the node grows."""
    names = [WorkloadName("one"), WorkloadName("two")]
    jobs = [workload(name, "team", cpu=0, gpu=300) for name in names]
    state = state_with(queue("team"), node("n1"), *jobs)
    share = DeviceShare(devices=(0,), part_e9=WHOLE_DEVICE_E9 * 3 // 10)
    for name in names:
        place = (Placement(POD, "n1", share),)
        state.apply(WorkloadStarted(workload=name, placements=place, at_ms=0))
    index = NodeIndex(state, spread_gpus=False, spread_cpus=False)
    before = index.growth()
    state.apply(WorkloadStopped(workload=names[0], pods=(POD,)))
    assert index.growth() > before


def test_nodes_that_came_and_went_are_forgotten() -> None:
    state = state_with(queue("team"), node("n1"))
    index = NodeIndex(state, spread_gpus=False, spread_cpus=False)
    index.growth()
    for number in range(5):
        state.apply(NodeAdded(node(f"later{number}")))
        index.growth()
        state.apply(NodeRemoved(f"later{number}"))
        index.growth()
    assert index._unsorted.keys() == {"n1"}
