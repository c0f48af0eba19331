"""What each reason code says in words, with places for the numbers and names of the reason."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

import msgspec

from fairlead.explain.registry import RULE_SETS


class Phrases(msgspec.Struct, frozen=True, kw_only=True):
    """Sentences by reason code, and which of several failed claims to mention."""

    phrases: Mapping[str, str]
    shorter: Mapping[str, tuple[str, ...]] = {}
    """Sentences to use where the reason lacks something that the first one needs, best first."""
    claim_stages: Mapping[str, int] = {}
    """How far a failed claim got, 0 the furthest; a code that is missing here is not mentioned."""
    curable: frozenset[str] = frozenset()
    """Reasons to wait that an eviction could cure, so that failed claims matter."""
    actions: tuple[str, ...] = ()
    """Actions that make claims; of claims that got equally far the first action is mentioned."""


SHARED: Final = Phrases(
    phrases={
        "WithinQuota": "within the quota of {queue}: {first}",
        "OverQuota": "on idle capacity beyond the quota of {queue}: {scarcest}",
        "Preempts": "has a higher priority than workloads in {queue}: {all}",
        "PreemptedByPriority": "has a lower priority: {all}",
        "NoNodeFits": "fits no node: {tallies}",
        "UnsupportedConstraint": "Fairlead cannot judge this job: it uses {names}",
        "NotReady": "not complete: {tallies}",
        "SchedulingGated": "held back: {tallies}",
        "PodGroupNotFound": "its PodGroup {names} does not exist",
        "InvalidObject": "one of its objects is not valid: {names}",
        "VolumeClaimNotFound": (
            "its PersistentVolumeClaim {name} does not exist: create it, or add it to the input"
        ),
        "VolumeClaimNotBound": (
            "its PersistentVolumeClaim {name} is not bound to a volume: "
            "kubectl describe pvc shows why"
        ),
        "VolumeClaimIsDeleted": (
            "its PersistentVolumeClaim {name} is being deleted: create another once it is gone"
        ),
        "VolumeClaimLost": (
            "its PersistentVolumeClaim {name} has lost its volume: "
            "restore the data into another claim"
        ),
        "VolumeNotFound": (
            "PersistentVolume {name} of its claim {other} does not exist: add it to the input"
        ),
        "NoFreeVolume": (
            "no free PersistentVolume of class {other} suits its claim {name}: provide one"
        ),
        "StorageClassNotFound": (
            "StorageClass {name} of its claim {other} does not exist: "
            "create it, or add it to the input"
        ),
        "OtherScheduler": "is assigned to another scheduler: {names}",
        "HeldAfterFailure": "held back for a while because its start failed",
        "WouldBeEvicted": "could start, but would be evicted again for {names}",
        "NobodyLessImportant": "no workload of lower priority runs in {queue}: {all}",
        "NoRoomWithVictims": "no set of victims makes enough room: {tallies}",
        "ProtectedByMinRuntime": (
            "{names} is protected by its min runtime for {remaining} more: {tallies}"
        ),
        "Suspended": "held back: {queue} is stopped",
    },
    shorter={
        "Preempts": ("has a higher priority than running pods without a quota: {all}",),
        "WouldBeEvicted": ("held back because it would be evicted again",),
        "NobodyLessImportant": (
            "no workload of lower priority runs in {queue}",
            "no pod of lower priority runs without a quota",
        ),
        "NoRoomWithVictims": ("no eviction makes enough room",),
        "Suspended": ("suspended by its owner",),
    },
    claim_stages={
        "ProtectedByMinRuntime": 0,
        "NoRoomWithVictims": 1,
    },
    curable=frozenset({"NoNodeFits"}),
)
"""Reason codes that several rule sets use."""


@cache
def all_phrases() -> Phrases:
    """Return the shared phrases and those of every registered rule set, as one."""
    found = [SHARED]
    found += [import_module(f"{each.package}.phrases").PHRASES for each in RULE_SETS.values()]
    return Phrases(
        phrases={code: text for each in found for code, text in each.phrases.items()},
        shorter={code: texts for each in found for code, texts in each.shorter.items()},
        claim_stages={code: at for each in found for code, at in each.claim_stages.items()},
        curable=frozenset().union(*(each.curable for each in found)),
        actions=tuple(dict.fromkeys(action for each in found for action in each.actions)),
    )
