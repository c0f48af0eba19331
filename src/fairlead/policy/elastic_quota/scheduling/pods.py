"""The turn of one pod: it starts, waits for a place that others leave, or waits for another plan.

What it does is done on the desk, so that who comes after finds it done.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.plan import FailedClaim, Reason
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.cross_node import least_harm
from fairlead.policy.elastic_quota.preemption.node_search import STILL_LEAVING, Claim
from fairlead.policy.elastic_quota.preemption.victims import Asked
from fairlead.policy.elastic_quota.quota.pending_pod import Asker
from fairlead.policy.elastic_quota.reasons.start_and_evict import (
    WAITS_FOR_LEAVING,
    reason_to_claim,
    reason_to_leave,
    reason_to_start,
)
from fairlead.policy.elastic_quota.reasons.wait import failed_claim, refusal_reason
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals


class Started(NamedTuple):
    """A pod runs now."""

    asker: Asker
    node: str
    reason: Reason


class Loss(NamedTuple):
    """A pod has to leave, for a reason."""

    holder: Holder
    reason: Reason


class Promised(NamedTuple):
    """A pod waits for a node; ``losses`` are those who are told to leave now."""

    asker: Asker
    node: str
    losses: tuple[Loss, ...]
    waits_for: tuple[Holder, ...]
    reason: Reason


class Refused(NamedTuple):
    """A pod waits, without a place in sight."""

    reason: Reason
    claims: tuple[FailedClaim, ...]


Turn: TypeAlias = Started | Promised | Refused


class PodTurns:
    """Lets pods have their turns, one after the other, on one desk."""

    def __init__(self, desk: Desk, refusals: Refusals) -> None:
        """Work on *desk*; what was refused and cannot have changed is known to *refusals*."""
        self._desk = desk
        self._refusals = refusals

    def take(self, asker: Asker) -> Turn:
        """Give *asker* its turn."""
        desk = self._desk
        known = self._refusals.just_now(desk, (asker,))
        if known is not None:
            return Refused(*known)
        refusal = desk.admission.refusal(asker)
        if refusal is None:
            node = desk.places.find(asker)
            if node is not None:
                reason = reason_to_start(desk, asker)
                desk.start(asker, node)
                return Started(asker, node, reason)
        known = self._refusals.known(desk, (asker,), refusal)
        if known is not None:
            return Refused(*known)
        claim = Claim(desk, asker, refusal)
        promised = self._claim(claim)
        if promised is not None:
            return promised
        why = refusal_reason(desk, asker, refusal)
        refused = Refused(why, (failed_claim(desk, claim),))
        self._refusals.remember(desk, (asker,), refusal, refused)
        desk.withdraw(asker)  # the node that it waited for is open to others
        return refused

    def claim_on_one_node(self, claim: Claim) -> Promised | None:
        """Take a place from others on one node for one pod, if it may and can."""
        why_not = claim.why_not()
        if why_not == STILL_LEAVING:
            return self._stays(claim.asker)
        best = claim.best() if why_not is None else None
        if best is None:
            return None
        return self.promise(claim.asker, best.node, claim.asked, best.victims)

    def _claim(self, claim: Claim) -> Promised | None:
        """Take a place from others, on one node if that is enough."""
        desk, asker = self._desk, claim.asker
        promised = self.claim_on_one_node(claim)
        if promised is not None or not desk.settings.cross_node_preemption:
            return promised
        if not claim.others_may_help():
            return None
        joint = least_harm(desk, [asker], asker.charge)
        if joint is None:
            return None
        return self.promise(asker, joint.nodes[0], joint.asked, joint.victims)

    def promise(
        self,
        asker: Asker,
        node: str,
        asked: Asked,
        victims: Sequence[Holder],
        whole: Asker | None = None,
    ) -> Promised:
        """Tell *victims* to leave, and let *asker* wait for *node*.

        The numbers are those of *whole*, where a gang asks as one.
        """
        desk = self._desk
        reason = reason_to_claim(desk, whole or asker, asked, tuple(victims))
        losses = []
        for victim in reversed(victims):  # a quota gives its least important pods first
            if not victim.is_leaving:
                losses.append(Loss(victim, reason_to_leave(desk, asker, asked, victim)))
                desk.evict(victim)
        waits_for = tuple(victims) or desk.holders.leaving(node)
        desk.nominate(asker, node)
        return Promised(asker, node, tuple(reversed(losses)), waits_for, reason)

    def _stays(self, asker: Asker) -> Promised:
        node = self._desk.nominations.node_of(asker.key)
        assert node is not None, "only who is nominated waits for others to leave"
        reason = Reason(code=WAITS_FOR_LEAVING, queue=asker.queue)
        return Promised(asker, node, (), self._desk.holders.leaving(node), reason)
