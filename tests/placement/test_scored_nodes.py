"""Where pods of elastic quotas start: the order kept is that of scoring every node anew."""

from collections.abc import Iterator
from itertools import islice

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import Amounts, Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    NodeAdded,
    NodeChanged,
    Placement,
    WorkloadAdded,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import Node
from fairlead.model.selector import Effect, Taint, Toleration
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    GpuShare,
    PodConstraints,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from fairlead.placement import scored_nodes
from fairlead.placement.find_node import Spot
from fairlead.placement.scored_nodes import KINDS_REMEMBERED, Fill, ScoredNodes, Scoring, node_score
from tests.model.foreign import foreign_pod
from tests.model.invariants import check_invariants
from tests.placement.plain_search import PlainRoom
from tests.placement.search_world import PODS, VERBS, SearchWorld, Step, foreign_pods, rarely
from tests.placement.search_world import RESOURCES as SEARCHED
from tests.scale_examples import scale_examples
from tests.text_table import rows

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods")
GIB = 2**30
MIB = 2**20
FIRST = numbered_pod("main", 0)


def machine(
    name: str, cpu: int = 4000, memory: int = 8 * GIB, gpu: int = 0, taints: tuple[Taint, ...] = ()
) -> Node:
    size = (cpu, memory, gpu, 110)
    return Node(name=name, allocatable=size, taints=taints)


def pods(cpu: int = 1000, memory: int = GIB, gpu: int = 0, *tolerations: Toleration) -> PodSet:
    return PodSet(
        name="main",
        count=1,
        min_count=1,
        requests=(cpu, memory, gpu, 1),
        constraints=PodConstraints(tolerations=tolerations),
    )


class World:
    """A state with nodes, to which pods are started one by one."""

    def __init__(self, *nodes: Node) -> None:
        self.state = ClusterState(RESOURCES, QuotaAxes([Axis("cpu")]))
        self._started = 0
        for node in nodes:
            self.state.apply(NodeAdded(node))

    def add(self, asked: PodSet) -> WorkloadName:
        name = WorkloadName(f"w{self._started}")
        self._started += 1
        workload = Workload(
            name=name, queue=QueueName("q"), pod_sets=PodSets((asked,)), min_count=1
        )
        self.state.apply(WorkloadAdded(workload))
        return name

    def start(self, asked: PodSet, node: str) -> WorkloadName:
        name = self.add(asked)
        places = (Placement(FIRST, node),)
        self.state.apply(WorkloadStarted(workload=name, placements=places, at_ms=0))
        return name

    def order(self, asked: PodSet, scoring: Scoring = "LeastAllocated") -> list[str]:
        return list(ScoredNodes(self.state, scoring).best_first(asked))


# A pod of 1 core and 1 GiB is asked for; nodes have 4 cores and 8 GiB, of which so much is used.
# With it, a: 2/4 and 2/8, b: 1/4 and 3/8, c: 3/4 and 6/8, d: 5/4 does not fit, e: 1/4 and 1/8.
USED = """
    node  cpu  GiB  free          used          even         spread  pack
    a     1    1    (50+75)/2=62  (50+25)/2=37  100-25/2=87  149     124
    b     0    2    (75+62)/2=68  (25+37)/2=31  100-12/2=93  161     124
    c     2    5    (25+25)/2=25  (75+75)/2=75  100          125     175
    d     4    0    -             -             -            -       -
    e     0    0    (75+87)/2=81  (25+12)/2=18  100-12/2=93  174     111
"""


def test_spreading_and_packing_order_nodes_by_the_sum_of_both_scores() -> None:
    """Packing, a and b have 124 points and exactly 125 each, so the name decides."""
    world = World()
    for row in rows(USED):
        taken = (int(row["cpu"]) * 1000, int(row["GiB"]) * GIB, 0, 0)
        world.state.apply(NodeAdded(machine(row["node"])))
        world.state.apply(ForeignPodChanged(foreign_pod(row["node"], row["node"], taken)))
    fitting = [row for row in rows(USED) if row["spread"] != "-"]
    by_spread = sorted(fitting, key=lambda row: (-int(row["spread"]), row["node"]))
    by_pack = sorted(fitting, key=lambda row: (-int(row["pack"]), row["node"]))
    assert world.order(pods()) == [row["node"] for row in by_spread] == ["e", "b", "a", "c"]
    assert world.order(pods(), "MostAllocated") == [row["node"] for row in by_pack]


def test_gpus_count_for_packing_only_and_only_if_asked_for() -> None:
    """With the pod, 2 of 8 GPUs of a are used and 1 of 2 of b; cpu and memory are alike."""
    world = World(machine("a", gpu=8000), machine("b", gpu=2000))
    world.start(pods(gpu=1000), "a")
    world.start(pods(gpu=0), "b")
    assert world.order(pods(gpu=1000)) == ["a", "b"]
    assert world.order(pods(gpu=1000), "MostAllocated") == ["b", "a"]
    assert world.order(pods(gpu=0), "MostAllocated") == ["a", "b"]


def test_slots_for_pods_limit_but_have_no_score() -> None:
    """With the pod, b uses 2 of its 2 slots, but just as much of cpu and memory as a."""
    few = msgspec.structs.replace(machine("b"), allocatable=(8000, 16 * GIB, 0, 2))
    world = World(machine("a"), few)
    world.start(pods(), "b")
    assert world.order(pods(), "MostAllocated") == ["a", "b"]
    world.start(pods(), "b")
    assert world.order(pods(), "MostAllocated") == ["a"]


def test_pods_that_ask_for_nothing_are_taken_to_use_a_little() -> None:
    """On a, two pods count 0.2 cores and 400 MiB; on b, one counts 0.15 cores and 300 MiB."""
    world = World(machine("a"), machine("b"))
    world.start(pods(cpu=150, memory=300 * MIB), "b")
    world.start(pods(cpu=0, memory=0), "a")
    assert world.order(pods(cpu=0, memory=0)) == ["a", "b"]
    world.start(pods(cpu=0, memory=0), "a")
    assert world.order(pods(cpu=0, memory=0)) == ["b", "a"]


def test_a_little_is_assumed_for_who_is_on_its_way_out_but_not_for_a_reservation() -> None:
    """On b, a pod asked for 0.05 cores and 100 MiB: less than what is assumed, more than none."""
    world = World(machine("a"), machine("b"))
    bare = pods(cpu=0, memory=0)
    world.start(pods(cpu=50, memory=100 * MIB), "b")
    name, places = world.add(bare), (Placement(FIRST, "a"),)
    world.state.apply(WorkloadReserved(workload=name, placements=places, at_ms=0))
    assert world.order(bare) == ["a", "b"]
    world.state.apply(WorkloadStopped(workload=name, pods=(FIRST,)))
    world.state.apply(WorkloadStarted(workload=name, placements=places, at_ms=0))
    assert world.order(bare) == ["b", "a"]
    with world.state.trial():
        world.state.apply(WorkloadLeaving(workload=name, pods=(FIRST,)))
        assert world.order(bare) == ["b", "a"]
    world.state.apply(WorkloadDisplaced(workload=name, pods=(FIRST,)))
    assert world.order(bare) == ["b", "a"]


@pytest.mark.parametrize("thing", ["cpu", "memory"])
def test_what_is_assumed_is_a_tenth_of_a_core_and_200_mebibytes(thing: str) -> None:
    """A pod that asks for neither is on a; b is as full where one asked for just that much."""
    for more, order in ((-1, ["b", "a"]), (0, ["a", "b"]), (1, ["a", "b"])):
        world = World(machine("a"), machine("b"))
        asked = {"cpu": 100, "memory": 200 * MIB}
        asked[thing] += more * (1 if thing == "cpu" else MIB)
        world.start(pods(cpu=0, memory=0), "a")
        world.start(pods(cpu=asked["cpu"], memory=asked["memory"]), "b")
        assert world.order(pods(cpu=0, memory=0)) == order


def test_the_balance_has_no_say_for_pods_without_requests() -> None:
    """Free are 49 and 75 of a hundred on a, 61 and 61 on b: the mean is 62 against 61."""
    world = World(machine("a"), machine("b"))
    uneven, even = (1940, 1845 * MIB, 0, 0), (1450, 2930 * MIB, 0, 0)
    world.state.apply(ForeignPodChanged(foreign_pod("x", "a", uneven)))
    world.state.apply(ForeignPodChanged(foreign_pod("y", "b", even)))
    assert world.order(pods(cpu=0, memory=0)) == ["a", "b"]
    assert world.order(pods(cpu=100, memory=200 * MIB)) == ["b", "a"]


def test_who_leaves_holds_its_room_and_a_reservation_holds_none_yet() -> None:
    world = World(machine("a"), machine("b"), machine("c"))
    scored = ScoredNodes(world.state, "LeastAllocated")
    whole = pods(cpu=4000)
    leaver, displaced = world.start(whole, "a"), world.start(whole, "b")
    reserved = world.add(whole)
    places = (Placement(FIRST, "c"),)
    world.state.apply(WorkloadReserved(workload=reserved, placements=places, at_ms=0))
    world.state.apply(WorkloadLeaving(workload=leaver, pods=(FIRST,)))
    world.state.apply(WorkloadDisplaced(workload=displaced, pods=(FIRST,)))
    assert list(scored.best_first(pods())) == ["c"]
    world.state.apply(WorkloadStopped(workload=leaver, pods=(FIRST,)))
    assert list(scored.best_first(pods())) == ["a", "c"]


def test_a_request_of_nothing_is_not_looked_at_where_more_is_used_than_there_is() -> None:
    world = World(machine("a", cpu=1000))
    world.start(pods(cpu=3000), "a")
    assert world.order(pods(cpu=0)) == ["a"]
    assert world.order(pods(cpu=1)) == []


def test_nodes_that_are_not_ready_are_left_out_until_they_are() -> None:
    world = World(machine("a"), machine("b"))
    scored = ScoredNodes(world.state, "LeastAllocated")
    world.state.apply(NodeChanged(msgspec.structs.replace(machine("a"), ready=False)))
    assert list(scored.best_first(pods())) == ["b"]
    world.state.apply(NodeChanged(machine("a")))
    assert list(scored.best_first(pods())) == ["a", "b"]


def taint(key: str, effect: Effect = "PreferNoSchedule") -> Taint:
    return Taint(key=key, effect=effect)


def test_nodes_that_would_rather_not_have_the_pod_come_after_those_that_would() -> None:
    """Whatever the score: c is as empty as a, and b is nearly full."""
    world = World(
        machine("a", taints=(taint("slow"), taint("old"))),
        machine("b", taints=(taint("gone", "NoSchedule"),)),
        machine("c", taints=(taint("old"),)),
    )
    world.start(pods(cpu=3000), "b")
    tolerant = Toleration(key="old", operator="Exists")
    assert world.order(pods()) == ["b", "c", "a"]
    assert world.order(pods(1000, GIB, 0, tolerant)) == ["c", "b", "a"]
    assert world.order(pods(1000, GIB, 0, Toleration(operator="Exists"))) == ["a", "c", "b"]
    elsewhere = Toleration(key="old", operator="Exists", effect="NoExecute")
    assert world.order(pods(1000, GIB, 0, elsewhere)) == ["b", "c", "a"]


def test_what_is_read_is_the_order_of_the_call_through_a_trial_of_the_same_kind() -> None:
    world = World(machine("a"), machine("b"), machine("c"))
    scored = ScoredNodes(world.state, "LeastAllocated")
    names = scored.best_first(pods())
    assert next(names) == "a"
    with world.state.trial():
        world.start(pods(), "b")
        assert list(scored.best_first(pods())) == ["a", "c", "b"]
    assert list(names) == ["b", "c"]
    assert list(scored.best_first(pods())) == ["a", "b", "c"]


@pytest.fixture
def scorings_done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry for every node that is scored."""
    done: list[int] = []

    def counted(fit: list[Fill], balance: list[Fill] | None, scoring: Scoring) -> int:
        done.append(node_score(fit, balance, scoring))
        return done[-1]

    monkeypatch.setattr(scored_nodes, "node_score", counted)
    return done


def scored_by(done: list[int], answer: Iterator[str]) -> int:
    """Return how many nodes an answer took, which is all there."""
    count = len(done)
    assert len(list(answer)) == 20
    done.clear()
    return count


def test_only_nodes_that_changed_are_scored_again(scorings_done: list[int]) -> None:
    """A trial counts too: where it was undone is looked at again."""
    world = World(*[machine(f"n{number:02}") for number in range(20)])
    scored = ScoredNodes(world.state, "LeastAllocated")
    small, large = pods(cpu=100), pods(cpu=200)
    assert scored_by(scorings_done, scored.best_first(small)) == 20
    assert scored_by(scorings_done, scored.best_first(small)) == 0
    world.start(small, "n07")
    assert scored_by(scorings_done, scored.best_first(small)) == 1
    assert scored_by(scorings_done, scored.best_first(large)) == 20
    with world.state.trial():
        world.start(large, "n01")
        world.start(large, "n02")
        world.start(large, "n01")
        assert scored_by(scorings_done, scored.best_first(small)) == 2
    assert scored_by(scorings_done, scored.best_first(small)) == 2
    assert scored_by(scorings_done, scored.best_first(large)) == 2


def test_kinds_of_pod_differ_in_requests_and_in_tolerations_that_matter(
    scorings_done: list[int],
) -> None:
    world = World(*[machine(f"n{number:02}") for number in range(20)])
    scored = ScoredNodes(world.state, "LeastAllocated")
    assert scored_by(scorings_done, scored.best_first(pods())) == 20
    evicted_late = Toleration(key="not-ready", operator="Exists", effect="NoExecute")
    assert scored_by(scorings_done, scored.best_first(pods(1000, GIB, 0, evicted_late))) == 0
    labelled = msgspec.structs.replace(pods(), name="other", count=7, labels=(("app", "a"),))
    assert scored_by(scorings_done, scored.best_first(labelled)) == 0
    any_effect = Toleration(key="old", operator="Exists")
    assert scored_by(scorings_done, scored.best_first(pods(1000, GIB, 0, any_effect))) == 20


def test_the_kind_that_was_not_asked_for_the_longest_is_forgotten(scorings_done: list[int]) -> None:
    world = World(*[machine(f"n{number:02}") for number in range(20)])
    scored = ScoredNodes(world.state, "LeastAllocated")
    kinds = [pods(cpu=100 + number) for number in range(KINDS_REMEMBERED)]
    for kind in kinds:
        assert scored_by(scorings_done, scored.best_first(kind)) == 20
    assert scored_by(scorings_done, scored.best_first(kinds[0])) == 0
    assert scored_by(scorings_done, scored.best_first(pods(cpu=99))) == 20
    assert scored_by(scorings_done, scored.best_first(kinds[0])) == 0
    assert scored_by(scorings_done, scored.best_first(kinds[1])) == 20


GENTLE = taint("slow")
searched_nodes = st.builds(
    Node,
    name=st.sampled_from([f"n{number}" for number in range(6)]),
    allocatable=st.tuples(
        st.sampled_from([4000, 64_000, 3000, 0]),
        st.sampled_from([8 * GIB, 3 * GIB, 10**9, 0]),
        st.sampled_from([2000, 8000, 0]),
        rarely(0, 1000),
    ),
    taints=rarely((), (GENTLE,), (GENTLE, taint("old")), (taint("gone", "NoSchedule"),)),
    ready=rarely(True, False),
    gpu_memory_mib=st.just(40_000),
)
searched_strangers = foreign_pods([(0, 0, 0, 0), (500, GIB, 0, 0), (3500, 0, 1000, 0)])
tolerations = rarely(
    (), (Toleration(key="old", operator="Exists"),), (Toleration(operator="Exists"),)
)


def _pods(requests: Amounts, share: GpuShare | None, tolerated: tuple[Toleration, ...]) -> PodSet:
    return PodSet(
        name="main",
        count=PODS,
        min_count=1,
        requests=requests,
        constraints=PodConstraints(tolerations=tolerated),
        gpu_share=share if requests[2] else None,
    )


searched_pods = st.builds(
    _pods,
    st.tuples(
        st.sampled_from([0, 100, 1000, 1500]),
        st.sampled_from([0, 200 * MIB, GIB, 3 * GIB]),
        st.sampled_from([0, 0, 1000]),
        rarely(0, 1000),
    ),
    rarely(None, GpuShare(thousandths=500)),
    tolerations,
)
worlds = st.builds(
    SearchWorld,
    st.lists(searched_nodes, min_size=3, max_size=6, unique_by=lambda node: node.name),
    st.lists(searched_pods, min_size=2, max_size=5),
    st.lists(searched_strangers, max_size=3),
)
happenings = st.builds(
    Step,
    st.sampled_from(VERBS),
    st.integers(0, 9),
    st.integers(0, PODS - 1),
    st.booleans(),
    searched_pods,
    searched_nodes,
    searched_strangers,
)
scorings: st.SearchStrategy[Scoring] = st.sampled_from(["LeastAllocated", "MostAllocated"])


def held_there(state: ClusterState, node: str) -> Iterator[Amounts]:
    """Yield the requests of each pod that holds something on *node*."""
    for name, run in state.runs.items():
        for pod, placed in run.pods.items():
            if placed.node == node and placed.phase != "reserved":
                yield state.workloads[name].pod_sets.of(pod).requests
    for amounts, _ in state.books.use(node).departing.values():
        yield amounts


def plain_order(state: ClusterState, asked: PodSet, scoring: Scoring) -> list[str]:
    """Score every node anew, from every pod on it."""
    found: list[tuple[int, int, str]] = []
    for node in state.nodes.values():
        free = [max(0, amount) for amount in PlainRoom(state, node).idle.values()]
        wanted = zip(asked.requests, free, strict=True)
        if not node.ready or any(amount > idle for amount, idle in wanted if amount):
            continue
        added = list(asked.requests)
        there = [size - idle for size, idle in zip(node.allocatable, free, strict=True)]
        balance = [(there[at] + added[at], node.allocatable[at]) for at in (0, 1)]
        for at, little in ((0, 100), (1, 200 * MIB)):
            added[at] = added[at] or little
            there[at] += sum(little for each in held_there(state, node.name) if each[at] == 0)
        wide = [at for at in (2, 3) if scoring == "MostAllocated" and added[at]]
        fit = [(there[at] + added[at], node.allocatable[at]) for at in (0, 1, *wide)]
        score = node_score(fit, balance if any(asked.requests[:2]) else None, scoring)
        tolerated = asked.constraints.tolerations
        shunned = [
            each
            for each in node.taints
            if each.effect == "PreferNoSchedule" and not any(t.tolerates(each) for t in tolerated)
        ]
        found.append((len(shunned), -score, node.name))
    return [name for _, _, name in sorted(found)]


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(150))
@given(worlds, scorings, st.sampled_from([1, 2, 64]), st.lists(happenings, max_size=30))
def test_the_order_equals_scoring_every_node_anew_whatever_happened(
    world: SearchWorld, scoring: Scoring, remembered: int, given_steps: list[Step]
) -> None:
    """Each step asks for one kind only, so that the others fall behind by several steps."""
    assert SEARCHED[:2] == ("cpu", "memory")
    scored = ScoredNodes(world.state, scoring, remembered=remembered)
    for step in given_steps:
        workload = world.asked(step)
        asked = workload.pod_sets[0]
        if step.verb == "place" and asked.gpu_share is None:
            pod = world.waiting(workload)
            for name in islice(scored.best_first(asked), 1 if pod else 0):
                assert pod is not None
                world.take(workload, pod, Spot(name, None, now=True))
        else:
            world.happen(step)
        asked = world.asked(step).pod_sets[0]
        assert list(scored.best_first(asked)) == plain_order(world.state, asked, scoring)
    for each in world.state.workloads.values():
        asked = each.pod_sets[0]
        assert list(scored.best_first(asked)) == plain_order(world.state, asked, scoring)
    check_invariants(world.state)
