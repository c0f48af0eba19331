"""What the engine answers about a recorded case of the capacity-scheduling plugin."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from fairlead.errors import StateError
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Event, Placement, WorkloadStarted, WorkloadStopped
from fairlead.model.quantity import is_gpu
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, PodPreemption
from fairlead.policy.elastic_quota.quota.admission import Rule
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod, pod_title
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.conformance.elastic_answers import ByResource, CaseAnswer, ClaimAnswer, NodeAnswer
from tests.conformance.elastic_world import ELSEWHERE, state_of

Json = Mapping[str, Any]
NOW_MS = 4 * 10**12
RULES: dict[Rule, Literal["over-max", "pool-exhausted"]] = {
    "OverMax": "over-max",
    "PoolExhausted": "pool-exhausted",
}


def engine_answer(case: Json, settings: ElasticQuotaSettings) -> CaseAnswer:
    """Answer *case* with the engine that plans use."""
    state = state_of(case)
    context = PlanningContext(state, settings, NOW_MS)
    for workload in state.workloads.values():
        context.restore_nominations(workload)
    pending = context.pending_pod(*only_pod(state, case["incoming"]))
    check = context.admission.check(pending, after_termination=False)
    violation = context.admission.violation(pending)
    with_quota = pending.queue is not None
    feasible = (
        ()
        if violation
        else tuple(
            name for name in sorted(state.nodes) if context.fit.defect(pending, name) is None
        )
    )
    return CaseAnswer(
        used={queue: amounts_of(state, use) for queue, use in context.quotas.now.used.items()},
        refusal=RULES[violation.rule] if violation else None,
        nominated_in_quota=amounts_of(state, check.in_quota) if with_quota else None,
        nominated_all=amounts_of(state, check.in_pool) if with_quota else None,
        fits={name: context.fit.room_defect(pending, name) is None for name in state.nodes},
        feasible=feasible,
        claim=None
        if feasible
        else _preemption(context, PodPreemption(context, pending, violation)),
        accounting=_accounting(case, context, pending),
    )


def _preemption(context: PlanningContext, preemption: PodPreemption) -> ClaimAnswer:
    ineligible_reason = preemption.ineligible_reason()
    if ineligible_reason is not None:
        is_never = ineligible_reason == NEVER_PREEMPTS
        return ClaimAnswer(
            why_not_eligible="preemption-policy-never"
            if is_never
            else "terminating-pod-on-nominated-node",
            code="Unschedulable",
        )
    outcomes = preemption.outcomes()
    nodes = {
        name: NodeAnswer(
            outcome=each.outcome,
            victims=tuple(victim.title for victim in each.victims),
            violations=each.violations,
        )
        for name, each in outcomes.items()
    }
    best = preemption.best()
    choices = [each for each in outcomes.values() if each.is_choice(context.expects_termination)]
    assert best == min(choices, key=lambda each: each.cost, default=None)
    if best is None:
        has_erred = any(each.outcome in ("error", "no-victim-needed") for each in outcomes.values())
        return ClaimAnswer(nodes=nodes, code="Error" if has_erred else "Unschedulable")
    displaced = context.nominate(preemption.pending, best.node)
    return ClaimAnswer(
        nodes=nodes,
        code="Success",
        chosen=best.node,
        deleted=tuple(each.title for each in best.victims if not each.is_terminating),
        cleared=tuple(pod_title(each.workload, each.pod) for each in displaced),
    )


def _accounting(case: Json, context: PlanningContext, pending: PendingPod) -> dict[str, ByResource]:
    """Let pods come and go; what happens twice is refused, and changes nothing."""
    found: dict[str, ByResource] = {}
    name, pods = pending.workload.name, (pending.pod,)
    start = WorkloadStarted(
        workload=name, placements=(Placement(pending.pod, ELSEWHERE),), at_ms=NOW_MS
    )
    stop = WorkloadStopped(workload=name, pods=pods)
    if pending.queue is not None:
        found["usedAfterReserve"] = _used_after(context, pending.queue, start)
        found["usedAfterReserveTwice"] = _used_after(context, pending.queue, start, start)
        found["usedAfterUnreserve"] = _used_after(context, pending.queue, start, stop, stop)
    removed = case.get("result", {}).get("accounting", {}).get("removedPod")
    if removed:
        namespace, _, pod_name = removed.partition("/")
        workload = workload_of(context.state, {"namespace": namespace, "name": pod_name})
        gone = WorkloadStopped(workload=workload.name, pods=workload.pods())
        place = (Placement(workload.pods()[0], ELSEWHERE),)
        back = WorkloadStarted(workload=workload.name, placements=place, at_ms=NOW_MS)
        found["usedAfterRemovePod"] = _used_after(context, workload.queue, gone)
        found["usedAfterAddPod"] = _used_after(context, workload.queue, gone, back)
    return found


def _used_after(context: PlanningContext, queue: QueueName, *events: Event) -> ByResource:
    with context.state.trial():
        for event in events:
            with suppress(StateError):
                context.state.apply(event)
        books = QuotaUsage(context.state, context.charges, context.settings.quirks)
        return amounts_of(context.state, books.now.used[queue])


def workload_of(state: ClusterState, pod: Json) -> Workload:
    """Return the workload that a pod of a case became."""
    return state.workloads[WorkloadName(f"{pod['namespace'] or 'default'}/{pod['name']}")]


def only_pod(state: ClusterState, pod: Json) -> tuple[Workload, PodId]:
    """Return the workload that a pod of a case became, and that pod: it stands alone."""
    workload = workload_of(state, pod)
    return workload, workload.pods()[0]


def amounts_of(state: ClusterState, amounts: Amounts | list[int]) -> ByResource:
    """Return amounts by resource; a GPU is a whole one there, and a thousand thousandths here."""
    return {
        axis.resource: amount // 1000 if is_gpu(axis.resource) else amount
        for axis, amount in zip(state.axes.axes, amounts, strict=True)
        if amount
    }
