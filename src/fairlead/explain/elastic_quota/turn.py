"""One workload under ElasticQuotas as a plan finds it, and what is weighed at its turn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.explain.jobs.nodes import HAVE_ROOM, Free, NodeStanding, asked_axes
from fairlead.explain.text.amounts import AxisNumbers, by_interest
from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.plan import Evict, Reserve, Start, Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.elastic_quota.api import (
    NOT_READY,
    SCHEDULE_TIMED_OUT,
    SCHEDULING_GATED,
    WOULD_BE_EVICTED,
    WOULD_PREEMPT_IN_VAIN,
    CandidateScope,
    NodeOutcome,
    PendingPod,
    PlanningContext,
    PlanReplay,
    PodPreemption,
    candidate_scope,
    node_defects,
    readiness,
    whole_gang,
)
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.obstacles import INVALID_OBJECT, OTHER_SCHEDULER, POD_GROUP_NOT_FOUND

_WITHOUT_A_TURN: Final = (
    INVALID_OBJECT,
    NOT_READY,
    OTHER_SCHEDULER,
    POD_GROUP_NOT_FOUND,
    SCHEDULING_GATED,
    SCHEDULE_TIMED_OUT,
    WOULD_BE_EVICTED,
    WOULD_PREEMPT_IN_VAIN,
)


class ElasticJobView:
    """What a plan comes to for one workload."""

    def __init__(
        self, state: ClusterState, settings: ElasticQuotaSettings, job: WorkloadName, now_ms: int
    ) -> None:
        """Plan for *state*, which is left as it is."""
        self.state: Final = state
        self.settings: Final = settings
        self.now_ms: Final = now_ms
        self.workload: Final = state.workloads[job]
        self._replay: Final = PlanReplay(state, settings, now_ms)
        self.plan: Final = self._replay.plan
        self.decisions: Final = [each for each in self.plan.decisions if each.workload == job]
        self.victims: Final = [
            each
            for each in self.plan.decisions
            if isinstance(each, Evict) and each.beneficiary == job
        ]

    def gainers(self) -> list[Reserve]:
        """Return what those get for whose sake it loses pods."""
        names = {each.beneficiary for each in self.decisions if isinstance(each, Evict)}
        return [
            each
            for each in self.plan.decisions
            if isinstance(each, Reserve) and each.workload in names
        ]

    def line(self) -> list[WorkloadName]:
        """Return the waiting workloads, in the order of their turns."""
        turns = [each.workload for each in self.plan.decisions if not isinstance(each, Evict)]
        return list(dict.fromkeys(turns))

    def seeks(self) -> Start | Reserve | Wait | None:
        """Return what came of its last turn; None if it had none."""
        found = [each for each in self.decisions if isinstance(each, Start | Reserve | Wait)]
        last = found[-1] if found else None
        is_barred = isinstance(last, Wait) and last.reason.code in _WITHOUT_A_TURN
        return None if is_barred else last

    @contextmanager
    def context_at_turn(self) -> Iterator[PlanningContext]:
        """Give the planning context just before its last attempt, which it must have had.

        It may be changed: everything is undone at the end.
        """
        last = self.seeks()
        assert last is not None, "the workload had an attempt"
        with self._replay.context_before(last) as context:
            yield context


Rule: TypeAlias = Literal["max", "pool", "min"]


class RuleLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one rule on one axis: used + nominated + request against a bound."""

    rule: Rule
    numbers: AxisNumbers  # used (of the pool: by all), nominated, request, bound
    holds: bool


class ElasticTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What was weighed at the last turn of a workload."""

    pods: tuple[str, ...]  # that were to start together, or the first that was tried
    rules: tuple[RuleLine, ...]  # none without a quota
    nodes: tuple[Tally, ...]  # what they are to the first of those pods
    standings: tuple[NodeStanding, ...]  # the same, node by node
    asked: CandidateScope  # which pods are candidates
    over_min: tuple[QueueName, ...]  # other namespaces that use more than their min
    tries: tuple[NodeOutcome, ...]  # what came of nodes for the first pod; none if none was tried
    looks_later: bool  # whether terminating pods count as gone for a preemptor


def elastic_turn(view: ElasticJobView) -> ElasticTurn | None:
    """Return what was weighed for a workload; None if it had no turn. Cost: each node, judged."""
    seeks = view.seeks()
    if seeks is None:
        return None
    with view.context_at_turn() as context:
        pods, is_gang = _pods(view, context)
        pending_pods = [context.pending_pod(view.workload, pod) for pod in pods]
        for pending in pending_pods if is_gang else ():
            context.withdraw(pending)  # what its own pods wait for is not in their way
        whole = (
            whole_gang(context.state, context.charges, pending_pods) if is_gang else pending_pods[0]
        )
        later = context.admission.check(whole, after_termination=context.expects_termination)
        asked = candidate_scope(context, whole, later)
        over = later.use.is_over_min.items()
        return ElasticTurn(
            pods=tuple(view.workload.pod_name(pod) for pod in pods),
            rules=tuple(_rules(context, whole)),
            nodes=node_defects(context, pending_pods[0]),
            standings=_standings(context, pending_pods[0]),
            asked=asked,
            over_min=tuple(
                sorted(name for name, is_over in over if is_over and name != whole.queue)
            ),
            tries=() if isinstance(seeks, Start) else _tries(context, pending_pods[0], asked),
            looks_later=context.expects_termination,
        )


def _pods(view: ElasticJobView, context: PlanningContext) -> tuple[list[PodId], bool]:
    """Return the pods that were tried together: all that a gang needs, else one; and which."""
    seeks = view.seeks()
    ready = readiness(context.state, view.workload)
    pods = list(ready.pods)
    if isinstance(seeks, Start | Reserve):
        pods = [place.pod for place in seeks.placements]
    return pods[: ready.needed or 1], ready.needed > 0


def _rules(context: PlanningContext, pending: PendingPod) -> Iterator[RuleLine]:
    """Yield the two rules of admission, then the min, which decides which pods are candidates."""
    queue, books = pending.queue, context.quotas
    if queue is None:
        return
    now = context.admission.check(pending, after_termination=False)
    later = context.admission.check(pending, after_termination=context.expects_termination)
    own, request = now.nominated.in_quota, pending.charge
    used = now.use.used[queue]
    yield from _lines(context, "max", (used, own, request), books.ceiling[queue], now.own_axes)
    refusal = context.admission.violation(pending)
    pool = later if refusal is not None and refusal.after_termination else now
    sums = (pool.use.pool, pool.nominated.in_pool, request)
    yield from _lines(context, "pool", sums, books.pool, pool.pool_axes)
    least, waiting = books.guaranteed[queue], later.nominated.in_quota
    numbers = (later.use.used[queue], waiting, request)
    yield from _lines(context, "min", numbers, least, later.own_axes)


def _lines(
    context: PlanningContext,
    rule: Rule,
    numbers: tuple[Sequence[int], Amounts, Amounts],
    bounds: Limits,
    axes: Sequence[int],
) -> Iterator[RuleLine]:
    used, nominated, request = numbers
    more = [a + b for a, b in zip(nominated, request, strict=True)]
    places = {context.state.axes.axes[at]: at for at in axes}
    for axis in by_interest(places):
        at = places[axis]
        yield RuleLine(
            rule=rule,
            numbers=AxisNumbers(
                axis,
                {
                    "used": used[at],
                    "nominated": nominated[at],
                    "request": request[at],
                    "bound": bounds[at],
                },
            ),
            holds=not exceeds(used, more, bounds, (at,)),
        )


def _standings(context: PlanningContext, pending: PendingPod) -> tuple[NodeStanding, ...]:
    asked = asked_axes(context.state, pending.requests)
    found = []
    for name, node in sorted(context.state.nodes.items()):
        now, later = (
            context.fit.free(pending, name),
            context.fit.free(pending, name, after_termination=True),
        )
        # What nominated pods wait for is not free, and may be more than what is free as yet.
        free = [
            Free(axis=axis, now=(max(0, now[at]),), later=(max(0, later[at]),))
            for axis, at in asked
        ]
        found.append(
            NodeStanding(
                node=name,
                what=context.fit.defect(pending, name) or HAVE_ROOM,
                free=tuple(free) if node.ready else (),
            )
        )
    return tuple(found)


def _tries(
    context: PlanningContext, pending: PendingPod, asked: CandidateScope
) -> tuple[NodeOutcome, ...]:
    """Return the outcome of each node without all candidates; none if it may not preempt."""
    refusal = context.admission.violation(pending)
    claim = PodPreemption(context, pending, refusal, asked)
    return () if claim.ineligible_reason() is not None else tuple(claim.outcomes().values())
