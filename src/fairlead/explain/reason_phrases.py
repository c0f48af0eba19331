"""What each code of a reason says in words, with places for what was weighed."""

from typing import Final

PHRASES: Final = {
    # Of jobs that get room.
    "WithinQuota": "within the quota of {queue}: {first}",
    "OverQuota": "on idle room beyond the quota of {queue}: {first}",
    "Reclaims": "takes back, within the fair share of {queue}: {scarcest}",
    "Preempts": "is more important than others in {queue}: {all}",
    "Consolidates": "fits if others move",
    "MovedAlong": "fits if others move",
    # Of jobs that give way.
    "ReclaimedByFairShare": "{queue} holds more than it may: {scarcest}",
    "ReclaimedByQuota": "{queue} is beyond its quota: {scarcest}",
    "PreemptedByPriority": "is less important: {all}",
    "Consolidated": "moves to make room",
    "StaleGang": "incomplete for too long: {tallies}",
    # Of jobs that wait.
    "OverLimit": "over the limit: {all} at {queue}",
    "NonPreemptibleOverQuota": "over the quota, and it cannot be preempted: {all} at {queue}",
    "NoNodeFits": "fits no node: {tallies}",
    "UnsupportedConstraint": "has a constraint that is not supported: {names}",
    "QueueDoesNotExist": "queue {queue} does not exist",
    "QueueHasChildren": "queue {queue} has queues below it, and only leaves run jobs",
    "NotReady": "not complete: {tallies}",
    "SchedulingGated": "held back: {tallies}",
    "Suspended": "held back by its owner",
    "AllocateIsOff": "the shard has the action allocate switched off",
    "WouldBeEvicted": "could start, but the next cycle would take its place for {names}",
    "TakenAgain": "got a place in this cycle, and lost it again to {names}",
    "BeyondQueueDepth": "beyond the queueDepthPerAction of {queue}",
    # Of claims that failed.
    "OverFairShare": "{queue} would hold more than its fair share: {scarcest}",
    "NotPreemptible": "nobody moves for a job that cannot be preempted itself",
    "TooFewFreeGpus": "too few are free in the cluster: {all}",
    "NobodyLessImportant": "nobody less important runs in {queue}: {all}",
    "NobodyToAsk": "there are no {names}",
    "NoRoomWithVictims": "no attempt made room for it: {tallies}",
    "NotAllCanMove": "not all have another place: {tallies}",
    "WithinItsShare": "{queue} may keep what it holds: {scarcest}",
    "WouldBeFuller": "would be fuller than {queue}: {all}",
    "ProtectedByMinRuntime": "{names} is protected for {remaining} more: {tallies}",
    "AsRefusedBefore": "asks for no less than {names}, which was refused",
}
