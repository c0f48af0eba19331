"""What is remembered under Kueue's rules of the decisions about a workload."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import MemoryChanged, Placement, WorkloadAdded
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import memory_after as memory_after_decision
from fairlead.model.memory import GaveWay, KueueMemory, Promise
from fairlead.model.plan import Decision, Evict, Move, Plan, Reason, Reserve, Start, Wait
from fairlead.model.workload import (
    KaiJob,
    KueueWorkload,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from tests.model.worlds import queue, state_with

W, TOP, GONE = WorkloadName("w"), WorkloadName("top"), WorkloadName("gone")
POD = numbered_pod("main", 0)
PLACES = (Placement(POD, None),)
Q = QueueName("q")
NOW_MS = 90


def workload(name: WorkloadName = W, created_ms: int = 0) -> Workload:
    pods = PodSet(name="main", count=1, min_count=1, requests=(1, 0))
    return Workload(
        name=name,
        queue=Q,
        pod_sets=PodSets((pods,)),
        min_count=1,
        created_ms=created_ms,
        extension=KueueWorkload(local_queue="q"),
    )


def memory_after(before: KueueMemory | None, decision: Decision) -> KueueMemory | None:
    """What is known after *decision*, if that is something else than before."""
    known = {W: workload(), TOP: workload(TOP, created_ms=7)}
    after = memory_after_decision(known[W], before, decision, known, NOW_MS)
    assert after is None or isinstance(after, KueueMemory)
    return after


def start() -> Start:
    return Start(workload=W, placements=PLACES, charged=(Q,), reason=Reason(code="WithinQuota"))


def reserve() -> Reserve:
    return Reserve(
        workload=W,
        placements=PLACES,
        charged=(Q,),
        waits_for=(TOP,),
        reason=Reason(code="WaitingForPreemptedWorkloads"),
    )


def wait() -> Wait:
    return Wait(workload=W, reason=Reason(code="WaitingForQuota"))


def evict(beneficiary: WorkloadName | None, code: str = "InClusterQueue") -> Evict:
    return Evict(workload=W, pods=(POD,), beneficiary=beneficiary, reason=Reason(code=code))


def test_who_has_a_promise_preempts() -> None:
    found = memory_after(None, reserve())
    assert found is not None
    assert found.preempting
    assert found.promise == Promise(flavors=(), counts=(1,), waits_for=(TOP,))


def test_who_has_a_promise_still_remembers_nothing_new() -> None:
    promise = Promise(flavors=(), counts=(1,), waits_for=(TOP,))
    known = KueueMemory(preempting=True, promise=promise)
    assert memory_after(known, reserve()) is None


@pytest.mark.parametrize("decision", [start(), wait()])
def test_who_starts_or_waits_without_a_promise_preempts_no_more(decision: Decision) -> None:
    found = memory_after(KueueMemory(preempting=True), decision)
    assert found is not None
    assert not found.preempting
    assert memory_after(None, decision) is None


def test_who_gives_way_remembers_to_whom_and_by_which_rule() -> None:
    found = memory_after(None, evict(TOP, "InCohortReclamation"))
    assert found is not None
    assert found.gave_way == (GaveWay(TOP, "InCohortReclamation", created_ms=7),)


def test_when_it_gave_way_is_remembered_for_the_last_time() -> None:
    """At 90; it is told to leave by nobody in particular later, which is no preemption."""
    found = memory_after(KueueMemory(preempted_ms=80), evict(TOP))
    assert found is not None
    assert found.preempted_ms == NOW_MS
    assert memory_after(KueueMemory(preempted_ms=80), evict(None)) is None


def test_the_same_at_the_same_time_is_nothing_new() -> None:
    known = (GaveWay(TOP, "InClusterQueue", created_ms=7),)
    assert memory_after(KueueMemory(gave_way=known, preempted_ms=NOW_MS), evict(TOP)) is None


def test_another_one_of_the_same_name_is_not_the_one_it_gave_way_to() -> None:
    known = (GaveWay(TOP, "InCohortFairSharing", created_ms=6),)
    found = memory_after(KueueMemory(gave_way=known), evict(TOP, "InClusterQueue"))
    assert found is not None
    assert found.gave_way == (GaveWay(TOP, "InClusterQueue", created_ms=7),)


def test_what_was_taken_back_is_remembered_as_such() -> None:
    found = memory_after(None, replace(evict(TOP, "InCohortReclamation"), by_own_quota=True))
    assert found is not None
    assert [each.by_own_quota for each in found.gave_way] == [True]


def test_two_rules_are_two_memories_in_a_fixed_order() -> None:
    known = (GaveWay(TOP, "InCohortFairSharing", created_ms=7),)
    found = memory_after(KueueMemory(gave_way=known), evict(TOP, "InClusterQueue"))
    assert found is not None
    assert found.gave_way == (
        GaveWay(TOP, "InClusterQueue", created_ms=7),
        GaveWay(TOP, "InCohortFairSharing", created_ms=7),
    )


def test_those_that_are_gone_are_forgotten() -> None:
    known = (GaveWay(GONE, "InClusterQueue"),)
    found = memory_after(KueueMemory(gave_way=known), evict(TOP))
    assert found is not None
    assert [each.beneficiary for each in found.gave_way] == [TOP]


def test_who_leaves_for_nobodys_sake_remembers_nothing() -> None:
    assert memory_after(None, evict(None, "ClusterQueueStopped")) is None


def test_who_moves_keeps_what_it_knows() -> None:
    move = Move(
        workload=W,
        origins=PLACES,
        placements=PLACES,
        beneficiary=TOP,
        reason=Reason(code="any"),
    )
    assert memory_after(KueueMemory(preempting=True), move) is None


def test_workloads_of_other_rules_remember_nothing_here() -> None:
    job = Workload(name=W, queue=Q, pod_sets=PodSets(), min_count=0, extension=KaiJob())
    assert memory_after_decision(job, None, reserve(), {}, NOW_MS) is None
    assert memory_after_decision(job, None, evict(TOP), {}, NOW_MS) is None


def test_a_plan_that_is_carried_out_is_remembered() -> None:
    """W starts and gives way to top in one plan; it has left when the next one is made."""
    state = state_with(queue("q"))
    state.apply(WorkloadAdded(workload()))
    state.apply(MemoryChanged(W, KueueMemory(preempting=True)))
    decisions: list[Decision] = [start(), evict(W)]
    apply(state, Plan(taken_ms=1, decisions=(start(),)))
    assert W not in state.memories
    has_left = carry_out(state, decisions[1:], 2, keeps_reservations=False)
    assert has_left
    assert W not in state.runs
    gave_way = (GaveWay(W, "InClusterQueue", created_ms=0),)
    assert state.memories == {W: KueueMemory(gave_way=gave_way, preempted_ms=2)}


def test_a_promise_that_is_kept_has_quota_and_one_that_is_not_waits_again() -> None:
    for keeps in (True, False):
        state = state_with(queue("q"))
        state.apply(WorkloadAdded(workload()))
        assert not carry_out(state, [reserve()], 1, keeps_reservations=keeps)
        assert (W in state.runs) is keeps


def test_under_kueue_who_was_leaving_with_all_its_pods_waits_again() -> None:
    """Under other rules it would count as withdrawn."""
    state = state_with(queue("q"))
    state.apply(WorkloadAdded(workload()))
    apply(state, Plan(taken_ms=1, decisions=(start(), evict(None))))
    assert carry_out(state, [], 2, keeps_reservations=False)
    assert W in state.workloads
    assert state.waiting(Q) == [W]
