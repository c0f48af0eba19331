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
from fairlead.model.workload import numbered_pod
from fairlead.placement.node_index import Growth, NodeIndex
from tests.model.worlds import node, queue, started, state_with, workload

POD = numbered_pod("main", 0)


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
    assert index.grown_since(before) is None  # by amounts alone it is the same


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


def test_it_is_told_by_how_much_nodes_grew() -> None:
    """Nodes of 8 cpu and 8 GPUs, of which a job holds 1 and 1, the other 2 and 3."""
    jobs = [workload("one", "team"), workload("two", "team", cpu=2000, gpu=3000)]
    state = state_with(queue("team"), node("n1"), node("n2"), *jobs)
    state.apply(started("one", "n1"))
    state.apply(started("two", "n2"))
    index = NodeIndex(state, spread_gpus=False, spread_cpus=False)
    begin = index.growth()
    state.apply(WorkloadStopped(workload=WorkloadName("one"), pods=(POD,)))
    middle = index.growth()
    state.apply(WorkloadStopped(workload=WorkloadName("two"), pods=(POD,)))
    one, two = Growth((7000, 7000), (8000, 8000)), Growth((6000, 5000), (8000, 8000))
    assert index.grown_since(begin) == [two, one]
    assert index.grown_since(middle) == [two]
    assert index.grown_since(index.growth()) == []
    state.apply(NodeAdded(node("n3")))
    assert index.grown_since(middle) is None
