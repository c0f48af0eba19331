"""Reads what Kueue has granted to a workload: which queue pays, with which flavors, for how much.

The status is the truth about what is charged: LimitRanges, overheads and resource transformations
were applied when it was written. Its amounts are totals of a pod set, ours are of one pod.
"""

from collections.abc import Mapping

import msgspec

from fairlead.manifest.kueue.objects import KueuePodSet
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.quantity import show_amount


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod set was granted; ``at`` is where that is written, for remarks."""

    at: Cursor
    flavors: Mapping[str, str]
    usage: Mapping[str, int]  # of all pods together
    count: int | None  # None: as many as the pod set has


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The queue that pays, and what each pod set was granted, by its name."""

    cluster_queue: str
    assignments: Mapping[str, Assignment]


def read_admission(status: Cursor) -> Admission | None:
    """Read ``admission`` below *status*; None if there is none."""
    if not status.has("admission"):
        return None
    admission = status.mapping("admission")
    assignments = {}
    for item in admission.items("podSetAssignments"):
        item.ignore(*item.keys())  # a status may have fields of later versions
        assignments[item.text("name", "main")] = Assignment(
            at=item,
            flavors=item.text_map("flavors"),
            usage=item.quantities("resourceUsage"),
            count=item.integer("count", None, minimum=0),
        )
    return Admission(cluster_queue=admission.text("clusterQueue"), assignments=assignments)


def read_reclaimable(status: Cursor) -> dict[str, int]:
    """Return how many pods of each set have finished early and gave back their quota."""
    return {
        item.text("name"): item.integer("count", minimum=0)
        for item in status.items("reclaimablePods")
    }


def admit(pod_set: KueuePodSet, assignment: Assignment, reclaimed: int) -> KueuePodSet:
    """Return *pod_set* as it was admitted, less *reclaimed* pods that gave back their quota.

    What one pod costs becomes the total divided by the count of the admission. If that leaves a
    rest, the pod's own requests stand, with a warning.
    """
    count = pod_set.count if assignment.count is None else assignment.count
    if count > pod_set.count:
        assignment.at.warn(
            "count",
            "contradiction",
            f"found {count} admitted pods, but the pod set {quote(pod_set.name)} "
            f"has {pod_set.count}; the others are left out",
            "update the status, or the count of the pod set",
        )
    return msgspec.structs.replace(
        pod_set,
        requests={**pod_set.requests, **_cost_of_one(pod_set, assignment, count)},
        admitted=max(0, min(count, pod_set.count) - reclaimed),
        flavors=assignment.flavors,
    )


def _cost_of_one(pod_set: KueuePodSet, assignment: Assignment, count: int) -> dict[str, int]:
    costs = {}
    for resource, total in assignment.usage.items():
        if count and total % count == 0:
            costs[resource] = total // count
        elif total:
            requested = show_amount(resource, pod_set.requests.get(resource, 0))
            assignment.at.warn(
                ("resourceUsage", resource),
                "contradiction",
                f"found {show_amount(resource, total)}, which {count} pods cannot share evenly; "
                f"each is charged the {requested} that it requests",
                "check resourceUsage and count against each other",
            )
    return costs
