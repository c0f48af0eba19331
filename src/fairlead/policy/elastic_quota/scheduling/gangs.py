"""Scheduling one gang: as many pods as it needs start together, or none.

Both quota rules are checked for the sum of those pods. If not all of them can start, each one is
placed or preempts by the rule for a single pod. If that is not enough for all, or if the candidates
are so few that the least disruptive set can be found, victims are sought for all pods at once. What
was taken for a gang that does not get all it needs is rolled back.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.plan import Reason, Tally
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.cross_node import (
    CrossNodeOutcome,
    CrossNodePreemption,
    least_disruptive,
)
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlacement
from fairlead.policy.elastic_quota.preemption.node_search import (
    PodPreemption,
)
from fairlead.policy.elastic_quota.preemption.victims import CandidateScope
from fairlead.policy.elastic_quota.quota.admission import QuotaViolation
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod, whole_gang
from fairlead.policy.elastic_quota.reasons import (
    NO_NODE_FITS,
    failed_preemption,
    node_defects,
    start_reason,
    wait_reason,
)
from fairlead.policy.elastic_quota.scheduling.pods import (
    KnownResults,
    Nominated,
    PodScheduling,
    Started,
    Unschedulable,
)

SCHEDULE_TIMED_OUT: Final = "ScheduleTimedOut"


class GangStarted(NamedTuple):
    """All pods that a gang needs start now, for one reason."""

    pods: tuple[Started, ...]
    reason: Reason


class GangNominated(NamedTuple):
    """All pods that a gang needs are nominated to nodes."""

    pods: tuple[Nominated, ...]


GangResult: TypeAlias = GangStarted | GangNominated | Unschedulable


class GangScheduling:
    """Schedules gangs within one planning context."""

    def __init__(
        self,
        context: PlanningContext,
        pod_scheduling: PodScheduling,
        known_results: KnownResults,
    ) -> None:
        """Schedule within *context*, with the rules for single pods."""
        self._context: Final = context
        self._pods: Final = pod_scheduling
        self._known_results: Final = known_results

    def schedule(self, workload: Workload, pods: Sequence[PodId], *, may_wait: bool) -> GangResult:
        """Attempt a gang that needs all of *pods*: now, or if it *may_wait*, by nomination."""
        context = self._context
        pending_pods = [context.pending_pod(workload, pod) for pod in pods]
        whole = whole_gang(context.state, context.charges, pending_pods)
        violation = context.admission.violation(whole)
        known = self._known_results.known(context, pending_pods, violation)
        if known is not None:
            return known if may_wait else _timed_out(whole)
        before = [context.nominations.node_of(pending.key) for pending in pending_pods]
        for pending in pending_pods:
            context.withdraw(pending)  # its own nominations do not block it
        violation = context.admission.violation(whole)
        placed = None if violation else self._start(pending_pods, before, whole)
        if placed is not None:
            return placed
        if not may_wait:
            return _timed_out(whole)
        nominated = self._preempt(pending_pods, before, whole)
        if nominated is not None:
            return nominated
        unschedulable = self._unschedulable(whole, pending_pods, violation)
        if not any(before):
            self._known_results.remember(context, pending_pods, violation, unschedulable)
        return unschedulable

    def _start(
        self, pending_pods: Sequence[PendingPod], before: Sequence[str | None], whole: PendingPod
    ) -> GangStarted | None:
        """Start all pods, each on its best node; if one finds none, wherever all fit."""
        context = self._context
        reason = start_reason(context, whole)
        started = self._start_each(pending_pods, before, reason)
        if started is None:
            nodes = JointPlacement(context, pending_pods, after_termination=False).find(())
            started = None if nodes is None else self._start_each(pending_pods, nodes, reason)
        return None if started is None else GangStarted(tuple(started), reason)

    def _start_each(
        self, pending_pods: Sequence[PendingPod], wanted: Sequence[str | None], reason: Reason
    ) -> list[Started] | None:
        """Start all pods on the wanted nodes, or on the best ones; None: one finds no node."""
        context = self._context
        mark = context.mark()
        started = []
        for pending, own in zip(pending_pods, wanted, strict=True):
            is_free = own is not None and context.fit.defect(pending, own) is None
            node = own if is_free else context.fit.find(pending)
            if node is None:
                context.roll_back(mark)
                return None
            context.start(pending, node)
            started.append(Started(pending, node, reason))
        context.keep(mark)
        return started

    def _preempt(
        self, pending_pods: Sequence[PendingPod], before: Sequence[str | None], whole: PendingPod
    ) -> GangNominated | None:
        """Preempt for one pod after the other, or for all at once if that may be better."""
        context = self._context
        own = pending_pods[0].workload.extension
        if isinstance(own, ElasticPods) and own.preemption_policy == "Never":
            return None
        preemption = CrossNodePreemption(context, pending_pods, whole.charge, protects_min=False)
        if preemption.can_never_fit:
            return None
        found = self._preempt_one_by_one(pending_pods, before, preemption)
        # The best for one pod after the other need not be the best for all.
        is_final = found is not None and (not found.victims or not preemption.is_exhaustive)
        if not is_final and context.settings.cross_node_preemption:
            cross_node = least_disruptive(context, pending_pods, whole.charge)
            if cross_node is not None and (
                found is None or preemption.is_better(cross_node, found)
            ):
                found = cross_node
        return None if found is None else self._nominated(pending_pods, whole, found)

    def _preempt_one_by_one(
        self,
        pending_pods: Sequence[PendingPod],
        before: Sequence[str | None],
        whole: CrossNodePreemption,
    ) -> CrossNodeOutcome | None:
        """Return the outcome of one preemption after the other, without needless victims."""
        context = self._context
        mark = context.mark()
        found = []
        for pending, own in zip(pending_pods, before, strict=True):
            nominated = self._preempt_one(pending, own, whole.scope)
            if nominated is None:
                break
            found.append(nominated)
        context.roll_back(mark)
        if len(found) < len(pending_pods):
            return None
        nodes = tuple([each.node for each in found])
        evictions = [eviction.victim for each in found for eviction in each.evictions]
        if not whole.holds(nodes, evictions if context.expects_termination else _awaited(found)):
            return None  # what is enough for each may not be for all
        victims = tuple(sorted(whole.reprieve(evictions, nodes)))
        return CrossNodeOutcome(whole.scope, nodes, victims)

    def _preempt_one(
        self, pending: PendingPod, own: str | None, scope: CandidateScope
    ) -> Nominated | None:
        context = self._context
        if own is not None:
            context.nominate(pending, own)  # it keeps its nomination if it may
        violation = context.admission.violation(pending)
        node = None if violation else context.fit.find(pending)
        if node is not None:
            return self._pods.nominate_for(pending, node, scope, ())
        return self._pods.preempt_on_one_node(PodPreemption(context, pending, violation, scope))

    def _nominated(
        self, pending_pods: Sequence[PendingPod], whole: PendingPod, cross_node: CrossNodeOutcome
    ) -> GangNominated:
        """Evict all victims, on behalf of the first pod, and nominate each pod to its node."""
        found = []
        victims: Sequence[RunningPod] = cross_node.victims
        for pending, node in zip(pending_pods, cross_node.nodes, strict=True):
            found.append(self._pods.nominate_for(pending, node, cross_node.scope, victims, whole))
            victims = ()
        return GangNominated(tuple(found))

    def _unschedulable(
        self,
        whole: PendingPod,
        pending_pods: Sequence[PendingPod],
        violation: QuotaViolation | None,
    ) -> Unschedulable:
        context = self._context
        if violation is not None:
            reason = wait_reason(context, whole, violation)
        else:
            reason = Reason(
                code=NO_NODE_FITS,
                queue=whole.queue,
                tallies=(*node_defects(context, pending_pods[0]), *_together(pending_pods)),
            )
        preemption = PodPreemption(context, whole, violation)
        return Unschedulable(reason, (failed_preemption(context, preemption),))


def _together(pending_pods: Sequence[PendingPod]) -> tuple[Tally, ...]:
    """Return how many pods start together; the last one of a gang is as one without a gang."""
    count = len(pending_pods)
    return (
        (Tally(count=count, of=count, things="pods", what="start together"),) if count > 1 else ()
    )


def _timed_out(whole: PendingPod) -> Unschedulable:
    """Return that a gang cannot start and waited too long, whatever else is known about it."""
    return Unschedulable(Reason(code=SCHEDULE_TIMED_OUT, queue=whole.queue), ())


def _awaited(pods: Sequence[Nominated]) -> list[RunningPod]:
    """Return all pods that are awaited, once each, whether evicted now or before."""
    by_key = {candidate.key: candidate for each in pods for candidate in each.waits_for}
    return list(by_key.values())
