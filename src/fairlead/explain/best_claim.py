"""Of the claims of a job that failed, the one that got furthest: it needs the least to change."""

from typing import Final

from fairlead.model.plan import FailedClaim, Wait

_STAGES: Final = {
    "WithinItsShare": 0,
    "WouldBeFuller": 0,
    "ProtectedByMinRuntime": 0,
    "NotAllCanMove": 0,
    "AsRefusedBefore": 0,
    "NoRoomWithVictims": 1,
    "OverFairShare": 2,
    "NonPreemptibleOverQuota": 2,
    # Under Kueue's rules, where a workload has one claim and its queue's settings may forbid it.
    "PendingEvaluation": 0,
    "SharesForbid": 0,
    "BorrowingForbidden": 0,
    "CoolsDown": 0,
    "WaitsBeforeSharing": 0,
    "WouldLoop": 0,
    "TooLittleToTake": 1,
    "NobodyMayBeAsked": 2,
    "PreemptionIsOff": 2,
    # Under ElasticQuotas, where a pod has one claim, too.
    "BeyondMin": 2,
    "NobodyBorrows": 2,
    "NeverPreempts": 2,
}
"""How far a claim got; what is not here says no more than that nobody is there to give way."""

_ACTIONS: Final = ("reclaim", "preempt", "consolidation", "preemption")
_ABOUT_ROOM: Final = ("NoNodeFits", "WaitingForQuota", "QuotaIsKept", "PoolExhausted", "OverMax")
"""Reasons that others could cure by giving way."""


def best_claim(wait: Wait) -> FailedClaim | None:
    """Return the claim to tell beside the reason of *wait*; None if none adds anything.

    First one that found room and was refused, then one that found none, then one that may not be
    made. What keeps a job from starting at all, such as a limit, says enough.
    """
    if wait.reason.code not in _ABOUT_ROOM:
        return None
    telling = [claim for claim in wait.claims if claim.reason.code in _STAGES]
    return min(telling, key=_distance, default=None)


def _distance(claim: FailedClaim) -> tuple[int, int]:
    return _STAGES[claim.reason.code], _ACTIONS.index(claim.action)
