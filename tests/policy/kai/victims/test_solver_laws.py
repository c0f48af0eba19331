"""The search for victims remembers much and leaves out what cannot help; it must not show."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.execution.executor import apply
from fairlead.model.node import Node
from fairlead.model.plan import Decision
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ANYWHERE,
    GpuShare,
    KaiJob,
    PodConstraints,
    PodId,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from fairlead.policy.kai.actions.victim_action import VictimAction
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.pruning.moves import MoveBound
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import EvictionOrder
from fairlead.policy.kai.victims.solver import Scenario, Validator, VictimSolver
from tests.model.foreign import foreign_pod
from tests.policy.changes import changes_of
from tests.policy.kai.actions.test_attempt_laws import (
    NOW_MS,
    START_MS,
    all_settings,
    contended_queues,
    cycle,
)
from tests.policy.kai.plain_search import PlainSearch
from tests.policy.kai.random_worlds import build, queues
from tests.scale_examples import scale_examples

pytestmark = pytest.mark.exhaustive

APP = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("x",)),))
APPS = PodTerm(topology_key="host", selector=APP, namespaces=("",))
PLACES = [
    *[ANYWHERE] * 12,
    PodConstraints(pod_affinity=(APPS,)),
    PodConstraints(pod_anti_affinity=(APPS,)),
    PodConstraints(host_ports=(("TCP", 80),)),
    PodConstraints(node_selector=(("host", "n0"),)),
]


@st.composite
def pods(draw: st.DrawFn, name: str, most: int) -> PodSet:
    """Pods of a whole node or less, with or without GPUs."""
    share = draw(st.sampled_from([None, None, None, None, GpuShare(thousandths=500)]))
    gpu = 500 if share else draw(st.sampled_from([0, 1000, 1000, 1000, 2000, 4000]))
    return PodSet(
        name=name,
        count=draw(st.integers(1, most)),
        min_count=0,
        requests=(draw(st.sampled_from([0, 1000, 3000])), 10**6, gpu),
        gpu_share=share,
        labels=draw(st.sampled_from([(), (("app", "x"),)])),
        constraints=draw(st.sampled_from(PLACES)),
    )


@st.composite
def jobs(draw: st.DrawFn, name: str, queue: str, most: int) -> Workload:
    """Gangs, elastic jobs and single pods, some of pods of two kinds."""
    sets = [draw(pods(name, most))]
    if draw(st.sampled_from([False, False, True])):
        sets.append(draw(pods(f"{name}-more", 2)))
    count = sum(each.count for each in sets)
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets(sets),
        min_count=draw(st.sampled_from([1, count, count])),
        priority=draw(st.sampled_from([50, 50, 50, 75])),
        created_ms=draw(st.integers(0, 3)),
        extension=KaiJob(),
    )


@st.composite
def foreign_events(draw: st.DrawFn, node: str) -> list[ForeignPodChanged]:
    """Mostly none: a pod of another scheduler that holds a GPU or two, and may be leaving."""
    gpu = 1000 * draw(st.sampled_from([0, 0, 0, 1, 2]))
    pod = foreign_pod(f"x/{node}", node, (0, 0, gpu), leaving=draw(st.booleans()))
    return [ForeignPodChanged(pod)] if gpu else []


@st.composite
def contended_worlds(draw: st.DrawFn) -> ClusterState:
    """Full nodes, and gangs that come for them when others hold more than their part."""
    events = draw(contended_queues())
    for at in range(draw(st.integers(2, 5))):
        size = (8_000, 10**9, draw(st.sampled_from([2000, 4000])))
        node = Node(name=f"n{at}", allocatable=size, labels={"host": f"n{at}"})
        events += [NodeAdded(node), *draw(foreign_events(node.name))]
    state = build(events)
    leaves = [str(name) for name in state.queues if not state.children(name)]
    for number in range(draw(st.integers(4, 14))):
        queue = draw(st.sampled_from(leaves[:2]))
        state.apply(WorkloadAdded(draw(jobs(f"r{number:02}", queue, 3))))
    apply(state, KaiPolicy(KaiSettings()).plan(state, START_MS))
    for number in range(draw(st.integers(1, 3))):
        queue = draw(st.sampled_from(leaves))
        state.apply(WorkloadAdded(draw(jobs(f"p{number}", queue, 5))))
    return state


@st.composite
def devices(
    draw: st.DrawFn, name: str, queue: str, *, count: int, gpu: int, minimum: int
) -> Workload:
    """Pods that ask for whole devices and nothing else, and mostly do not care where they run."""
    asked = PodSet(
        name=name,
        count=count,
        min_count=0,
        requests=(0, 0, gpu),
        labels=draw(st.sampled_from([(), (("app", "x"),)])),
        constraints=draw(st.sampled_from(PLACES)),
    )
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((asked,)),
        min_count=minimum,
        priority=50,
        created_ms=0,
        extension=KaiJob(),
    )


@st.composite
def strewn_worlds(draw: st.DrawFn, idle: int = 0, due_at_most: int = 0) -> ClusterState:
    """Nodes full of small jobs that are due nothing, and gangs of large pods that are due all.

    A large pod needs several jobs of one node to go, and these stand far apart in the line. As many
    devices as *idle* may be free, here and there. With *due_at_most* the others are due so much.
    """
    free = {f"n{at}": draw(st.integers(3, 6)) for at in range(draw(st.integers(2, 4)))}
    due = {name: draw(st.integers(0, due_at_most)) for name in ("rich", "richer")}
    due["poor"] = sum(free.values())
    state = build(
        QueueChanged(
            replace(
                draw(queues(name, None)),
                weights=(Decimal(1), Decimal(1), Decimal(0)),
                guaranteed=(None, None, 1000 * gpu),
                ceiling=(None, None, None),
            )
        )
        for name, gpu in due.items()
    )
    for name, gpu in free.items():
        foreign = draw(foreign_events(name))
        size = (0, 0, 1000 * gpu + sum(each.pod.requests[2] for each in foreign))
        state.apply(NodeAdded(Node(name=name, allocatable=size, labels={"host": name})))
        for event in foreign:
            state.apply(event)
    left = draw(st.integers(0, idle)) if idle else 0
    while sum(free.values()) > left:
        draw(running_jobs(state, free))
    for name in ("p0", "p1"):
        count, gpu = draw(st.integers(1, 4)), 1000 * draw(st.integers(2, 4))
        job = draw(devices(name, "poor", count=count, gpu=gpu, minimum=count))
        state.apply(WorkloadAdded(job))
    return state


@st.composite
def running_jobs(draw: st.DrawFn, state: ClusterState, free: dict[str, int]) -> None:
    """Let another job run where devices are free; some of its pods may wait."""
    gpu = min(max(free.values()), draw(st.sampled_from([1, 1, 1, 2, 3])))
    name = f"r{len(state.runs):02}"
    pods = [numbered_pod(name, at) for at in range(draw(st.sampled_from([1, 1, 2, 3])))]
    places = []
    for pod in pods[draw(st.sampled_from([0, 0, 0, 1])) :] or pods:
        nodes = [node for node, count in free.items() if count >= gpu]
        if nodes:
            node = draw(st.sampled_from(nodes))
            places.append(Placement(pod, node))
            free[node] -= gpu
    queue = draw(st.sampled_from(["rich", "richer"]))
    minimum = draw(st.sampled_from([1, len(places)]))
    job = draw(devices(name, queue, count=len(pods), gpu=1000 * gpu, minimum=minimum))
    state.apply(WorkloadAdded(job))
    state.apply(WorkloadStarted(workload=job.name, placements=tuple(places), at_ms=START_MS))


Heard: TypeAlias = list[tuple[int, Scenario, bool]]
"""What came before a judge, for so many pods, and what was said of it."""

JudgeFor: TypeAlias = Callable[[Sequence[PodId]], Validator]


def overheard(judge_for: JudgeFor, heard: Heard) -> JudgeFor:
    """Return what gives the same judges, of which is heard what comes before them."""

    def overheard_for(pods: Sequence[PodId]) -> Validator:
        judge = judge_for(pods)

        def judge_aloud(scenario: Scenario) -> bool:
            heard.append((len(pods), scenario, judge(scenario)))
            return heard[-1][-1]

        return judge_aloud

    return overheard_for


def remembering(state: ClusterState, chosen: KaiSettings) -> tuple[list[Decision], Heard]:
    """Run a cycle as it is, and hear what comes before its judges."""
    heard: Heard = []
    search = VictimSolver.run

    def run(
        self: VictimSolver, line_up: Callable[[], EvictionOrder], judge_for: JudgeFor
    ) -> Scenario | None:
        return search(self, line_up, overheard(judge_for, heard))

    with mock.patch.object(VictimSolver, "run", run):
        return cycle(state, chosen), heard


def from_scratch(state: ClusterState, chosen: KaiSettings) -> tuple[list[Decision], Heard]:
    """Run a cycle with the plain search in the place of ours."""
    heard: Heard = []
    plain: list[PlainSearch] = []

    def begin(_: VictimSolver, *arguments: Any, **options: Any) -> None:
        plain.append(PlainSearch(*arguments, **options))

    def run(
        _: VictimSolver, line_up: Callable[[], EvictionOrder], judge_for: JudgeFor
    ) -> Scenario | None:
        return plain.pop().run(line_up, overheard(judge_for, heard))

    with mock.patch.multiple(VictimSolver, __init__=begin, run=run):
        return cycle(state, chosen), heard


@settings(max_examples=scale_examples(120))
@given(state=contended_worlds() | strewn_worlds(), chosen=all_settings)
def test_a_search_that_remembers_finds_what_one_from_scratch_does(
    state: ClusterState, chosen: KaiSettings
) -> None:
    """The decisions are the same, and the judges hear of the same tries in the same order."""
    decisions, heard = remembering(state, chosen)
    plain_decisions, plain_heard = from_scratch(state, chosen)
    assert heard == plain_heard
    assert decisions == plain_decisions


@st.composite
def fragmented_worlds(draw: st.DrawFn) -> ClusterState:
    """Nodes of 4 devices, jobs that run whole or not at all, and some devices free here and there.

    What waits for one or two large pods asks for no more than is free in all.
    """
    free = {f"n{at}": 4 for at in range(draw(st.integers(2, 5)))}
    state = build(QueueChanged(draw(queues(name, None))) for name in ("a", "b"))
    for name in free:
        state.apply(NodeAdded(Node(name=name, allocatable=(0, 0, 4000))))
    while sum(free.values()) > 6:
        gpu = draw(st.sampled_from([1, 2, 3, 4]))
        fitting = [node for node, count in free.items() if count >= gpu]
        nodes = draw(st.permutations(fitting))[: draw(st.integers(1, 3))]
        name, queue = f"r{len(state.runs):02}", draw(st.sampled_from("ab"))
        if nodes:
            start_whole(state, name, queue, gpu, nodes)
        for node in nodes:
            free[node] -= gpu
    for name in ("p0", "p1"):
        gpu = draw(st.integers(2, 4))
        count = draw(st.integers(1, max(1, sum(free.values()) // gpu)))
        state.apply(WorkloadAdded(whole_job(name, draw(st.sampled_from("ab")), gpu, count)))
    return state


def whole_job(name: str, queue: str, gpu: int, count: int) -> Workload:
    asked = PodSet(name=name, count=count, min_count=0, requests=(0, 0, 1000 * gpu))
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((asked,)),
        min_count=count,
        priority=50,
        created_ms=0,
        extension=KaiJob(),
    )


def start_whole(state: ClusterState, name: str, queue: str, gpu: int, nodes: Sequence[str]) -> None:
    job = whole_job(name, queue, gpu, len(nodes))
    places = tuple(Placement(numbered_pod(name, at), node) for at, node in enumerate(nodes))
    state.apply(WorkloadAdded(job))
    state.apply(WorkloadStarted(workload=job.name, placements=places, at_ms=START_MS))


@settings(max_examples=scale_examples(200))
@given(
    state=fragmented_worlds() | strewn_worlds(),
    most=st.sampled_from([None, 2, 4]),
    faithful=st.booleans(),
)
def test_a_consolidation_that_is_not_searched_for_would_have_failed(
    state: ClusterState, most: int | None, *, faithful: bool
) -> None:
    chosen = KaiSettings(
        actions=("consolidation",), max_consolidation_victims=most, faithful=faithful
    )
    changes = changes_of(KaiPolicy(chosen), state, NOW_MS)
    with mock.patch.object(MoveBound, "allows", return_value=True):
        assert changes_of(KaiPolicy(chosen), state, NOW_MS) == changes


crowded_worlds = contended_worlds() | strewn_worlds(idle=3, due_at_most=9) | fragmented_worlds()


@st.composite
def backlogs(draw: st.DrawFn) -> ClusterState:
    """Worlds in which several more wait who are alike, and some who are not."""
    state = draw(crowded_worlds)
    waiting = [name for queue in state.waited_for() for name in state.waiting(queue)]
    assume(waiting)
    like = state.workloads[draw(st.sampled_from(waiting))]
    for at in range(draw(st.integers(1, 4))):
        more = replace(like, name=WorkloadName(f"q{at}"), created_ms=draw(st.integers(0, 2)))
        state.apply(WorkloadAdded(more))
    return state


@settings(max_examples=scale_examples(200))
@given(state=backlogs(), chosen=all_settings)
def test_a_skipped_turn_would_have_come_to_nothing(
    state: ClusterState, chosen: KaiSettings
) -> None:
    changes = changes_of(KaiPolicy(chosen), state, NOW_MS)
    with mock.patch.object(VictimAction, "_may_skip", new=False):
        assert changes_of(KaiPolicy(chosen), state, NOW_MS) == changes
