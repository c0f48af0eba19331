"""A gang that loses a pod counts as incomplete from then on, and gives up what it has in time.

The cluster has 2 GPUs on m and 1 on n, and one gang of 3 pods with 1 GPU each has them all.
"""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    MemoryChanged,
    NodeAdded,
    NodeRemoved,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.memory import KaiMemory
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, LeftPending, Plan, Reserve, Start, Unknown, Wait
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodSet, PodSets, Workload
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.invariants import check_invariants
from tests.policy.kai.random_worlds import GPU, build
from tests.text_table import rows

GANG, Q = WorkloadName("gang"), QueueName("q")
SECOND_MS = 1_000
JOB = KaiJob()


def node(name: str, gpus: int) -> Node:
    return Node(name=name, allocatable=(1000, 1000, gpus * GPU))


def cluster(job: KaiJob = JOB) -> ClusterState:
    pods = PodSet(name="main", count=3, min_count=3, requests=(0, 0, GPU))
    gang = Workload(name=GANG, queue=Q, pod_sets=PodSets((pods,)), min_count=3, extension=job)
    places = zip(gang.pods(), ("m", "m", "n"), strict=True)
    queue = Queue(
        name=Q,
        weights=(Decimal(1),) * 3,
        guaranteed=(None, None, 3 * GPU),
        ceiling=(None,) * 3,
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
    )
    return build(
        [
            QueueChanged(queue),
            NodeAdded(node("m", 2)),
            NodeAdded(node("n", 1)),
            WorkloadAdded(gang),
            WorkloadStarted(
                workload=GANG, placements=tuple(Placement(*place) for place in places), at_ms=0
            ),
        ]
    )


def let_happen(state: ClusterState, what: str) -> None:
    """Let n be lost with its pod, or return; change the job; or let terminating pods stop."""
    run = state.runs.get(GANG)
    placed = {} if run is None else run.pods
    match what:
        case "lost":
            pods = tuple(pod for pod, at in placed.items() if at.node == "n")
            state.apply(WorkloadStopped(workload=GANG, pods=pods))
            state.apply(NodeRemoved("n"))
        case "returns":
            state.apply(NodeAdded(node("n", 1)))
        case "edited":
            state.apply(WorkloadChanged(replace(state.workloads[GANG], priority=60)))
        case "deleted":
            state.apply(WorkloadLeaving(workload=GANG, pods=tuple(placed)))
        case "left":
            pods = tuple(pod for pod, at in placed.items() if at.phase == "leaving")
            state.apply(WorkloadStopped(workload=GANG, pods=pods))


def told(decisions: tuple[Decision, ...]) -> str:
    words = []
    for each in decisions:
        match each:
            case Wait() | Unknown():
                words.append("wait")
            case Evict():
                words.append(f"evict:{len(each.pods)}")
            case Start() | Reserve():
                words.append(f"{type(each).__name__.lower()}:{len(each.placements)}")
    return ",".join(words) or "-"


def since(state: ClusterState) -> str:
    memory = state.memories.get(GANG)
    if memory is None:
        return "-"
    assert isinstance(memory, KaiMemory)
    assert memory.stale_since_ms is not None
    return f"{memory.stale_since_ms / SECOND_MS:g}"


def checked_plan(state: ClusterState, policy: KaiPolicy, now_ms: int) -> Plan:
    """The plan; a policy that has followed the state says the same, with reasons or without."""
    plan = KaiPolicy(policy.settings).plan(state, now_ms)
    changes = policy.plan(state, now_ms, explain=False)
    assert [*changes.decisions] == [
        each for each in plan.decisions if not isinstance(each, LeftPending)
    ]
    assert changes.memories == plan.memories
    assert policy.plan(state, now_ms) == plan
    return plan


def follow(table: str, state: ClusterState, settings: KaiSettings) -> None:
    """At each second let something happen, plan, carry the plan out, and compare."""
    policy = KaiPolicy(settings)
    for row in rows(table):
        let_happen(state, row["happens"])
        plan = checked_plan(state, policy, int(row["at"]) * SECOND_MS)
        apply(state, plan)
        check_invariants(state)
        assert (told(plan.decisions), since(state)) == (row["plan"], row["since"]), row


TIMES = {
    # 10 + 60 = 70. What left at 71 waits, and 3 pods do not fit on m: nothing runs, so nothing is
    # incomplete.
    "a gang that stays incomplete is evicted when its grace is over": """
        at  happens  plan          since
        5   -        -             -
        10  lost     wait          10
        40  -        wait          10
        69  -        wait          10
        70  -        wait,evict:2  10
        71  left     wait          -
    """,
    "who changes the job does not change since when": """
        at  happens  plan          since
        10  lost     wait          10
        40  edited   wait          10
        70  -        wait,evict:2  10
    """,
    # The start at 30 may fail, so the count ends when the gang is seen complete. 50 + 60 = 110.
    "a gang that was complete again begins anew": """
        at   happens  plan          since
        10   lost     wait          10
        30   returns  start:1       10
        31   -        -             -
        50   lost     wait          50
        70   -        wait          50
        109  -        wait          50
        110  -        wait,evict:2  50
    """,
    # Between 10 and 20 nobody planned.
    "it begins with the first plan that sees it": """
        at  happens  plan          since
        20  lost     wait          20
        79  -        wait          20
        80  -        wait,evict:2  20
    """,
}


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("table", TIMES.values(), ids=TIMES.keys())
def test_since_when_a_gang_is_incomplete_and_until_when(table: str, faithful: bool) -> None:
    follow(table, cluster(), KaiSettings(faithful=faithful))


def test_a_gang_that_loses_a_pod_and_gets_it_in_one_plan_does_not_begin() -> None:
    """Its pod stops at 10, and there is room."""
    state = cluster()
    (lost,) = [pod for pod, at in state.runs[GANG].pods.items() if at.node == "n"]
    state.apply(WorkloadStopped(workload=GANG, pods=(lost,)))
    plan = checked_plan(state, KaiPolicy(KaiSettings()), 10 * SECOND_MS)
    assert (told(plan.decisions), plan.memories) == ("start:1", ())


@pytest.mark.parametrize(("grace_s", "at_s"), [(5, 15), (60, 70), (90, 100)])
def test_the_grace_of_the_job_counts(grace_s: int, at_s: int) -> None:
    """It loses a pod at 10."""
    table = f"""
        at          happens  plan          since
        10          lost     wait          10
        {at_s - 1}  -        wait          10
        {at_s}      -        wait,evict:2  10
    """
    follow(table, cluster(KaiJob(staleness_grace_ms=grace_s * SECOND_MS)), KaiSettings())


def test_without_grace_it_is_evicted_at_once() -> None:
    state = cluster(KaiJob(staleness_grace_ms=0))
    follow("at happens plan since\n10 lost wait,evict:2 -", state, KaiSettings())


NEVER = """
    at     happens  plan  since
    10     lost     wait  -
    10000  -        wait  -
"""
OFF = ("allocate", "consolidation", "reclaim", "preempt")
EXEMPT = {
    "of which pods have succeeded": (KaiJob(has_succeeded_pods=True), KaiSettings()),
    "that may be incomplete for ever": (KaiJob(staleness_grace_ms=-1), KaiSettings()),
    "where that is the default": (JOB, KaiSettings(stale_grace_ms=-1)),
    "where stale gangs are not evicted": (JOB, KaiSettings(actions=OFF)),
}


@pytest.mark.parametrize(("job", "settings"), EXEMPT.values(), ids=EXEMPT.keys())
def test_a_gang_never_begins_to_be_incomplete(job: KaiJob, settings: KaiSettings) -> None:
    follow(NEVER, cluster(job), settings)


def test_a_gang_that_is_leaving_does_not_begin() -> None:
    state = cluster()
    let_happen(state, "deleted")
    let_happen(state, "lost")
    assert checked_plan(state, KaiPolicy(KaiSettings()), 10 * SECOND_MS).memories == ()


def test_a_plan_that_is_not_carried_out_counts_from_its_own_time() -> None:
    """The same state at another time: a policy that planned before knows nothing more."""
    state, policy = cluster(), KaiPolicy(KaiSettings())
    let_happen(state, "lost")
    for at_ms in (10_000, 500_000):
        plan = checked_plan(state, policy, at_ms)
        assert plan.time_dependent
        assert plan.memories == (MemoryChanged(GANG, KaiMemory(stale_since_ms=at_ms)),)
        assert told(plan.decisions) == "wait"


def test_a_complete_gang_is_forgotten_whichever_plan_remembered_it() -> None:
    state = cluster()
    state.apply(MemoryChanged(GANG, KaiMemory(stale_since_ms=1)))
    plan = checked_plan(state, KaiPolicy(KaiSettings()), 10 * SECOND_MS)
    assert plan.memories == (MemoryChanged(GANG, None),)


def test_a_gang_without_running_pods_is_forgotten_although_no_job_has_a_turn() -> None:
    state = cluster()
    state.apply(WorkloadStopped(workload=GANG, pods=tuple(state.runs[GANG].pods)))
    state.apply(MemoryChanged(GANG, KaiMemory(stale_since_ms=1)))
    policy = KaiPolicy(KaiSettings(actions=("stalegangeviction",)))
    assert checked_plan(state, policy, 10 * SECOND_MS).memories == (MemoryChanged(GANG, None),)


def test_time_matters_while_a_gang_counts_and_not_after() -> None:
    state, policy = cluster(), KaiPolicy(KaiSettings())
    matters = []
    for at_s, happens in ((5, "-"), (10, "lost"), (40, "-"), (50, "returns"), (51, "-"), (52, "-")):
        let_happen(state, happens)
        plan = policy.plan(state, at_s * SECOND_MS)
        apply(state, plan)
        matters.append(plan.time_dependent)
    assert matters == [False, True, True, False, False, False]


def test_cycles_in_a_row_remember_it() -> None:
    """A second of grace is over in the second cycle; there is one, as probe starts in the first."""
    state = cluster(KaiJob(staleness_grace_ms=SECOND_MS))
    let_happen(state, "lost")
    pod = PodSet(name="main", count=1, min_count=1, requests=(1, 0, 0))
    probe = Workload(name=WorkloadName("probe"), queue=Q, pod_sets=PodSets((pod,)), min_count=1)
    state.apply(WorkloadAdded(probe))
    plans = plan_cycles(KaiPolicy(KaiSettings()), state, 0, most=2)
    assert [told(plan.decisions) for plan in plans] == ["wait,start:1", "wait,evict:2"]
