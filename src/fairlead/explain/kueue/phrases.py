"""What the reason codes of the Kueue rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "InClusterQueue": "gives way within {queue}: {all}",
        "InCohortReclamation": "{queue} holds what was lent to it: {scarcest}",
        "InCohortFairSharing": "{queue} shares what it borrows: {all}",
        "InCohortReclaimWhileBorrowing": "is less important, and {queue} borrows: {all}",
        "ClusterQueueStopped": "{queue} was stopped, and what has its quota must leave",
        "LocalQueueStopped": "its LocalQueue was stopped, and what came through it must leave",
        "Deactivated": "switched off by its owner",
        "Misconfigured": "cannot be admitted: {names}",
        "BackOff": "held back after evictions for {remaining} more",
        "BehindHead": "has to wait behind {names}, the first of {queue}",
        "PendingEvaluation": "not looked at yet",
        "ResourceNotCovered": "{queue} has no quota for {names}",
        "NoMatchingFlavor": "no flavor suits its pods: {names}",
        "ExceedsMaxQuota": "asks for more than {queue} could ever let it have: {all}",
        "WaitingForQuota": "waits for quota at {queue}: {all}; held by {held}",
        "QuotaIsKept": (
            "waits for quota at {queue}, which is kept for {names}: {all}; held by {held}"
        ),
        "WaitingForPreemptedWorkloads": "others give way to it",
        "PreemptionIsOff": (
            "{queue} asks nobody: withinClusterQueue and reclaimWithinCohort are Never"
        ),
        "NobodyMayBeAsked": "nobody may be asked to give way: {tallies}",
        "TooLittleToTake": "all who may be asked hold too little: {all}",
        "SharesForbid": "the shares do not let {queue} give more: {all}",
        "BorrowingForbidden": "it would borrow, and may not take from others for that: {all}",
        "CoolsDown": (
            "was preempted itself, and asks by fair sharing in {remaining} only: "
            "{names} would give way"
        ),
        "WaitsBeforeSharing": "asks by fair sharing in {remaining} only: {names} would give way",
        "WouldLoop": "a loop would begin if it took the place of {names}",
    },
    shorter={
        "BackOff": ("held back for a while after evictions",),
        "WaitingForQuota": (
            "waits for quota at {queue}: {all}",
            "waits for quota in {queue}, where others had their turn before",
        ),
        "QuotaIsKept": ("waits for quota at {queue}, which is kept for {names}: {all}",),
    },
    claim_stages={
        "PendingEvaluation": 0,
        "SharesForbid": 0,
        "BorrowingForbidden": 0,
        "CoolsDown": 0,
        "WaitsBeforeSharing": 0,
        "WouldLoop": 0,
        "TooLittleToTake": 1,
        "NobodyMayBeAsked": 2,
        "PreemptionIsOff": 2,
    },
    curable=frozenset({"WaitingForQuota", "QuotaIsKept"}),
    actions=("preemption",),
)
