"""The turn of a gang: as many pods as it needs start together, or none does.

Both rules of a quota look at the sum of those pods. If not all of them can start, each takes the
place it can get, from nobody or from others by the rule for one pod. If that is not enough for all,
or if so few may be asked that the least harm can be found, places are looked for jointly. What is
taken for a gang that does not get all it needs is given back at once.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.plan import FailedClaim, Reason, Tally
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.cross_node import (
    JointClaim,
    JointOutcome,
    least_harm,
)
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlaces
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, Claim, asked_for
from fairlead.policy.elastic_quota.preemption.victims import Asked
from fairlead.policy.elastic_quota.quota.admission import Refusal
from fairlead.policy.elastic_quota.quota.pending_pod import Asker, as_one
from fairlead.policy.elastic_quota.reasons.start_and_evict import reason_to_start
from fairlead.policy.elastic_quota.reasons.wait import (
    NO_NODE_FITS,
    NO_ROOM_WITH_VICTIMS,
    NOBODY_BORROWS,
    NOBODY_LESS_IMPORTANT,
    PREEMPTION,
    beyond_min_reason,
    defects,
    refusal_reason,
)
from fairlead.policy.elastic_quota.scheduling.pods import PodTurns, Promised, Refused, Started
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals

SCHEDULE_TIMED_OUT: Final = "ScheduleTimedOut"


class GangStarted(NamedTuple):
    """All pods that a gang needs run now, by one right."""

    pods: tuple[Started, ...]
    reason: Reason


class GangPromised(NamedTuple):
    """All pods that a gang needs wait for their nodes."""

    pods: tuple[Promised, ...]


GangTurn: TypeAlias = GangStarted | GangPromised | Refused


class GangTurns:
    """Lets gangs have their turns on one desk."""

    def __init__(self, desk: Desk, pod_turns: PodTurns, refusals: Refusals) -> None:
        """Work on *desk*, with the rules for single pods; *refusals* are those known."""
        self._desk: Final = desk
        self._pods: Final = pod_turns
        self._refusals: Final = refusals

    def take(self, workload: Workload, pods: Sequence[PodId], *, may_wait: bool) -> GangTurn:
        """Give a gang its turn, which needs all of *pods*: now, or if it *may_wait* for nodes."""
        desk = self._desk
        askers = [desk.asker(workload, pod) for pod in pods]
        whole = as_one(desk.state, desk.charges, askers)
        refusal = desk.admission.refusal(whole)
        known = self._refusals.known(desk, askers, refusal)
        if known is not None:
            return Refused(*known) if may_wait else _timed_out(whole)
        before = [desk.nominations.node_of(asker.key) for asker in askers]
        for asker in askers:
            desk.withdraw(asker)  # what its own pods wait for is not in their way
        refusal = desk.admission.refusal(whole)
        placed = None if refusal else self._start(askers, before, whole)
        if placed is not None:
            return placed
        if not may_wait:
            return _timed_out(whole)
        promised = self._claim(askers, before, whole)
        if promised is not None:
            return promised
        refused = self._refused(whole, askers, refusal)
        if not any(before):
            self._refusals.remember(desk, askers, refusal, refused)
        return refused

    def _start(
        self, askers: Sequence[Asker], before: Sequence[str | None], whole: Asker
    ) -> GangStarted | None:
        """Start all, each where it is best for it; if that leaves one out, wherever all fit."""
        desk = self._desk
        reason = reason_to_start(desk, whole)
        started = self._start_each(askers, before, reason)
        if started is None:
            nodes = JointPlaces(desk, askers, later=False).find(())
            started = None if nodes is None else self._start_each(askers, nodes, reason)
        return None if started is None else GangStarted(tuple(started), reason)

    def _start_each(
        self, askers: Sequence[Asker], wanted: Sequence[str | None], reason: Reason
    ) -> list[Started] | None:
        """Start all on the nodes that are wanted, or on the best; None: one finds none."""
        desk = self._desk
        mark = desk.mark()
        started = []
        for asker, own in zip(askers, wanted, strict=True):
            is_free = own is not None and desk.places.defect(asker, own) is None
            node = own if is_free else desk.places.find(asker)
            if node is None:
                desk.roll_back(mark)
                return None
            desk.start(asker, node)
            started.append(Started(asker, node, reason))
        desk.keep(mark)
        return started

    def _claim(
        self, askers: Sequence[Asker], before: Sequence[str | None], whole: Asker
    ) -> GangPromised | None:
        """Take places from others: one after the other, or jointly if that fails or does harm."""
        desk = self._desk
        own = askers[0].workload.extension
        if isinstance(own, ElasticPods) and own.preemption_policy == "Never":
            return None
        claim = JointClaim(desk, askers, whole.charge, protects_min=False)
        if claim.is_hopeless:
            return None
        found = self._one_by_one(askers, before, claim)
        # What is best for one pod after the other need not be for all, so look where that is exact.
        is_final = found is not None and (not found.victims or not claim.is_exact)
        if not is_final and desk.settings.cross_node_preemption:
            joint = least_harm(desk, askers, whole.charge)
            if joint is not None and (found is None or claim.is_better(joint, found)):
                found = joint
        return None if found is None else self._promised(askers, whole, found)

    def _one_by_one(
        self, askers: Sequence[Asker], before: Sequence[str | None], whole: JointClaim
    ) -> JointOutcome | None:
        """Return what comes of one claim after the other, without those who leave in vain."""
        desk = self._desk
        mark = desk.mark()
        found = []
        for asker, own in zip(askers, before, strict=True):
            promised = self._one(asker, own, whole.asked)
            if promised is None:
                break
            found.append(promised)
        desk.roll_back(mark)
        if len(found) < len(askers):
            return None
        nodes = tuple([each.node for each in found])
        losses = [loss.holder for each in found for loss in each.losses]
        if not whole.holds(nodes, losses if desk.looks_later else _who_leaves(found)):
            return None  # what is enough for each may not be for all
        victims = tuple(sorted(whole.spare(losses, nodes)))
        return JointOutcome(whole.asked, nodes, victims)

    def _one(self, asker: Asker, own: str | None, asked: Asked) -> Promised | None:
        desk = self._desk
        if own is not None:
            desk.nominate(asker, own)  # if it may wait on there, it does
        refusal = desk.admission.refusal(asker)
        node = None if refusal else desk.places.find(asker)
        if node is not None:
            return self._pods.promise(asker, node, asked, ())
        return self._pods.claim_on_one_node(Claim(desk, asker, refusal, asked))

    def _promised(self, askers: Sequence[Asker], whole: Asker, joint: JointOutcome) -> GangPromised:
        """Let all who give way leave, for the first pod, and each pod wait for its node."""
        found = []
        victims: Sequence[Holder] = joint.victims
        for asker, node in zip(askers, joint.nodes, strict=True):
            found.append(self._pods.promise(asker, node, joint.asked, victims, whole))
            victims = ()
        return GangPromised(tuple(found))

    def _refused(self, whole: Asker, askers: Sequence[Asker], refusal: Refusal | None) -> Refused:
        desk = self._desk
        if refusal is not None:
            reason = refusal_reason(desk, whole, refusal)
        else:
            needed = Tally(count=len(askers), of=len(askers), things="pods", what="start together")
            reason = Reason(
                code=NO_NODE_FITS, queue=whole.queue, tallies=(*defects(desk, askers[0]), needed)
            )
        claim = FailedClaim(action=PREEMPTION, reason=self._why_nobody_leaves(whole))
        return Refused(reason, (claim,))

    def _why_nobody_leaves(self, whole: Asker) -> Reason:
        desk, own = self._desk, whole.workload.extension
        if isinstance(own, ElasticPods) and own.preemption_policy == "Never":
            return Reason(code=NEVER_PREEMPTS, queue=whole.queue)
        standing = desk.admission.standing(whole, later=desk.looks_later)
        asked = asked_for(desk, whole, standing)
        if asked == "own namespace":
            return beyond_min_reason(desk, whole, standing)
        if asked == "without quota":
            lowest = desk.holders.lowest_priority(None)
            is_lowest = lowest is None or lowest >= whole.priority
            return Reason(code=NOBODY_LESS_IMPORTANT if is_lowest else NO_ROOM_WITH_VICTIMS)
        others = [over for queue, over in standing.use.is_over_min.items() if queue != whole.queue]
        code = NO_ROOM_WITH_VICTIMS if any(others) else NOBODY_BORROWS
        return Reason(code=code, queue=whole.queue)


def _timed_out(whole: Asker) -> Refused:
    """Return that a gang cannot start and waited too long, whatever refused others like it."""
    return Refused(Reason(code=SCHEDULE_TIMED_OUT, queue=whole.queue), ())


def _who_leaves(pods: Sequence[Promised]) -> list[Holder]:
    """Return all that pods wait for, each once, whether told to leave now or before."""
    by_key = {holder.key: holder for each in pods for holder in each.waits_for}
    return list(by_key.values())
