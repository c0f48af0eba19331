"""What the reason codes of the Kueue rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "InClusterQueue": "is preempted within {queue}: {all}",
        "InCohortReclamation": "{queue} borrows quota that is reclaimed: {scarcest}",
        "InCohortFairSharing": "{queue} borrows more than its fair share: {all}",
        "InCohortReclaimWhileBorrowing": "has a lower priority, and {queue} borrows: {all}",
        "ClusterQueueStopped": "{queue} was stopped, and its workloads are evicted",
        "LocalQueueStopped": "its LocalQueue was stopped, and its workloads are evicted",
        "Deactivated": "deactivated by Kueue: {names}",
        "Misconfigured": "cannot be admitted: {names}",
        "BackOff": "held back after evictions, for {remaining} more",
        "BehindHead": "waits behind {names}, the first of {queue}",
        "PendingEvaluation": "not evaluated yet",
        "ResourceNotCovered": "{queue} has no quota for {names}",
        "NoMatchingFlavor": "no flavor matches its pods: {names}",
        "ExceedsMaxQuota": "requests more than {queue} could ever provide: {all}",
        "WaitingForQuota": "waits for quota at {queue}: {all}; held by {held}",
        "QuotaIsKept": (
            "waits for quota at {queue}, which is kept for {names}: {all}; held by {held}"
        ),
        "WaitingForPreemptedWorkloads": "other workloads are preempted for it",
        "PreemptionIsOff": (
            "{queue} may not preempt: withinClusterQueue and reclaimWithinCohort are Never"
        ),
        "NobodyMayBeAsked": "no workload may be preempted: {tallies}",
        "TooLittleToTake": "all candidates together hold too little: {all}",
        "SharesForbid": "the shares do not let {queue} give more: {all}",
        "BorrowingForbidden": "it would borrow, and may not preempt while borrowing: {all}",
        "CoolsDown": (
            "was preempted itself, and may preempt by fair sharing in {remaining}: "
            "{names} would be preempted"
        ),
        "WaitsBeforeSharing": (
            "may preempt by fair sharing in {remaining}: {names} would be preempted"
        ),
        "WouldLoop": "a preemption loop would begin if it preempted {names}",
    },
    shorter={
        "Deactivated": ("deactivated by its owner",),
        "BackOff": ("held back for a while after evictions",),
        "WaitingForQuota": (
            "waits for quota at {queue}: {all}",
            "waits for quota in {queue}, where other workloads came first",
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
