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
        "OverQuota": "on idle room beyond the quota of {queue}: {scarcest}",
        "Preempts": "is more important than others in {queue}: {all}",
        "PreemptedByPriority": "is less important: {all}",
        "NoNodeFits": "fits no node: {tallies}",
        "UnsupportedConstraint": "has a constraint that is not supported: {names}",
        "NotReady": "not complete: {tallies}",
        "SchedulingGated": "held back: {tallies}",
        "PodGroupNotFound": "its PodGroup {names} does not exist",
        "InvalidObject": "an object of it is not valid: {names}",
        "OtherScheduler": "is for another scheduler to start: {names}",
        "HeldAfterFailure": "held for a while after its start failed",
        "WouldBeEvicted": "could start, but its place would be taken again for {names}",
        "NobodyLessImportant": "nobody less important runs in {queue}: {all}",
        "NoRoomWithVictims": "no attempt made room for it: {tallies}",
        "ProtectedByMinRuntime": "{names} is protected for {remaining} more: {tallies}",
        "Suspended": "held back: {queue} is stopped",
    },
    shorter={
        "Preempts": ("is more important than others without a quota: {all}",),
        "WouldBeEvicted": ("held back from a place that would be taken away again",),
        "NobodyLessImportant": (
            "nobody less important runs in {queue}",
            "nobody less important runs without a quota",
        ),
        "NoRoomWithVictims": ("nobody's leaving makes enough room",),
        "Suspended": ("held back by its owner",),
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
