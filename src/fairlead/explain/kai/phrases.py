"""What the reason codes of the KAI rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "Reclaims": "reclaims, within the fair share of {queue}: {scarcest}",
        "Consolidates": "fits if other pods move",
        "MovedAlong": "fits if other pods move",
        "ReclaimedByFairShare": "{queue} is over its fair share: {scarcest}",
        "ReclaimedByQuota": "{queue} is over its quota: {scarcest}",
        "Consolidated": "moves to make room",
        "StaleGang": "its gang was incomplete for too long: {tallies}",
        "OverLimit": "over the limit: {all} at {queue}",
        "NonPreemptibleOverQuota": "over the quota, and not preemptible: {all} at {queue}",
        "QueueDoesNotExist": "queue {queue} does not exist",
        "QueueHasChildren": "queue {queue} has child queues, and only leaf queues run jobs",
        "AllocateIsOff": "the action allocate is switched off in the shard",
        "TakenAgain": "got a place in this cycle, and lost it again to {names}",
        "BeyondQueueDepth": "beyond the queueDepthPerAction of {queue}",
        "OverFairShare": "{queue} would exceed its fair share: {scarcest}",
        "NotPreemptible": "no pod moves for a job that is not preemptible itself",
        "TooFewFreeGpus": "too few are free in the cluster: {all}",
        "NobodyToAsk": "there are no {names}",
        "NotAllCanMove": "not all victims have another place: {tallies}",
        "WithinItsShare": "{queue} is within its share: {scarcest}",
        "WouldBeFuller": "would be more saturated than {queue}: {all}",
        "AsRefusedBefore": "asks for no less than {names}, which was refused",
    },
    shorter={
        "QueueDoesNotExist": ("names no queue",),
    },
    claim_stages={
        "WithinItsShare": 0,
        "WouldBeFuller": 0,
        "NotAllCanMove": 0,
        "AsRefusedBefore": 0,
        "OverFairShare": 2,
        "NonPreemptibleOverQuota": 2,
    },
    actions=(
        "reclaim",
        "preempt",
        "consolidation",
    ),
)
