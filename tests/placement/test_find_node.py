"""The node that the index finds is the one that looking at every node finds, whatever happens."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import SHARED_GPU, DeviceShare
from fairlead.model.events import NodeAdded, NodeChanged, WorkloadLeaving, WorkloadStopped
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodConstraints, PodSet, Workload, numbered_pod
from fairlead.placement.find_node import NodeFinder, Spot
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from tests.model.invariants import check_invariants
from tests.placement.plain_search import (
    DEVICE,
    PODS_AROUND,
    WHOLE,
    PlainRoom,
    Rules,
    plain_defect,
    plain_find,
    plain_fits_now,
)
from tests.placement.search_world import (
    PODS,
    RESOURCES,
    SearchWorld,
    Step,
    near,
    nodes,
    pod_sets,
    rules,
    steps,
    strangers,
)
from tests.scale_examples import scale_examples


def finder_of(world: SearchWorld, chosen: Rules) -> NodeFinder:
    index = NodeIndex(world.state, spread_gpus=chosen.spread_gpus, spread_cpus=chosen.spread_cpus)
    return NodeFinder(world.state, index, chosen.devices)


worlds = st.builds(
    SearchWorld,
    st.lists(nodes, min_size=2, max_size=8, unique_by=lambda node: node.name),
    st.lists(pod_sets, min_size=2, max_size=6),
    st.lists(strangers, max_size=3),
)


def reasons(finder: NodeFinder, workload: Workload) -> Counter[str]:
    """Return the tallies, with one text for all that the pods around have against a node."""
    found: Counter[str] = Counter()
    for tally in finder.tallies(workload, 0):
        if tally.things == "nodes":
            is_around = any(
                word in tally.what for word in ("affinity", "maxSkew", "topology spread")
            )
            is_around &= tally.what != "do not match the node affinity"
            found[PODS_AROUND if is_around else tally.what] += tally.count
    return found


def plain_reason(state: ClusterState, workload: Workload, node: Node) -> str:
    defect = plain_defect(state, workload, 0, node)
    if defect is not None:
        return defect
    is_now = plain_fits_now(state, workload, 0, node)
    return "have room" if is_now else "have room once others have left"


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(100))
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


@settings(max_examples=scale_examples(60))
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
        plain = Counter(plain_reason(state, workload, node) for node in state.nodes.values())
        assert reasons(finder, workload) == plain
        tallies = [tally for tally in finder.tallies(workload, 0) if tally.things == "nodes"]
        assert all(tally.of == len(state.nodes) for tally in tallies)
        assert sum(tally.count for tally in tallies) == len(state.nodes)
        assert tallies == sorted(tallies, key=lambda each: (-each.count, each.what))
        found = finder.find(workload, 0)
        assert any(tally.what.startswith("have room") for tally in tallies) == (found is not None)
        if workload.pod_sets[0].gpu_share is None:
            is_now = found is not None and found.now
            assert any(tally.what == "have room" for tally in tallies) == is_now


def overdrafts(room: PlainRoom) -> Counter[str]:
    """Return by how much each thing of a node is promised beyond what is there, now and later."""
    found: Counter[str] = Counter()
    for when, free in (("now", room.idle), ("later", room.later)):
        found.update({f"{name} {when}": -amount for name, amount in free.items() if amount < 0})
    for when, parts in (("now", room.held_parts), ("later", room.later_parts)):
        over = {f"device {number} {when}": used - WHOLE for number, used in parts.items()}
        found.update({name: amount for name, amount in over.items() if amount > 0})
    return found


@settings(max_examples=scale_examples(100))
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


PACK = Rules(spread_gpus=False, spread_cpus=False, devices=DeviceRule(False, False))


def machine(name: str, *, cpu: int = 2000, gpu: int = 0) -> Node:
    return Node(name=name, allocatable=(cpu, 4, gpu, 0))


def pods(*, cpu: int = 0, gpu: int = 0, port: int = 0, part: int = 0) -> PodSet:
    return PodSet(
        name="main",
        count=PODS,
        min_count=1,
        requests=(cpu, 0, gpu or part, 0),
        constraints=PodConstraints(host_ports=(("TCP", port),) if port else ()),
        gpu_share=GpuShare(thousandths=part) if part else None,
    )


def named(world: SearchWorld, name: str) -> Workload:
    return world.state.workloads[WorkloadName(name)]


def leave(world: SearchWorld, name: str, ordinal: int = 0) -> None:
    world.state.apply(
        WorkloadLeaving(workload=WorkloadName(name), pods=(numbered_pod("main", ordinal),))
    )


def test_what_a_trial_took_is_found_again_after_it() -> None:
    world = SearchWorld([machine("n0")], [pods(cpu=2000)])
    finder, asked = finder_of(world, PACK), named(world, "w0")
    with world.state.trial():
        world.take(asked, numbered_pod("main", 0), Spot("n0", None, True))
        assert finder.find(asked, 0) is None
    assert finder.find(asked, 0) == Spot("n0", None, True)


def test_a_node_that_lost_its_gpus_is_one_without() -> None:
    """A pod without GPUs prefers n1 while n0 has some, and n0 by name when both have none."""
    world = SearchWorld([machine("n0", gpu=1000), machine("n1")], [pods(cpu=500), pods(gpu=1000)])
    finder = finder_of(world, PACK)
    assert finder.find(named(world, "w0"), 0) == Spot("n1", None, True)
    assert finder.find(named(world, "w1"), 0) == Spot("n0", None, True)
    world.state.apply(NodeChanged(machine("n0")))
    assert finder.find(named(world, "w0"), 0) == Spot("n0", None, True)
    assert finder.find(named(world, "w1"), 0) is None
    world.state.apply(NodeChanged(machine("n0", gpu=1000)))
    assert finder.find(named(world, "w0"), 0) == Spot("n1", None, True)


def test_a_port_that_is_being_left_makes_a_pod_wait_unless_another_node_has_it_free() -> None:
    world = SearchWorld([machine("n0")], [pods(port=80), pods(port=80)])
    finder, asked = finder_of(world, PACK), named(world, "w1")
    world.take(named(world, "w0"), numbered_pod("main", 0), Spot("n0", None, True))
    assert finder.find(asked, 0) is None
    leave(world, "w0")
    assert finder.find(asked, 0) == Spot("n0", None, False)
    world.state.apply(NodeAdded(machine("n1")))
    assert finder.find(asked, 0) == Spot("n1", None, True)


@pytest.mark.parametrize(("wait_to_pack", "device"), [(True, 0), (False, 1)])
def test_a_share_waits_for_the_fuller_device_only_under_that_rule(
    wait_to_pack: bool, device: int
) -> None:
    """Of device 0 half stays and a quarter leaves, so half of it is free later, a quarter now."""
    world = SearchWorld([machine("n0", gpu=2000)], [pods(part=500), pods(part=250)])
    rule = DeviceRule(spread=False, wait_to_pack=wait_to_pack)
    finder = finder_of(world, PACK._replace(devices=rule))
    for name, part in (("w0", 500), ("w1", 250)):
        share = DeviceShare(devices=(0,), part_e9=part * WHOLE // 1000)
        world.take(named(world, name), numbered_pod("main", 0), Spot("n0", share, True))
    leave(world, "w1")
    half = DeviceShare(devices=(device,), part_e9=WHOLE // 2)
    assert finder.find(named(world, "w0"), 0) == Spot("n0", half, not wait_to_pack)


def in_zone(name: str, *, cpu: int = 2000, zone: str = "a") -> Node:
    return msgspec.structs.replace(machine(name, cpu=cpu), labels={"zone": zone})


def app(name: str, *, cpu: int = 0, wants: str = "", avoids: str = "") -> PodSet:
    """Return pods with a label, and an app to be in one zone with, or in none."""
    where = PodConstraints(
        pod_affinity=(near(wants),) if wants else (),
        pod_anti_affinity=(near(avoids),) if avoids else (),
    )
    return msgspec.structs.replace(pods(cpu=cpu), labels=(("app", name),), constraints=where)


def when_room(finder: NodeFinder, workload: Workload) -> dict[str, int]:
    return {tally.what: tally.count for tally in finder.tallies(workload, 0)}


def test_who_needs_a_neighbour_waits_for_one_that_is_only_reserved() -> None:
    """The database gets n0, which has 2 cores, when the old pod with 2 cores has left."""
    world = SearchWorld(
        [in_zone("n0"), in_zone("n1", cpu=500)],
        [pods(cpu=2000), app("db", cpu=2000), app("web", cpu=500, wants="db")],
    )
    finder, database, web = finder_of(world, PACK), named(world, "w1"), named(world, "w2")
    world.take(named(world, "w0"), numbered_pod("main", 0), Spot("n0", None, True))
    leave(world, "w0")
    assert finder.find(web, 0) is None
    world.take(database, numbered_pod("main", 0), Spot("n0", None, False))
    assert finder.find(web, 0) == Spot("n1", None, False)
    assert when_room(finder, web) == {"lack cpu": 1, "have room once others have left": 1}
    world.state.apply(WorkloadStopped(workload=database.name, pods=(numbered_pod("main", 0),)))
    world.take(database, numbered_pod("main", 0), Spot("n0", None, True))
    assert finder.find(web, 0) == Spot("n1", None, True)
    assert when_room(finder, web) == {"lack cpu": 1, "have room": 1}


def test_nobody_is_promised_a_place_beside_a_neighbour_that_is_leaving() -> None:
    world = SearchWorld([in_zone("n0")], [app("db"), app("web", wants="db")])
    finder, web = finder_of(world, PACK), named(world, "w1")
    world.take(named(world, "w0"), numbered_pod("main", 0), Spot("n0", None, True))
    assert finder.find(web, 0) == Spot("n0", None, True)
    leave(world, "w0")
    assert finder.find(web, 0) is None
    assert when_room(finder, web) == {"are in no zone with a pod that the pod affinity asks for": 1}


@pytest.mark.parametrize("is_newcomer_shy", [True, False])
def test_who_must_be_apart_from_a_pod_that_is_leaving_waits_for_it(is_newcomer_shy: bool) -> None:
    """Whichever of the two pods has the anti-affinity."""
    old, new = app("b"), app("a", avoids="b")
    there, asked = (old, new) if is_newcomer_shy else (new, old)
    world = SearchWorld([in_zone("n0")], [there, asked])
    finder, newcomer = finder_of(world, PACK), named(world, "w1")
    world.take(named(world, "w0"), numbered_pod("main", 0), Spot("n0", None, True))
    assert finder.find(newcomer, 0) is None
    leave(world, "w0")
    assert finder.find(newcomer, 0) == Spot("n0", None, False)
    assert when_room(finder, newcomer) == {"have room once others have left": 1}
    world.state.apply(NodeAdded(in_zone("n1", zone="b")))
    assert finder.find(newcomer, 0) == Spot("n1", None, True)


def test_one_of_a_kind_on_its_way_out_holds_the_next_only_until_it_has_left() -> None:
    """Now the next must be in zone a, where there is no room; later it is the first anywhere."""
    world = SearchWorld(
        [in_zone("n0", cpu=500), in_zone("n1", zone="b")],
        [app("a", cpu=500), app("a", cpu=1000, wants="a")],
    )
    finder, asked = finder_of(world, PACK), named(world, "w1")
    world.take(named(world, "w0"), numbered_pod("main", 0), Spot("n0", None, True))
    assert finder.find(asked, 0) is None
    leave(world, "w0")
    assert finder.find(asked, 0) == Spot("n1", None, False)
    world.state.apply(WorkloadStopped(workload=WorkloadName("w0"), pods=(numbered_pod("main", 0),)))
    assert finder.find(asked, 0) == Spot("n1", None, True)
