"""Checks that what Kueue objects name is in the input.

A missing object is a warning only: an input with a few queues need not contain the whole
cluster.
"""

from collections.abc import Iterator

from fairlead.manifest.core.priorities import BUILT_IN
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.objects import KueueObjects
from fairlead.manifest.kueue.objects import ClusterQueueObject, KueueWorkloadObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote
from fairlead.model.queue import ResourceGroup

_CODE = "missing-reference"


def warn_of_missing(objects: KueueObjects, findings: Findings) -> None:
    """Report every flavor, queue and priority class that is named and not there."""
    _check_flavors(objects, findings)
    for local_queue in objects.local_queues.values():
        name = local_queue.local_queue.cluster_queue
        if name and name not in objects.cluster_queues:
            _warn(
                findings,
                local_queue.source,
                ("spec", "clusterQueue"),
                f"found the ClusterQueue {quote(name)}, which is not in the input; "
                "nothing in this LocalQueue can run",
                "add the ClusterQueue, or correct the name",
            )
    for workload in objects.unfinished_workloads():
        _check_local_queue(workload, objects, findings)
        _check_priority_class(workload, objects, findings)
        _check_admission(workload, objects, findings)


def _check_flavors(objects: KueueObjects, findings: Findings) -> None:
    if objects.flavors:
        for source, path, flavor in _named_flavors(objects):
            if flavor not in objects.flavors:
                _warn(
                    findings,
                    source,
                    path,
                    f"found the flavor {quote(flavor)}, but no ResourceFlavor of that name; "
                    "Kueue would not let this queue run anything",
                    "add the ResourceFlavor, or correct the name",
                )
        return
    for source, path, flavor in _named_flavors(objects):
        source.report(
            findings,
            "advice",
            _CODE,
            path,
            f"found the flavor {quote(flavor)}, but no ResourceFlavor in the whole input; quotas "
            "are counted all the same, but which nodes they are on is not known",
            "add the ResourceFlavors to the input",
        )
        return  # once is enough


def _named_flavors(objects: KueueObjects) -> Iterator[tuple[Source, Path, str]]:
    owners: list[tuple[Source, tuple[ResourceGroup, ...]]] = [
        *((each.source, each.rules.resource_groups) for each in objects.cluster_queues.values()),
        *((each.source, each.resource_groups) for each in objects.cohorts.values()),
    ]
    for source, groups in owners:
        for at, group in enumerate(groups):
            for place, flavor in enumerate(group.flavors):
                path = ("spec", "resourceGroups", at, "flavors", place, "name")
                yield source, path, flavor


def _check_local_queue(
    workload: KueueWorkloadObject, objects: KueueObjects, findings: Findings
) -> None:
    if not workload.local_queue:
        _warn(
            findings,
            workload.source,
            ("spec", "queueName"),
            "found no queueName, expected that of a LocalQueue; the workload waits for ever",
            "add the name of a LocalQueue in its namespace",
        )
    elif f"{workload.namespace}/{workload.local_queue}" not in objects.local_queues:
        _warn(
            findings,
            workload.source,
            ("spec", "queueName"),
            f"found the LocalQueue {quote(workload.local_queue)}, which is not in the input for "
            f"the namespace {quote(workload.namespace)}",
            "add the LocalQueue, or correct the name",
        )


def _check_priority_class(
    workload: KueueWorkloadObject, objects: KueueObjects, findings: Findings
) -> None:
    name = workload.priority_class
    if not name or workload.priority is not None or priority_of(workload, objects) is not None:
        return
    kind = workload.priority_class_kind or "PriorityClass or WorkloadPriorityClass"
    _warn(
        findings,
        workload.source,
        workload.priority_class_path,
        f"found the priority class {quote(name)}, but no {kind} of that name; priority 0 is taken",
        "add it, or write spec.priority",
    )


def priority_of(workload: KueueWorkloadObject, objects: KueueObjects) -> int | None:
    """Return the priority that a workload or its class says, or None if neither does."""
    if workload.priority is not None:
        return workload.priority
    found = None
    if workload.priority_class_kind != "PriorityClass":
        found = objects.workload_classes.get(workload.priority_class)
    if found is not None:
        return found.value
    if workload.priority_class_kind == "WorkloadPriorityClass":
        return None
    known = objects.priority_classes.get(workload.priority_class)
    return BUILT_IN.get(workload.priority_class) if known is None else known.value


def _check_admission(
    workload: KueueWorkloadObject, objects: KueueObjects, findings: Findings
) -> None:
    if workload.admitted_ms is None:
        return
    queue = objects.cluster_queues.get(workload.admitted_by)
    if queue is None:
        _warn(
            findings,
            workload.source,
            ("status", "admission", "clusterQueue"),
            f"found the ClusterQueue {quote(workload.admitted_by)}, which is not in the input; "
            "its usage is charged to no queue",
            "add the ClusterQueue, or correct the name",
        )
        return
    for flavor, resource in sorted(_granted(workload) - _listed(queue)):
        _warn(
            findings,
            workload.source,
            ("status", "admission", "podSetAssignments"),
            f"found {quote(resource)} of the flavor {quote(flavor)}, "
            f"for which the ClusterQueue {quote(queue.name)} lists no quota",
            "check whether its quota was removed while work was running",
        )


def _granted(workload: KueueWorkloadObject) -> set[tuple[str, str]]:
    return {
        (flavor, resource)
        for pod_set in workload.pod_sets
        for resource, flavor in pod_set.flavors.items()
    }


def _listed(queue: ClusterQueueObject) -> set[tuple[str, str]]:
    return {(quota.flavor, quota.resource) for quota in queue.quotas}


def _warn(findings: Findings, source: Source, path: Path, message: str, fix: str) -> None:
    source.report(findings, "warning", _CODE, path, message, fix)
