"""What the reason codes of the KAI rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "Reclaims": "takes back, within the fair share of {queue}: {scarcest}",
        "Consolidates": "fits if others move",
        "MovedAlong": "fits if others move",
        "ReclaimedByFairShare": "{queue} holds more than it may: {scarcest}",
        "ReclaimedByQuota": "{queue} is beyond its quota: {scarcest}",
        "Consolidated": "moves to make room",
        "StaleGang": "incomplete for too long: {tallies}",
        "OverLimit": "over the limit: {all} at {queue}",
        "NonPreemptibleOverQuota": "over the quota, and it cannot be preempted: {all} at {queue}",
        "QueueDoesNotExist": "queue {queue} does not exist",
        "QueueHasChildren": "queue {queue} has queues below it, and only leaves run jobs",
        "AllocateIsOff": "the shard has the action allocate switched off",
        "TakenAgain": "got a place in this cycle, and lost it again to {names}",
        "BeyondQueueDepth": "beyond the queueDepthPerAction of {queue}",
        "OverFairShare": "{queue} would hold more than its fair share: {scarcest}",
        "NotPreemptible": "nobody moves for a job that cannot be preempted itself",
        "TooFewFreeGpus": "too few are free in the cluster: {all}",
        "NobodyToAsk": "there are no {names}",
        "NotAllCanMove": "not all have another place: {tallies}",
        "WithinItsShare": "{queue} may keep what it holds: {scarcest}",
        "WouldBeFuller": "would be fuller than {queue}: {all}",
        "AsRefusedBefore": "asks for no less than {names}, which was refused",
    },
    shorter={
        "QueueDoesNotExist": ("it names no queue",),
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
