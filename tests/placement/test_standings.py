"""What each node is to a pod, and the tallies that count it, are one and the same."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
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
        tallies = {tally.what: tally.count for tally in finder.tallies(workload, 0)}
        assert Counter(standings.values()) == tallies
