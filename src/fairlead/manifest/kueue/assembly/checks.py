"""Checks on Kueue's objects among each other: missing ones, fields without effect, advice."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from fairlead.manifest.core.priorities import BUILT_IN
from fairlead.manifest.core.tree_checks import Sourced
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.objects import ClusterQueueObject, KueueWorkloadObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.queue import ResourceGroup
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueOptions

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
        _check_runtime_classes(workload, objects, findings)


def _check_runtime_classes(
    workload: KueueWorkloadObject, objects: KueueObjects, findings: Findings
) -> None:
    """Report a class whose overhead is not known, of a Workload that is not charged yet."""
    demands = [each.demand for each in workload.pod_sets if each.demand is not None]
    named = {each.runtime_class for each in demands if each.overhead is None} - {""}
    missing = sorted(named - objects.runtime_classes.keys())
    if missing and workload.admitted_ms is None:
        _warn(
            findings,
            workload.source,
            ("spec", "podSets"),
            f"found the RuntimeClass {quote(missing[0])}, which is not in the input; what its pods "
            "cost besides their containers is not counted",
            "add the RuntimeClass, or correct the name",
        )


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
        source.advise(
            findings,
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
            workload.local_queue_path,
            "found no queueName, expected that of a LocalQueue; the workload waits forever",
            "add the name of a LocalQueue in its namespace",
        )
    elif f"{workload.namespace}/{workload.local_queue}" not in objects.local_queues:
        _warn(
            findings,
            workload.source,
            workload.local_queue_path,
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
    source.warn(findings, _CODE, path, message, fix)


_NO_CHECKS = "quota is granted without saying when the checks would pass"
_NO_BLOCK = "workloads are admitted while the pods of others are not ready"
CONSEQUENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # ClusterQueue
        "admissionChecks": _NO_CHECKS,
        "admissionChecksStrategy": _NO_CHECKS,
        "concurrentAdmissionPolicy": "a workload stays with the flavors that it is admitted with",
        # LocalQueue
        "wallTimePolicy": "no queue is stopped when its hours are used up",
        # ResourceFlavor
        "resourceWeights": "all resources of all flavors count alike in a share",
        "topologyName": "quota is granted without checking nodes",
        # Workload
        "kueue.x-k8s.io/admission-gated-by": "the workload is not held back",
        "kueue.x-k8s.io/priority-boost": "the priority stays what it is",
        "maximumExecutionTimeSeconds": "the workload is not stopped after that time",
        "preemptionGates": "the workload may preempt even while its gates are closed",
        "topologyRequest": "quota is granted without checking nodes",
        # Configuration
        "blockAdmission": _NO_BLOCK,
        "enable": _NO_BLOCK,  # of waitForPodsReady in v1beta1, where that blocks by default
        "multiKueue": "no workload is sent to another cluster",
    }
)
"""Every field that is known and has no effect yet, with what happens instead."""

# By the names that users write.
_FAIR_SHARING_ONLY: Final[Mapping[str, str]] = {
    "minRunTime": "min_run_time_ms",
    "preemptionDelay": "preemption_delay_ms",
    "preemptionCooldown": "preemption_cooldown_ms",
    "priorityOverride": "priority_override",
}


class _Noted(Sourced, Protocol):
    """An object that knows which of its fields have no effect."""

    @property
    def without_effect(self) -> tuple[Path, ...]:
        """Where they are."""


def warn_of_no_effect(objects: KueueObjects, findings: Findings) -> None:
    """Report each field that has no effect at the first object of its kind that has it, by name."""
    _warn_once("ClusterQueue", objects.cluster_queues.values(), findings)
    _warn_once("LocalQueue", objects.local_queues.values(), findings)
    _warn_once("ResourceFlavor", objects.flavors.values(), findings)
    _warn_once("Workload", objects.unfinished_workloads(), findings)
    if objects.configuration:
        _warn_once("Configuration", [objects.configuration], findings)
    if objects.settings.admission_fair_sharing is None:
        _warn_of_usage_based_admission(objects.cluster_queues.values(), findings)
    if objects.own_settings and not objects.settings.fair_sharing:
        _warn_of_options(objects.own_settings.source, objects.settings.options, findings)


def _warn_of_usage_based_admission(
    queues: Iterable[ClusterQueueObject], findings: Findings
) -> None:
    asking = [each for each in queues if each.rules.usage_based_admission]
    if asking:
        others = _other_objects("ClusterQueue", len(asking) - 1)
        asking[0].source.warn(
            findings,
            "no-effect",
            ("spec", "admissionScope", "admissionMode"),
            f"found UsageBasedAdmissionFairSharing{others}, which has no effect without "
            "admissionFairSharing in a Configuration",
            "add the Configuration of Kueue to the input",
        )


def _warn_once(kind: str, objects: Iterable[_Noted], findings: Findings) -> None:
    firsts: dict[str, tuple[Source, Path]] = {}
    owners: dict[str, set[int]] = {}  # an object may have a field in several places
    for at, each in enumerate(objects):
        for path in each.without_effect:
            field = str(path[-1])
            firsts.setdefault(field, (each.source, path))
            owners.setdefault(field, set()).add(at)
    for field, (source, path) in firsts.items():
        where = _other_objects(kind, len(owners[field]) - 1)
        source.warn(
            findings,
            "no-effect",
            path,
            f"found {field}{where}; Fairlead ignores this field: {CONSEQUENCES[field]}",
            "nothing to do if you write it for Kueue; it changes no answer here",
        )


def _other_objects(kind: str, others: int) -> str:
    return f", here and in {others} other {kind}{'s' if others > 1 else ''}" if others else ""


def _warn_of_options(source: Source, options: KueueOptions, findings: Findings) -> None:
    for field, name in _FAIR_SHARING_ONLY.items():
        if getattr(options, name) != getattr(KueueOptions(), name):
            source.warn(
                findings,
                "no-effect",
                ("spec", "kueue", field),
                f"found {field}, which has no effect while fair sharing is off",
                "add a Configuration with fairSharing to the input, or remove it",
            )


def advise_kueue(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    """Report queues that can never run anything, and flavors with more quota than nodes."""
    _advise_unusable(objects, state, findings)
    _advise_overcommitted(objects, state, findings)


def _advise_unusable(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    tree = KueueShares(state).tree
    for queue in objects.cluster_queues.values():
        places = [state.axes.index(quota.resource, quota.flavor) for quota in queue.quotas]
        most = tree.potential(queue.name)
        if not any(most[place] for place in places if place is not None):
            queue.source.advise(
                findings,
                "unusable",
                ("spec", "resourceGroups") if queue.quotas else ("spec",),
                "found a ClusterQueue that can never run anything: it has no quota of its own "
                + ("and cannot borrow any" if queue.cohort else "and no cohort to borrow from"),
                "give it quota, or let it borrow from a cohort that has some",
            )
        if queue.rules.namespace_selector is None:
            queue.source.advise(
                findings,
                "unusable",
                ("spec", "namespaceSelector"),
                "found no namespaceSelector, so that no namespace may use the ClusterQueue",
                "write namespaceSelector: {} to let in every namespace",
            )


def _advise_overcommitted(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    if not state.nodes:
        return
    promised = [
        sum(queue.guaranteed[place] or 0 for queue in state.queues.values())
        for place in range(len(state.axes))
    ]
    for name, found in objects.flavors.items():
        nodes = list(_nodes_of(found.flavor, state))
        for place, axis in enumerate(state.axes.axes):
            if axis.flavor != name:
                continue
            offered = _offered(axis.resource, nodes, state)
            if promised[place] > offered:
                resource = axis.resource
                found.source.advise(
                    findings,
                    "overcommitted",
                    ("metadata", "name"),
                    f"found quotas of {show_amount(resource, promised[place])} {resource} "
                    f"for the flavor {name}, but its nodes in the input ({len(nodes)}) offer only "
                    f"{show_amount(resource, offered)}",
                    "lower the nominal quotas, or add nodes with the labels of the flavor",
                )


def _nodes_of(flavor: ResourceFlavor, state: ClusterState) -> Iterator[Node]:
    for node in state.nodes.values():
        if all(node.labels.get(key) == value for key, value in flavor.node_labels):
            yield node


def _offered(resource: str, nodes: list[Node], state: ClusterState) -> int:
    if resource not in state.resources:
        return 0
    at = state.resources.index(resource)
    return sum(state.books.offered(node)[at] for node in nodes)
