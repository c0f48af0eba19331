"""Elastic workloads: a job that grows is a new slice, which replaces the one that has quota.

Only what the new slice asks for beyond the old one is charged, and waits. So until it has quota it
counts with the pods that the old one lacks; the old one keeps its own. As soon as the new slice has
quota, that is for all pods, and the old one is finished, whether its status says so already or not.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from fairlead.manifest.core.objects import full_name
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.assembly.workloads import queue_of
from fairlead.manifest.kueue.objects import KueuePodSet, KueueWorkloadObject


def newer_slices(workloads: Iterable[KueueWorkloadObject]) -> Mapping[str, Sequence[str]]:
    """Return by which slices each Workload is to be replaced, all as ``namespace/name``."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in workloads:
        if each.replaces:
            found[each.replaces].append(full_name(each))
    return found


def is_replaced(newer: Iterable[str], workloads: Mapping[str, KueueWorkloadObject]) -> bool:
    """Return whether one of the slices *newer* than a Workload has quota."""
    slices = [workloads[name] for name in newer if name in workloads]
    return any(each.admitted_ms is not None and not each.finished for each in slices)


def as_difference(workload: KueueWorkloadObject, objects: KueueObjects) -> KueueWorkloadObject:
    """Return a slice without quota with the pods that it has more than the one that it replaces.

    Another workload as it is, and a slice whose predecessor holds nothing in the same queue.
    """
    old = objects.workloads.get(workload.replaces)
    if workload.admitted_ms is not None or old is None or old.admitted_ms is None:
        return workload
    has_lost = old.finished or old.evicted or not old.active
    if has_lost or queue_of(old, objects) != queue_of(workload, objects):
        return workload
    held = {each.name: each.admitted for each in old.pod_sets}
    pod_sets = tuple(_less(each, held.get(each.name, 0)) for each in workload.pod_sets)
    return replace(workload, pod_sets=pod_sets)


def _less(pod_set: KueuePodSet, held: int) -> KueuePodSet:
    """Return a set without *held* pods; if any is left, at least one has to start."""
    count = max(0, pod_set.count - held)
    return replace(pod_set, count=count, min_count=min(count, max(1, pod_set.min_count - held)))
