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
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, Claim
from fairlead.policy.elastic_quota.quota.admission import Rule
from fairlead.policy.elastic_quota.quota.pending_pod import Asker, pod_title
from fairlead.policy.elastic_quota.quota.usage import QuotaBooks
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
    desk = Desk(state, settings, NOW_MS)
    for workload in state.workloads.values():
        desk.nominate_all(workload)
    asker = desk.asker(*only_pod(state, case["incoming"]))
    standing = desk.admission.standing(asker, later=False)
    refusal = desk.admission.refusal(asker)
    with_quota = asker.queue is not None
    feasible = (
        ()
        if refusal
        else tuple(name for name in sorted(state.nodes) if desk.places.defect(asker, name) is None)
    )
    return CaseAnswer(
        used={queue: amounts_of(state, use) for queue, use in desk.books.now.used.items()},
        refusal=RULES[refusal.rule] if refusal else None,
        nominated_in_quota=amounts_of(state, standing.in_quota) if with_quota else None,
        nominated_all=amounts_of(state, standing.everywhere) if with_quota else None,
        fits={name: desk.places.room_defect(asker, name) is None for name in state.nodes},
        feasible=feasible,
        claim=None if feasible else _claim(desk, Claim(desk, asker, refusal)),
        accounting=_accounting(case, desk, asker),
    )


def _claim(desk: Desk, claim: Claim) -> ClaimAnswer:
    why_not = claim.why_not()
    if why_not is not None:
        is_never = why_not == NEVER_PREEMPTS
        return ClaimAnswer(
            why_not_eligible="preemption-policy-never"
            if is_never
            else "terminating-pod-on-nominated-node",
            code="Unschedulable",
        )
    outcomes = claim.outcomes()
    nodes = {
        name: NodeAnswer(
            outcome=each.outcome,
            victims=tuple(victim.title for victim in each.victims),
            violations=each.violations,
        )
        for name, each in outcomes.items()
    }
    best = claim.best()
    choices = [each for each in outcomes.values() if each.is_choice(desk.looks_later)]
    assert best == min(choices, key=lambda each: each.key, default=None)
    if best is None:
        has_erred = any(each.outcome in ("error", "no-victim-needed") for each in outcomes.values())
        return ClaimAnswer(nodes=nodes, code="Error" if has_erred else "Unschedulable")
    displaced = desk.nominate(claim.asker, best.node)
    return ClaimAnswer(
        nodes=nodes,
        code="Success",
        chosen=best.node,
        deleted=tuple(each.title for each in best.victims if not each.is_leaving),
        cleared=tuple(pod_title(each.workload, each.pod) for each in displaced),
    )


def _accounting(case: Json, desk: Desk, asker: Asker) -> dict[str, ByResource]:
    """Let pods come and go; what happens twice is refused, and changes nothing."""
    found: dict[str, ByResource] = {}
    name, pods = asker.workload.name, (asker.pod,)
    start = WorkloadStarted(
        workload=name, placements=(Placement(asker.pod, ELSEWHERE),), at_ms=NOW_MS
    )
    stop = WorkloadStopped(workload=name, pods=pods)
    if asker.queue is not None:
        found["usedAfterReserve"] = _used_after(desk, asker.queue, start)
        found["usedAfterReserveTwice"] = _used_after(desk, asker.queue, start, start)
        found["usedAfterUnreserve"] = _used_after(desk, asker.queue, start, stop, stop)
    removed = case.get("result", {}).get("accounting", {}).get("removedPod")
    if removed:
        namespace, _, pod_name = removed.partition("/")
        workload = workload_of(desk.state, {"namespace": namespace, "name": pod_name})
        gone = WorkloadStopped(workload=workload.name, pods=workload.pods())
        place = (Placement(workload.pods()[0], ELSEWHERE),)
        back = WorkloadStarted(workload=workload.name, placements=place, at_ms=NOW_MS)
        found["usedAfterRemovePod"] = _used_after(desk, workload.queue, gone)
        found["usedAfterAddPod"] = _used_after(desk, workload.queue, gone, back)
    return found


def _used_after(desk: Desk, queue: QueueName, *events: Event) -> ByResource:
    with desk.state.trial():
        for event in events:
            with suppress(StateError):
                desk.state.apply(event)
        books = QuotaBooks(desk.state, desk.charges, desk.settings.quirks)
        return amounts_of(desk.state, books.now.used[queue])


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
