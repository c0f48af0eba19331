"""Remembers why pods were unschedulable, so that equal pods are not attempted in vain.

Equal pods have the same result until something changes that the result depends on. There are three
cases. A pod over the max of its namespace, with no pod of lower priority there, depends on that
quota alone. A pod that finds the pool exhausted, with no pod of lower priority in its namespace,
depends on the sums of all quotas. In both cases no change on a node helps. Every other result
depends on the nodes and the running pods as well, as does one that holds only until terminating
pods are gone.

Without the results of the cycle before, a plan for 1,000 pods that wait takes more than three times
as long when one more comes; without those of the same cycle twice as long.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, QuotaCheck, QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.scheduling.pods import Unschedulable


class _Known(NamedTuple):
    facts: object
    result: Unschedulable


class UnschedulableCache:
    """Results of this cycle and of the one before, possibly of another plan."""

    def __init__(self) -> None:
        """Start empty."""
        self._known: dict[Hashable, _Known] = {}
        self._before: dict[Hashable, _Known] = {}
        # With the number of changes in the cycle before each result.
        self._this_cycle: dict[Hashable, tuple[int, Unschedulable]] = {}
        self._quota_facts: tuple[int, object] | None = None

    def next_cycle(self) -> None:
        """Keep what the last cycle met, and forget what is older."""
        self._before, self._known = self._known, {}
        self._this_cycle = {}
        self._quota_facts = None

    def unchanged(
        self, context: PlanningContext, pending_pods: Sequence[PendingPod]
    ) -> Unschedulable | None:
        """Return the result for equal pods in this cycle, if nothing happened since."""
        found = self._this_cycle.get(_shape(context, pending_pods))
        if found is None or found[0] != context.changes or _is_nominated(context, pending_pods):
            return None
        return found[1]

    def known(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
    ) -> Unschedulable | None:
        """Return the result for *pending_pods*, if it is known and cannot have changed.

        Law: it equals the result of an attempt.
        """
        if _is_nominated(context, pending_pods):
            return None
        shape = _shape(context, pending_pods)
        known = self._known.get(shape) or self._before.get(shape)
        if known is None or known.facts != self._facts(context, pending_pods, violation):
            return None
        self._known[shape] = known
        self._this_cycle[shape] = (context.changes, known.result)
        return known.result

    def remember(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
        result: Unschedulable,
    ) -> None:
        """Note why *pending_pods* are unschedulable, and what that depends on."""
        if not _is_nominated(context, pending_pods):
            shape = _shape(context, pending_pods)
            self._known[shape] = _Known(self._facts(context, pending_pods, violation), result)
            self._this_cycle[shape] = (context.changes, result)

    def _facts(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
    ) -> object:
        """Return what the result depends on, as a value to compare."""
        pending = pending_pods[0]
        queue = pending.queue
        if violation is not None and queue is not None and len(pending_pods) == 1:
            check = context.admission.check(pending, after_termination=context.expects_termination)
            then = context.admission.first_violation(pending, check)
            if then is not None and _has_no_candidates(context, pending, check):
                if violation.rule == then.rule == OVER_MAX:
                    return (violation, _facts_of_queue(context, queue))
                return (violation, self._facts_of_all_queues(context))
        return (violation, self._facts_of_all_queues(context), _facts_of_nodes(context))

    def _facts_of_all_queues(self, context: PlanningContext) -> object:
        """Return quotas, their usage and all nominations; computed once per change."""
        if self._quota_facts is None or self._quota_facts[0] != context.changes:
            quotas = context.quotas
            facts = (
                tuple(context.state.queues.values()),
                *[
                    tuple(map(tuple, use.used.values()))
                    for use in (quotas.now, quotas.after_termination)
                ],
                context.nominations.all_facts(),
            )
            self._quota_facts = (context.changes, facts)
        return self._quota_facts[1]


def _facts_of_queue(context: PlanningContext, queue: QueueName) -> object:
    quotas = context.quotas
    used = (tuple(quotas.now.used[queue]), tuple(quotas.after_termination.used[queue]))
    return (context.state.queues[queue], used, context.nominations.facts_of(queue))


def _facts_of_nodes(context: PlanningContext) -> object:
    """Return what shows whether anything changed on a node, or for a protected pod."""
    state = context.state
    protected = (state.catalogue, context.budgets.disruptions(), context.exempt)
    pods = (context.running.fingerprint(), context.started.fingerprint)
    return (pods, protected, state.holds.victims)


def _is_nominated(context: PlanningContext, pending_pods: Sequence[PendingPod]) -> bool:
    return any(context.nominations.node_of(each.key) is not None for each in pending_pods)


def _shape(context: PlanningContext, pending_pods: Sequence[PendingPod]) -> Hashable:
    """Return everything about the pods that decides whether they are schedulable."""
    first = pending_pods[0]
    own = first.workload.extension
    group: Hashable = None
    if isinstance(own, ElasticPods):
        group = (own.preemption_policy, own.min_resources, own.schedule_timeout_s)
    return (
        first.queue,
        first.workload.namespace,
        first.priority,
        group,
        tuple([_pod_shape(context, each) for each in pending_pods]),
    )


def _pod_shape(context: PlanningContext, pending: PendingPod) -> Hashable:
    """Return what matters of a pod; its labels and order only if other pods matter."""
    pod_set = pending.pod_set
    depends = context.fit.depends_on_other_pods(pending)
    others = (pod_set.labels, pending.order) if depends else ()
    return (pending.requests, pending.charge, pending.named, pod_set.constraints, others)


def _has_no_candidates(context: PlanningContext, pending: PendingPod, check: QuotaCheck) -> bool:
    """Return whether a pod may preempt in its own namespace only, and finds no victim there."""
    lowest = context.running.lowest_priority(pending.queue)
    is_lowest = lowest is None or lowest >= pending.priority
    return is_lowest and context.admission.is_over_min(pending, check)
