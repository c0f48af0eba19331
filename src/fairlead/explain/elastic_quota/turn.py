"""One workload under ElasticQuotas as a plan finds it, and what is weighed at its turn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.explain.jobs.nodes import POD_SLOTS, Free, NodeStanding
from fairlead.explain.text.amounts import by_interest
from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, Axis, Limits, QueueName, WorkloadName
from fairlead.model.plan import Decision, Evict, Reserve, Start, Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.claims import Claim, asked_for
from fairlead.policy.elastic_quota.cycle import (
    NOT_READY,
    SCHEDULING_GATED,
    WOULD_BE_EVICTED,
    Cycle,
)
from fairlead.policy.elastic_quota.desk import Desk
from fairlead.policy.elastic_quota.gang_asker import as_one
from fairlead.policy.elastic_quota.gang_turn import SCHEDULE_TIMED_OUT
from fairlead.policy.elastic_quota.node_claim import Asked
from fairlead.policy.elastic_quota.node_outcome import NodeOutcome
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.readiness import readiness
from fairlead.policy.elastic_quota.refusals import Refusals
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.elastic_quota.wait_reasons import UNSUPPORTED_CONSTRAINT, defects
from fairlead.policy.obstacles import INVALID_OBJECT, OTHER_SCHEDULER, POD_GROUP_NOT_FOUND

_WITHOUT_A_TURN: Final = (
    INVALID_OBJECT,
    NOT_READY,
    OTHER_SCHEDULER,
    POD_GROUP_NOT_FOUND,
    SCHEDULING_GATED,
    SCHEDULE_TIMED_OUT,
    UNSUPPORTED_CONSTRAINT,
    WOULD_BE_EVICTED,
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
        policy = ElasticQuotaPolicy(settings)
        self.plan = policy.plan(state, now_ms)
        self._spared = policy.spared
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
        """Return everybody who waits, in the order of their turns."""
        turns = [each.workload for each in self.plan.decisions if not isinstance(each, Evict)]
        return list(dict.fromkeys(turns))

    def seeks(self) -> Start | Reserve | Wait | None:
        """Return what came of its last turn; None if it had none."""
        found = [each for each in self.decisions if isinstance(each, Start | Reserve | Wait)]
        last = found[-1] if found else None
        is_barred = isinstance(last, Wait) and last.reason.code in _WITHOUT_A_TURN
        return None if is_barred else last

    @contextmanager
    def desk_at_turn(self) -> Iterator[Desk]:
        """Give the desk as it was just before its last turn, which it must have had.

        It may be changed: everything is undone at the end.
        """
        last = self.seeks()
        assert last is not None, "who is asked about had a turn"
        with self.state.trial():
            desk = Desk(self.state, self.settings, self.now_ms, spared=self._spared)
            decisions = Cycle(desk, Refusals(), self._held_back()).decisions()
            for _ in range(self._first_of_turn(last)):
                next(decisions)
            # What is nominated is known from the first turn on: so one more is had, and undone.
            mark = desk.mark()
            next(decisions)
            desk.roll_back(mark)
            yield desk

    def _held_back(self) -> dict[WorkloadName, WorkloadName]:
        """Return who waits because it would lose its place at once, and to whom."""
        return {
            each.workload: WorkloadName(each.reason.names[0])
            for each in self.plan.decisions
            if isinstance(each, Wait) and each.reason.code == WOULD_BE_EVICTED
        }

    def _first_of_turn(self, last: Decision) -> int:
        """Return where the decisions of a turn begin: who is evicted comes before who gains."""
        decisions = self.plan.decisions
        at = max(at for at, each in enumerate(decisions) if each is last)
        while at > 0:
            before = decisions[at - 1]
            if not (isinstance(before, Evict) and before.beneficiary == self.workload.name):
                break
            at -= 1
        return at


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
    asked: Asked  # who may be asked to give way
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
        askers = [desk.asker(view.workload, pod) for pod in pods]
        for asker in askers if is_gang else ():
            desk.withdraw(asker)  # what its own pods wait for is not in their way
        whole = as_one(desk.state, desk.charges, askers) if is_gang else askers[0]
        later = desk.admission.standing(whole, later=desk.looks_later)
        asked = asked_for(desk, whole, later)
        over = later.use.is_over_min.items()
        return ElasticTurn(
            pods=tuple(view.workload.pod_name(pod) for pod in pods),
            rules=tuple(_rules(desk, whole)),
            nodes=defects(desk, askers[0]),
            standings=_standings(desk, askers[0]),
            asked=asked,
            over_min=tuple(
                sorted(name for name, is_over in over if is_over and name != whole.queue)
            ),
            tries=() if isinstance(seeks, Start) else _tries(desk, askers[0], asked),
            looks_later=desk.looks_later,
        )


def _pods(view: ElasticJobView, desk: Desk) -> tuple[list[PodId], bool]:
    """Return the pods that were tried together: all that a gang needs, else one; and which."""
    seeks = view.seeks()
    ready = readiness(desk.state, view.workload)
    pods = list(ready.pods)
    if isinstance(seeks, Start | Reserve):
        pods = [place.pod for place in seeks.placements]
    return pods[: ready.needed or 1], ready.needed > 0


def _rules(desk: Desk, asker: Asker) -> Iterator[RuleLine]:
    """Yield the two rules of admission, then the min, which decides who may be asked."""
    queue, books = asker.queue, desk.books
    if queue is None:
        return
    now = desk.admission.standing(asker, later=False)
    later = desk.admission.standing(asker, later=desk.looks_later)
    own, request = now.nominated.in_quota, asker.charge
    used = now.use.used[queue]
    yield from _lines(desk, "max", (used, own, request), books.ceiling[queue], now.own_axes)
    refusal = desk.admission.refusal(asker)
    pool = later if refusal is not None and refusal.later else now
    sums = (pool.use.pool, pool.nominated.everywhere, request)
    yield from _lines(desk, "pool", sums, books.pool, pool.pool_axes)
    least, waiting = books.guaranteed[queue], later.nominated.in_quota
    numbers = (later.use.used[queue], waiting, request)
    yield from _lines(desk, "min", numbers, least, later.own_axes)


def _lines(
    desk: Desk,
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


def _standings(desk: Desk, asker: Asker) -> tuple[NodeStanding, ...]:
    resources = desk.state.resources
    places = {
        Axis(resource): at
        for at, (resource, need) in enumerate(zip(resources, asker.requests, strict=True))
        if need > 0 and resource != POD_SLOTS
    }
    axes = by_interest(places)
    found = []
    for name, node in sorted(desk.state.nodes.items()):
        now, later = desk.places.free(asker, name), desk.places.free(asker, name, later=True)
        # What nominated pods wait for is not free, and may be more than what is free as yet.
        free = [
            Free(axis=axis, now=(max(0, now[at]),), later=(max(0, later[at]),))
            for axis, at in ((axis, places[axis]) for axis in axes)
        ]
        found.append(
            NodeStanding(
                node=name,
                what=desk.places.defect(asker, name) or "have room",
                free=tuple(free) if node.ready else (),
            )
        )
    return tuple(found)


def _tries(desk: Desk, asker: Asker, asked: Asked) -> tuple[NodeOutcome, ...]:
    """Return what comes of each node if those leave who may be asked; none if it may not try."""
    refusal = desk.admission.refusal(asker)
    claim = Claim(desk, asker, refusal, asked)
    return () if claim.why_not() is not None else tuple(claim.outcomes().values())
