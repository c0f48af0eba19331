"""What is weighed when a workload has its turn under ElasticQuotas: rules, nodes, who may be asked.

All numbers are those of the policy, asked at the desk as it was then.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.explain.axis_order import by_interest
from fairlead.explain.elastic_job_view import ElasticJobView
from fairlead.explain.node_standing import POD_SLOTS, Free, NodeStanding
from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, Axis, Limits, QueueName
from fairlead.model.plan import Reserve, Start, Tally
from fairlead.model.workload import PodId
from fairlead.policy.elastic_quota.api import (
    CandidateScope,
    NodeOutcome,
    PendingPod,
    PlanningContext,
    PodPreemption,
    candidate_scope,
    node_defects,
    readiness,
    whole_gang,
)

Rule: TypeAlias = Literal["max", "pool", "min"]


class RuleLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one rule on one axis: used + nominated + request against a bound."""

    rule: Rule
    axis: Axis
    used: int  # of the pool: by all
    nominated: int
    request: int
    bound: int | None
    holds: bool


class ElasticTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What was weighed at the last turn of a workload."""

    pods: tuple[str, ...]  # that were to start together, or the first that was tried
    rules: tuple[RuleLine, ...]  # none without a quota
    nodes: tuple[Tally, ...]  # what they are to the first of those pods
    standings: tuple[NodeStanding, ...]  # the same, node by node
    asked: CandidateScope  # who may be asked to give way
    over_min: tuple[QueueName, ...]  # other namespaces that use more than their min
    tries: tuple[NodeOutcome, ...]  # what came of nodes for the first pod; none if none was tried
    looks_later: bool  # whether who is leaving counts as gone for who claims


def elastic_turn(view: ElasticJobView) -> ElasticTurn | None:
    """Return what was weighed for a workload; None if it had no turn. Cost: each node, judged."""
    seeks = view.seeks()
    if seeks is None:
        return None
    with view.desk_at_turn() as desk:
        pods, is_gang = _pods(view, desk)
        askers = [desk.pending_pod(view.workload, pod) for pod in pods]
        for asker in askers if is_gang else ():
            desk.withdraw(asker)  # what its own pods wait for is not in their way
        whole = whole_gang(desk.state, desk.charges, askers) if is_gang else askers[0]
        later = desk.admission.check(whole, after_termination=desk.expects_termination)
        asked = candidate_scope(desk, whole, later)
        over = later.use.is_over_min.items()
        return ElasticTurn(
            pods=tuple(view.workload.pod_name(pod) for pod in pods),
            rules=tuple(_rules(desk, whole)),
            nodes=node_defects(desk, askers[0]),
            standings=_standings(desk, askers[0]),
            asked=asked,
            over_min=tuple(
                sorted(name for name, is_over in over if is_over and name != whole.queue)
            ),
            tries=() if isinstance(seeks, Start) else _tries(desk, askers[0], asked),
            looks_later=desk.expects_termination,
        )


def _pods(view: ElasticJobView, desk: PlanningContext) -> tuple[list[PodId], bool]:
    """Return the pods that were tried together: all that a gang needs, else one; and which."""
    seeks = view.seeks()
    ready = readiness(desk.state, view.workload)
    pods = list(ready.pods)
    if isinstance(seeks, Start | Reserve):
        pods = [place.pod for place in seeks.placements]
    return pods[: ready.needed or 1], ready.needed > 0


def _rules(desk: PlanningContext, asker: PendingPod) -> Iterator[RuleLine]:
    """Yield the two rules of admission, then the min, which decides who may be asked."""
    queue, books = asker.queue, desk.quotas
    if queue is None:
        return
    now = desk.admission.check(asker, after_termination=False)
    later = desk.admission.check(asker, after_termination=desk.expects_termination)
    own, request = now.nominated.in_quota, asker.charge
    used = now.use.used[queue]
    yield from _lines(desk, "max", (used, own, request), books.ceiling[queue], now.own_axes)
    refusal = desk.admission.violation(asker)
    pool = later if refusal is not None and refusal.after_termination else now
    sums = (pool.use.pool, pool.nominated.in_pool, request)
    yield from _lines(desk, "pool", sums, books.pool, pool.pool_axes)
    least, waiting = books.guaranteed[queue], later.nominated.in_quota
    numbers = (later.use.used[queue], waiting, request)
    yield from _lines(desk, "min", numbers, least, later.own_axes)


def _lines(
    desk: PlanningContext,
    rule: Rule,
    numbers: tuple[Sequence[int], Amounts, Amounts],
    bounds: Limits,
    axes: Sequence[int],
) -> Iterator[RuleLine]:
    used, nominated, request = numbers
    more = [a + b for a, b in zip(nominated, request, strict=True)]
    places = {desk.state.axes.axes[at]: at for at in axes}
    for axis in by_interest(places):
        at = places[axis]
        yield RuleLine(
            rule=rule,
            axis=axis,
            used=used[at],
            nominated=nominated[at],
            request=request[at],
            bound=bounds[at],
            holds=not exceeds(used, more, bounds, (at,)),
        )


def _standings(desk: PlanningContext, asker: PendingPod) -> tuple[NodeStanding, ...]:
    resources = desk.state.resources
    places = {
        Axis(resource): at
        for at, (resource, need) in enumerate(zip(resources, asker.requests, strict=True))
        if need > 0 and resource != POD_SLOTS
    }
    axes = by_interest(places)
    found = []
    for name, node in sorted(desk.state.nodes.items()):
        now, later = desk.fit.free(asker, name), desk.fit.free(asker, name, after_termination=True)
        # What nominated pods wait for is not free, and may be more than what is free as yet.
        free = [
            Free(axis=axis, now=(max(0, now[at]),), later=(max(0, later[at]),))
            for axis, at in ((axis, places[axis]) for axis in axes)
        ]
        found.append(
            NodeStanding(
                node=name,
                what=desk.fit.defect(asker, name) or "have room",
                free=tuple(free) if node.ready else (),
            )
        )
    return tuple(found)


def _tries(
    desk: PlanningContext, asker: PendingPod, asked: CandidateScope
) -> tuple[NodeOutcome, ...]:
    """Return what comes of each node if those leave who may be asked; none if it may not try."""
    refusal = desk.admission.violation(asker)
    claim = PodPreemption(desk, asker, refusal, asked)
    return () if claim.ineligible_reason() is not None else tuple(claim.outcomes().values())
