"""Scheduling one pod: it starts, is nominated to a node, or is unschedulable in this plan.

The result is applied to the planning context, so that the next pod sees it.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from fairlead.model.plan import FailedClaim, Reason
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.cross_node import least_disruptive
from fairlead.policy.elastic_quota.preemption.node_search import STILL_TERMINATING, PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import CandidateScope
from fairlead.policy.elastic_quota.quota.admission import QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.reasons import (
    WAITS_FOR_LEAVING,
    eviction_reason,
    failed_preemption,
    nomination_reason,
    start_reason,
    wait_reason,
)


class Started(NamedTuple):
    """The pod starts now."""

    pending: PendingPod
    node: str
    reason: Reason


class Eviction(NamedTuple):
    """A victim, and why it is evicted."""

    victim: RunningPod
    reason: Reason


class Nominated(NamedTuple):
    """The pod waits for a node; ``evictions`` are the pods that are evicted for it now."""

    pending: PendingPod
    node: str
    evictions: tuple[Eviction, ...]
    waits_for: tuple[RunningPod, ...]
    reason: Reason


class Unschedulable(NamedTuple):
    """The pod waits, and no node will be freed for it."""

    reason: Reason
    claims: tuple[FailedClaim, ...]


PodResult: TypeAlias = Started | Nominated | Unschedulable


class KnownResults(Protocol):
    """Results of earlier attempts that cannot have changed; asking saves an attempt.

    The pods asked about are one pod, or all that a gang needs.
    """

    def unchanged(
        self, context: PlanningContext, pending_pods: Sequence[PendingPod]
    ) -> Unschedulable | None:
        """Return the result for equal pods in this cycle, if nothing happened since."""

    def known(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
    ) -> Unschedulable | None:
        """Return the result that an attempt would have, if it is known."""

    def remember(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
        result: Unschedulable,
    ) -> None:
        """Note the result of an attempt."""


class NoKnownResults:
    """Knows no result, so that every pod is attempted."""

    def unchanged(self, *_: object) -> None:
        """Return None."""

    def known(self, *_: object) -> None:
        """Return None."""

    def remember(self, *_: object) -> None:
        """Note nothing."""


class PodScheduling:
    """Schedules pods, one after the other, within one planning context."""

    def __init__(self, context: PlanningContext, known_results: KnownResults) -> None:
        """Schedule within *context*."""
        self._context = context
        self._known_results = known_results

    def schedule(self, pending: PendingPod) -> PodResult:
        """Attempt *pending*."""
        context = self._context
        known = self._known_results.unchanged(context, (pending,))
        if known is not None:
            return known
        violation = context.admission.violation(pending)
        if violation is None:
            node = context.fit.find(pending)
            if node is not None:
                reason = start_reason(context, pending)
                context.start(pending, node)
                return Started(pending, node, reason)
        known = self._known_results.known(context, (pending,), violation)
        if known is not None:
            return known
        preemption = PodPreemption(context, pending, violation)
        nominated = self._preempt(preemption)
        if nominated is not None:
            return nominated
        why = wait_reason(context, pending, violation)
        unschedulable = Unschedulable(why, (failed_preemption(context, preemption),))
        self._known_results.remember(context, (pending,), violation, unschedulable)
        context.withdraw(pending)  # the node to which it was nominated is open to others
        return unschedulable

    def preempt_on_one_node(self, preemption: PodPreemption) -> Nominated | None:
        """Preempt for one pod on one node, if it may and that helps."""
        ineligible_reason = preemption.ineligible_reason()
        if ineligible_reason == STILL_TERMINATING:
            return self._keep_nomination(preemption.pending)
        best = preemption.best() if ineligible_reason is None else None
        if best is None:
            return None
        return self.nominate_for(preemption.pending, best.node, preemption.scope, best.victims)

    def _preempt(self, preemption: PodPreemption) -> Nominated | None:
        """Preempt for one pod, on one node if that is enough."""
        context, pending = self._context, preemption.pending
        nominated = self.preempt_on_one_node(preemption)
        if nominated is not None or not context.settings.cross_node_preemption:
            return nominated
        if not preemption.may_succeed_across_nodes():
            return None
        cross_node = least_disruptive(context, [pending], pending.charge)
        if cross_node is None:
            return None
        return self.nominate_for(pending, cross_node.nodes[0], cross_node.scope, cross_node.victims)

    def nominate_for(
        self,
        pending: PendingPod,
        node: str,
        scope: CandidateScope,
        victims: Sequence[RunningPod],
        whole: PendingPod | None = None,
    ) -> Nominated:
        """Evict *victims* and nominate *pending* to *node*.

        The reason has the numbers of *whole*, if a gang is scheduled as one.
        """
        context = self._context
        reason = nomination_reason(context, whole or pending, scope, tuple(victims))
        evictions = []
        for victim in reversed(victims):  # a quota loses its pods of lowest priority first
            if not victim.is_terminating:
                evictions.append(Eviction(victim, eviction_reason(context, pending, scope, victim)))
                context.evict(victim)
        waits_for = tuple(victims) or context.running.terminating(node)
        context.nominate(pending, node)
        return Nominated(pending, node, tuple(reversed(evictions)), waits_for, reason)

    def _keep_nomination(self, pending: PendingPod) -> Nominated:
        node = self._context.nominations.node_of(pending.key)
        assert node is not None, "only a nominated pod waits for termination"
        reason = Reason(code=WAITS_FOR_LEAVING, queue=pending.queue)
        return Nominated(pending, node, (), self._context.running.terminating(node), reason)
