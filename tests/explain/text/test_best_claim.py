"""Which failed claim is told beside the reason: the one that needs the least to change."""

import pytest

from fairlead.explain.text.reasons import best_claim
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import FailedClaim, Reason, Wait


def told(code: str, *claims: tuple[str, str]) -> str | None:
    """Return the code of the claim that is told, of claims that are actions and codes."""
    wait = Wait(
        workload=WorkloadName("x/one"),
        reason=Reason(code=code),
        claims=tuple(FailedClaim(action=action, reason=Reason(code=why)) for action, why in claims),
    )
    best = best_claim(wait)
    return None if best is None else best.reason.code


@pytest.mark.parametrize(
    "code",
    [
        "PreemptionIsOff",
        "NobodyMayBeAsked",
        "WaitsBeforeSharing",
        "ProtectedByMinRuntime",
        "WouldLoop",
        "TooLittleToTake",
        "SharesForbid",
        "BorrowingForbidden",
        "PendingEvaluation",
    ],
)
def test_the_one_claim_that_waits_for_quota_have_is_told(code: str) -> None:
    assert told("WaitingForQuota", ("preemption", code)) == code


@pytest.mark.parametrize("why", ["NoNodeFits", "PoolExhausted", "OverMax"])
@pytest.mark.parametrize(
    "code", ["BeyondMin", "NobodyBorrows", "NeverPreempts", "NoRoomWithVictims"]
)
def test_the_one_claim_under_an_elastic_quota_is_told(why: str, code: str) -> None:
    assert told(why, ("preemption", code)) == code


def test_what_got_furthest_is_told() -> None:
    refused, none = ("preempt", "WithinItsShare"), ("reclaim", "NoRoomWithVictims")
    assert told("NoNodeFits", none, refused) == "WithinItsShare"


def test_nothing_is_told_where_the_reason_says_enough() -> None:
    assert told("ExceedsMaxQuota", ("preemption", "PreemptionIsOff")) is None
    assert told("OverLimit", ("reclaim", "OverFairShare")) is None
    assert told("NoNodeFits", ("preempt", "NobodyLessImportant")) is None
    assert told("WaitingForQuota") is None
