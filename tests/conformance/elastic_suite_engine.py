"""What the engine answers to the tables of the capacity-scheduling plugin's own tests."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fairlead.errors import StateError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadRemoved, WorkloadStarted, WorkloadStopped
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Evict
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.quota.admission import QuotaCheck, QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import ByResource
from tests.conformance.elastic_arithmetic import Step
from tests.conformance.elastic_engine import NOW_MS, amounts_of, only_pod
from tests.conformance.elastic_world import ELSEWHERE, state_of

Json = Mapping[str, Any]
ROUNDS = 20  # more than any row needs


class EngineArithmetic:
    """Answers from the books of a state that holds nothing but the question."""

    def over_min(self, used: ByResource, minimum: ByResource | None) -> bool:
        """Return whether used alone is over min."""
        context, _, _ = _asked(_quota(minimum, None, used), {})
        return context.quotas.now.is_over_min[QueueName("ns1")]

    def over_min_with(
        self, used: ByResource, minimum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over min with a request more."""
        context, pending, check = _asked(_quota(minimum, None, used), request)
        return context.admission.is_over_min(pending, check)

    def over_max_with(
        self, used: ByResource, maximum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over max with a request more."""
        context, pending, check = _asked(_quota(None, maximum, used), request)
        violation = context.admission.first_violation(pending, check)
        return violation is not None and violation.rule == "OverMax"

    def used_after(
        self, namespace: str, used: ByResource, known: frozenset[str], steps: Sequence[Step]
    ) -> list[ByResource]:
        """Return what the quota of a namespace uses after each step."""
        rest = dict(used)
        pods = []
        for pod, request in {step.pod: step.request for step in steps}.items():
            owner, _, name = pod.partition("/")
            node = ELSEWHERE if pod in known else None
            pods.append({"name": name, "namespace": owner, "requests": _texts(request)})
            if node is not None:
                pods[-1]["node"] = node
                rest = {each: rest[each] - request.get(each, 0) for each in rest}
        quota = {"namespace": namespace, "min": None, "max": None, "usedFixed": _texts(rest)}
        state = state_of({"nodes": [], "quotas": [quota], "pods": pods})
        after = []
        for step in steps:
            with suppress(StateError):  # what counts twice, or is given back twice, does nothing
                state.apply(_event(state, step))
            used_now = PlanningContext(state, FAITHFUL, NOW_MS).quotas.now.used
            after.append(amounts_of(state, used_now[QueueName(namespace)]))
        return after


def engine_eligibility(row: Json, settings: ElasticQuotaSettings) -> bool:
    """Return whether the incoming pod may take a place from others, be there need or not."""
    state = state_of(row)
    context = PlanningContext(state, settings, NOW_MS)
    for workload in state.workloads.values():
        context.restore_nominations(workload)
    pending = context.pending_pod(*only_pod(state, row["incoming"]))
    violation = _unless_hopeless(row, context, pending)
    return PodPreemption(context, pending, violation).ineligible_reason() is None


def engine_run(row: Json) -> set[str]:
    """Return the names of the pods that have a node in the end; who is driven out is gone."""
    state = state_of(row)
    policy = ElasticQuotaPolicy(FAITHFUL)
    for _ in range(ROUNDS):
        plan = policy.plan(state, NOW_MS)
        apply(state, plan)
        for each in plan.decisions:
            if isinstance(each, Evict):
                state.apply(WorkloadRemoved(each.workload))
    return {run.pod_sets.names[pod] for run in state.runs.values() for pod in run.pods}


def _unless_hopeless(
    row: Json, context: PlanningContext, pending: PendingPod
) -> QuotaViolation | None:
    """Return what refused the pod; a row may say instead that its node can never hold it."""
    if row.get("statusOfNominatedNode") == "UnschedulableAndUnresolvable":
        return None
    return context.admission.violation(pending)


def _asked(quota: Json, request: ByResource) -> tuple[PlanningContext, PendingPod, QuotaCheck]:
    pod = {"name": "asks", "namespace": "ns1", "requests": _texts(request)}
    state = state_of({"nodes": [], "quotas": [quota], "pods": [], "incoming": pod})
    context = PlanningContext(state, FAITHFUL, NOW_MS)
    pending = context.pending_pod(*only_pod(state, pod))
    return context, pending, context.admission.check(pending, after_termination=False)


def _quota(minimum: ByResource | None, maximum: ByResource | None, used: ByResource) -> Json:
    return {
        "namespace": "ns1",
        "min": None if minimum is None else _texts(minimum),
        "max": None if maximum is None else _texts(maximum),
        "usedFixed": _texts(used),
    }


def _texts(amounts: ByResource) -> dict[str, str]:
    """Return amounts as quantities; cpu is in thousandths."""
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in amounts.items()}


def _event(state: ClusterState, step: Step) -> WorkloadStarted | WorkloadStopped:
    name = WorkloadName(step.pod)
    pods = state.workloads[name].pods()
    if step.verb == "reserve":
        placements = (Placement(pods[0], ELSEWHERE),)
        return WorkloadStarted(workload=name, placements=placements, at_ms=NOW_MS)
    return WorkloadStopped(workload=name, pods=pods)
