"""What each node is to a pod, and the tallies that count nodes, are one and the same."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import ForeignPodChanged, NodeAdded
from fairlead.model.node import ForeignPod, Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodId, PodSet, PodSets, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from tests.placement.plain_search import Rules
from tests.placement.search_world import SearchWorld, Step, nodes, pod_sets, rules, steps
from tests.scale_examples import scale_examples

worlds = st.builds(
    SearchWorld,
    st.lists(nodes, min_size=2, max_size=6, unique_by=lambda node: node.name),
    st.lists(pod_sets, min_size=2, max_size=4),
)


@settings(max_examples=scale_examples(40))
@given(worlds, rules, st.lists(steps, max_size=10))
def test_the_tallies_count_the_standings(
    world: SearchWorld, chosen: Rules, given_steps: list[Step]
) -> None:
    state = world.state
    index = NodeIndex(state, spread_gpus=chosen.spread_gpus, spread_cpus=chosen.spread_cpus)
    finder = NodeFinder(state, index, chosen.devices)
    for step in given_steps:
        world.happen(step)
        workload = world.asked(step)
        pod, spot = world.waiting(workload), finder.find(workload, 0)
        if pod is not None and spot is not None:
            world.take(workload, pod, spot)
        standings = finder.standings(workload, 0)
        assert standings.keys() == state.nodes.keys()
        tallies = [each for each in finder.tallies(workload, 0) if each.things == "nodes"]
        assert Counter(standings.values()) == {each.what: each.count for each in tallies}


def test_a_node_without_gpus_is_told_from_one_whose_gpus_are_taken() -> None:
    """Both have 0 GPUs left; 1 - 1 of them are those of the second."""
    resources = ("nvidia.com/gpu",)
    state = ClusterState(resources, QuotaAxes([Axis("gpu")]))
    taken = ForeignPod(id=PodId("f"), name="ns/f", node="full", requests=(1000,))
    state.apply(ForeignPodChanged(taken))
    for name, gpus in (("none", 0), ("full", 1000)):
        state.apply(NodeAdded(Node(name=name, allocatable=(gpus,))))
    part = PodSet(
        name="main",
        count=1,
        min_count=1,
        requests=(500,),
        gpu_share=GpuShare(thousandths=500),
    )
    work = Workload(
        name=WorkloadName("w"), queue=QueueName("q"), pod_sets=PodSets((part,)), min_count=1
    )
    index = NodeIndex(state, spread_gpus=False, spread_cpus=False)
    finder = NodeFinder(state, index, DeviceRule(spread=False, wait_to_pack=False))
    assert {each.what: each.count for each in finder.tallies(work, 0)} == {
        "have no GPU": 1,
        "lack 1 GPU with 0.5 free": 1,
    }
