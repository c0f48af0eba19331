"""The node that the index finds is the one that looking at every node finds, whatever happens."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.device_share import SHARED_GPU
from fairlead.model.invariants import check_invariants
from fairlead.model.node import Node
from fairlead.model.workload import PodSet, Workload
from fairlead.placement.find_node import NodeFinder, Spot
from fairlead.placement.node_index import NodeIndex
from tests.placement.plain_search import (
    DEVICE,
    PODS_AROUND,
    WHOLE,
    PlainRoom,
    Rules,
    plain_defect,
    plain_find,
)
from tests.placement.search_world import RESOURCES, SearchWorld, Step, nodes, pod_sets, rules, steps


def finder_of(world: SearchWorld, chosen: Rules) -> NodeFinder:
    index = NodeIndex(world.state, spread_gpus=chosen.spread_gpus, spread_cpus=chosen.spread_cpus)
    return NodeFinder(world.state, index, chosen.devices)


worlds = st.builds(
    SearchWorld,
    st.lists(nodes, min_size=2, max_size=8, unique_by=lambda node: node.name),
    st.lists(pod_sets, min_size=2, max_size=6),
)


def reasons(finder: NodeFinder, workload: Workload) -> Counter[str]:
    """Return the tallies, with one text for all that the pods around have against a node."""
    found: Counter[str] = Counter()
    for tally in finder.tallies(workload, 0):
        is_around = "pod affinity" in tally.what or "anti-affinity" in tally.what
        found[PODS_AROUND if is_around else tally.what] += tally.count
    return found


@settings(max_examples=150)
@given(worlds, rules, st.lists(steps, max_size=25))
def test_the_search_equals_looking_at_every_node_after_every_step(
    world: SearchWorld, chosen: Rules, given_steps: list[Step]
) -> None:
    finder = finder_of(world, chosen)
    for step in given_steps:
        if step.verb == "place":
            workload = world.asked(step)
            pod, spot = world.waiting(workload), finder.find(workload, 0)
            if pod is not None and spot is not None:
                world.take(workload, pod, spot)
        else:
            world.happen(step)
        for each in world.state.workloads.values():
            assert finder.find(each, 0) == plain_find(world.state, each, 0, chosen)
    check_invariants(world.state)


@settings(max_examples=60)
@given(worlds, rules, st.lists(steps, max_size=15))
def test_the_tallies_count_every_node_once_and_say_why(
    world: SearchWorld, chosen: Rules, given_steps: list[Step]
) -> None:
    finder = finder_of(world, chosen)
    for step in given_steps:
        world.happen(step)
        workload = world.asked(step)
        pod, spot = world.waiting(workload), finder.find(workload, 0)
        if pod is not None and spot is not None:
            world.take(workload, pod, spot)
        state = world.state
        plain = Counter(
            plain_defect(state, workload, 0, node) or "have room" for node in state.nodes.values()
        )
        assert reasons(finder, workload) == plain
        tallies = finder.tallies(workload, 0)
        assert all(tally.of == len(state.nodes) for tally in tallies)
        assert sum(tally.count for tally in tallies) == len(state.nodes)
        assert list(tallies) == sorted(tallies, key=lambda each: (-each.count, each.what))
        has_room = any(tally.what == "have room" for tally in tallies)
        assert has_room == (finder.find(workload, 0) is not None)


def overdrafts(room: PlainRoom) -> Counter[str]:
    """Return by how much each thing of a node is promised beyond what is there, now and later."""
    found: Counter[str] = Counter()
    for when, free in (("now", room.idle), ("later", room.later)):
        found.update({f"{name} {when}": -amount for name, amount in free.items() if amount < 0})
    for when, parts in (("now", room.held_parts), ("later", room.later_parts)):
        over = {f"device {number} {when}": used - WHOLE for number, used in parts.items()}
        found.update({name: amount for name, amount in over.items() if amount > 0})
    return found


@settings(max_examples=150)
@given(worlds, rules, st.lists(steps, max_size=25))
def test_a_pod_that_takes_the_place_found_overcommits_nothing(
    world: SearchWorld, chosen: Rules, given_steps: list[Step]
) -> None:
    """What was overcommitted before, by facts that nobody asked us about, gets no worse."""
    finder = finder_of(world, chosen)
    for step in given_steps:
        world.happen(step)
        workload = world.asked(step)
        pod, spot = world.waiting(workload), finder.find(workload, 0)
        if pod is None or spot is None:
            continue
        node = world.state.nodes[spot.node]
        before = PlainRoom(world.state, node)
        world.take(workload, pod, spot)
        after = PlainRoom(world.state, node)
        assert overdrafts(after) <= overdrafts(before)
        assert_ports_are_free(before, workload.pod_sets[0], spot)
        assert_devices(node, workload.pod_sets[0], spot)


def assert_ports_are_free(before: PlainRoom, asked: PodSet, spot: Spot) -> None:
    taken = before.held_ports if spot.now else before.later_ports
    assert not taken & set(asked.constraints.host_ports)


def assert_devices(node: Node, asked: PodSet, spot: Spot) -> None:
    """Devices are for those who share, as many as they ask for, and each of them once."""
    assert (spot.share is None) == (asked.gpu_share is None)
    if spot.share is not None and asked.gpu_share is not None:
        assert len(set(spot.share.devices)) == asked.gpu_share.devices
        assert 0 < spot.share.part_e9 <= WHOLE
        assert asked.gpu_share.devices * DEVICE <= node.allocatable[RESOURCES.index(SHARED_GPU)]
