"""Whether the controller of an owner would make pods now that are not there yet."""

from typing import Literal, TypeAlias

from fairlead.manifest.core.owners.kinship import Kinship
from fairlead.manifest.core.owners.made_pods import MAX_MADE_PODS
from fairlead.manifest.core.owners.objects import OwnerObject

Standing: TypeAlias = Literal[
    "due",
    "finished",
    "has-dependents",
    "scheduled",
    "suspended",
    "pods-missing",
    "workload-missing",
    "unqueued",
    "nothing-wanted",
    "too-many",
    "other-scheduler",
]
"""Why an owner makes pods, or makes none.

``due``: it wants pods, and has none. ``has-dependents``: what it made is in the input, and counts.
``scheduled``: a clock decides, and there is none. ``pods-missing``: its status counts pods that are
not in the input. ``workload-missing``: it has pods, and what they are charged to is not in the
input. ``unqueued``: it is for no queue. ``nothing-wanted``: it is scaled to 0.
``other-scheduler``: its pods are not ours.
"""


def standing(owner: OwnerObject, kinship: Kinship) -> Standing:
    """Return how *owner* stands, whatever the scheduler of its pods."""
    if owner.finished:
        return "finished"
    if kinship.has_dependents(owner):
        return "has-dependents"
    if owner.scheduled:
        return "scheduled"
    if owner.suspended:
        return "suspended"
    if owner.pods.active:
        return "pods-missing"
    if owner.left == 0:
        return "nothing-wanted"
    return "too-many" if owner.left > MAX_MADE_PODS else "due"
