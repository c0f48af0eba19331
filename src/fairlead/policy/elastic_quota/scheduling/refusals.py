"""Refusals that cannot have changed, so that a pod is not tried again in vain.

Pods that ask for the same are refused for the same reason, as long as nothing happened that the
reason depends on. There are three kinds. Who is over the max of its namespace with nobody less
important there depends on that quota alone. Who finds the pool exhausted, with nobody less
important in its namespace, depends on the sums of all quotas. For both, whatever happens on nodes
is of no help. Everybody else depends on the nodes and on who holds them, too; so does whom a rule
refuses only until those have left who are leaving.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, QuotaCheck, QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod

Answer: TypeAlias = tuple[Reason, tuple[FailedClaim, ...]]


class _Known(NamedTuple):
    facts: object
    answer: Answer


class UnschedulableCache:
    """What was refused in earlier turns, of this plan and of the one before."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._known: dict[Hashable, _Known] = {}
        self._before: dict[Hashable, _Known] = {}
        self._just_now: dict[Hashable, tuple[int, Answer]] = {}  # after how many changes

    def next_plan(self) -> None:
        """Keep what the last plan met, and forget what was known longer."""
        self._before, self._known = self._known, {}
        self._just_now = {}

    def just_now(
        self, context: PlanningContext, pending_pods: Sequence[PendingPod]
    ) -> Answer | None:
        """Return why such *askers* were refused in this plan, if nothing happened since.

        They are one pod, or all that a gang needs.
        """
        answer = self._just_now.get(_kind(context, pending_pods))
        is_fresh = answer is not None and answer[0] == context.changes
        if not is_fresh or _is_nominated(context, pending_pods):
            return None
        return answer[1] if answer else None

    def known(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
    ) -> Answer | None:
        """Return why *askers* are refused, if that is known and cannot have changed.

        Law: what is returned is what asking again would give.
        """
        if _is_nominated(context, pending_pods):
            return None
        kind = _kind(context, pending_pods)
        known = self._known.get(kind) or self._before.get(kind)
        if known is None or known.facts != _facts(context, pending_pods, violation):
            return None
        self._known[kind] = known
        self._just_now[kind] = (context.changes, known.answer)
        return known.answer

    def remember(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
        answer: Answer,
    ) -> None:
        """Note why *askers* were refused just now."""
        if not _is_nominated(context, pending_pods):
            kind = _kind(context, pending_pods)
            self._known[kind] = _Known(_facts(context, pending_pods, violation), answer)
            self._just_now[kind] = (context.changes, answer)


def _is_nominated(context: PlanningContext, pending_pods: Sequence[PendingPod]) -> bool:
    return any(context.nominations.node_of(each.key) is not None for each in pending_pods)


def _kind(context: PlanningContext, pending_pods: Sequence[PendingPod]) -> Hashable:
    """Return all about pods that decides whether they are refused."""
    first = pending_pods[0]
    own = first.workload.extension
    whole: Hashable = None
    if isinstance(own, ElasticPods):
        whole = (own.preemption_policy, own.min_resources, own.schedule_timeout_s)
    return (
        first.queue,
        first.workload.namespace,
        first.priority,
        whole,
        tuple([_pod_kind(context, each) for each in pending_pods]),
    )


def _pod_kind(context: PlanningContext, pending: PendingPod) -> Hashable:
    """Return what matters of a pod; labels and its turn only where others look at them."""
    wanted = pending.pod_set
    around = (wanted.labels, pending.order) if context.fit.depends_on_other_pods(pending) else ()
    return (pending.requests, pending.charge, pending.named, wanted.constraints, around)


def _facts(
    context: PlanningContext, pending_pods: Sequence[PendingPod], violation: QuotaViolation | None
) -> object:
    """Return what the refusal depends on, by the kind that it is of."""
    pending = pending_pods[0]
    queue = pending.queue
    if violation is not None and queue is not None and len(pending_pods) == 1:
        check = context.admission.check(pending, after_termination=context.expects_termination)
        after_termination = context.admission.first_violation(pending, check)
        if after_termination is not None and _takes_from_nobody(context, pending, check):
            if violation.rule == after_termination.rule == OVER_MAX:
                return (violation, context.quota_facts(queue))
            return (violation, context.all_quota_facts())
    return (violation, context.all_quota_facts(), context.node_facts())


def _takes_from_nobody(context: PlanningContext, pending: PendingPod, check: QuotaCheck) -> bool:
    """Return whether a pod may take from its own namespace only, where nobody is less important."""
    lowest = context.running.lowest_priority(pending.queue)
    is_lowest = lowest is None or lowest >= pending.priority
    return is_lowest and context.admission.is_over_min(pending, check)
