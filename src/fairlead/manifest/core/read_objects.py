"""Reads Kubernetes' own objects but pods: nodes, namespaces, priority classes, budgets, quotas."""

from typing import Final

from fairlead.manifest.core.objects import (
    Bounds,
    BudgetObject,
    LimitRangeObject,
    NamespaceObject,
    NodeObject,
    PriorityClassObject,
    ResourceQuotaObject,
    RuntimeClassObject,
)
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_pod_spec import PODS, PREEMPTION_POLICIES, refuse_part
from fairlead.manifest.core.read_selector import read_label_selector, read_taints
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import field_names
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import quote
from fairlead.model.catalogue import NAMESPACE_NAME_LABEL, DisruptionBudget
from fairlead.model.quantity import MAX_QUANTITY

GPU_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
ANY_NUMBER_OF_PODS: Final = MAX_COUNT  # for a node that does not say how many it takes

_MAX_DIGITS: Final = 18
_IGNORED_NODE_SPEC: Final = ("configSource", "externalID", "podCIDR", "podCIDRs", "providerID")
_IGNORED_NODE_STATUS: Final = field_names(
    """
    addresses config daemonEndpoints declaredFeatures features images nodeInfo phase
    runtimeHandlers volumesAttached volumesInUse
    """
)
_IGNORED_CONDITION: Final = ("lastHeartbeatTime", "lastTransitionTime", "message", "reason")


@reads_named
def read_node(top: Cursor, metadata: Metadata) -> NodeObject:
    """Read a node. One that says nothing of itself is ready."""
    spec, status = top.mapping("spec"), top.mapping("status")
    spec.ignore(*_IGNORED_NODE_SPEC)
    status.ignore(*_IGNORED_NODE_STATUS)
    capacity = status.quantities("capacity", refuse_part)
    allocatable = status.quantities("allocatable", refuse_part)
    if not (status.has("capacity") or status.has("allocatable")):
        message = "found neither allocatable nor capacity; the node offers nothing"
        top.warn(("status", "allocatable"), "missing-field", message, "add allocatable")
    taints = read_taints(spec, "taints")
    # What deletes a node that is still there, for a finalizer's sake, moves its pods away.
    is_cordoned = bool(spec.boolean("unschedulable", False)) or metadata.is_leaving
    is_ready = _is_ready(status)
    gpu_memory_mib = _gpu_memory_mib(top, metadata)
    offered = allocatable if status.has("allocatable") else capacity
    return NodeObject(
        source=top.source,
        name=metadata.name,
        allocatable={PODS: ANY_NUMBER_OF_PODS, **offered} if offered else {},
        labels=metadata.labels,
        taints=taints,
        ready=is_ready,
        cordoned=is_cordoned,
        gpu_memory_mib=gpu_memory_mib,
    )


def _is_ready(status: Cursor) -> bool:
    is_ready = True
    for condition in status.items("conditions"):
        condition.ignore(*_IGNORED_CONDITION)
        kind, value = condition.text("type"), condition.text("status")
        if kind == "Ready":
            is_ready = value == "True"
    return is_ready


def _gpu_memory_mib(top: Cursor, metadata: Metadata) -> int | None:
    text = metadata.labels.get(GPU_MEMORY_LABEL)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    message = f"found {quote(text)}, expected whole mebibytes of one device; it is left unknown"
    place = ("metadata", "labels", GPU_MEMORY_LABEL)
    top.warn(place, "bad-quantity", message, 'write a number such as "81559"')
    return None


@reads_named
def read_namespace(top: Cursor, metadata: Metadata) -> NamespaceObject:
    """Read a namespace. Like the API server, label it with it."""
    top.ignore("spec", "status")
    labels = {**metadata.labels, NAMESPACE_NAME_LABEL: metadata.name}
    return NamespaceObject(source=top.source, name=metadata.name, labels=labels)


@reads_named
def read_priority_class(top: Cursor, metadata: Metadata) -> PriorityClassObject:
    """Read a Kubernetes priority class."""
    top.ignore("description")
    return PriorityClassObject(
        source=top.source,
        name=metadata.name,
        value=read_priority(top),
        is_default=bool(top.boolean("globalDefault", False)),
        preemption_policy=top.choice(
            "preemptionPolicy", PREEMPTION_POLICIES, PREEMPTION_POLICIES["PreemptLowerPriority"]
        ),
    )


def read_priority(top: Cursor) -> int:
    """Read the value of a priority class."""
    return top.integer("value", minimum=-MAX_COUNT - 1, maximum=MAX_COUNT)


_IGNORED_BUDGET_SPEC: Final = ("maxUnavailable", "minAvailable", "unhealthyPodEvictionPolicy")
_IGNORED_BUDGET_STATUS: Final = field_names(
    """
    conditions currentHealthy desiredHealthy expectedPods observedGeneration
    """
)


@reads_named
def read_budget(top: Cursor, metadata: Metadata) -> BudgetObject | None:
    """Read a budget; None if it selects nothing.

    How much it allows is taken from its status, which a controller writes; without, it is 0.
    """
    spec, status = top.mapping("spec", required=True), top.mapping("status")
    spec.ignore(*_IGNORED_BUDGET_SPEC)
    status.ignore(*_IGNORED_BUDGET_STATUS)
    has_selector = spec.has("selector")
    selector = read_label_selector(spec.mapping("selector"))
    allowed = status.integer("disruptionsAllowed", None, minimum=0)
    disrupted_pods = tuple(sorted(status.text_map("disruptedPods")))
    if not has_selector:
        message = "found a budget without a selector, which protects no pod; it is left out"
        top.warn(("spec", "selector"), "no-effect", message, "add a selector")
    elif allowed is None:
        message = "found no count of allowed disruptions; taken as 0, so all its pods are protected"
        top.advise(("status", "disruptionsAllowed"), "missing-field", message, "add the status")
    if not has_selector:
        return None
    return BudgetObject(
        source=top.source,
        budget=DisruptionBudget(
            namespace=metadata.namespace,
            name=metadata.name,
            selector=selector,
            disruptions_allowed=allowed or 0,
            disrupted_pods=disrupted_pods,
        ),
    )


_REQUESTS: Final = "requests."
_ALSO_REQUESTS: Final = ("cpu", "memory", "ephemeral-storage")


def _is_requested(key: str) -> bool:
    return key in _ALSO_REQUESTS or key.startswith((_REQUESTS, "hugepages-"))


@reads_named
def read_resource_quota(top: Cursor, metadata: Metadata) -> ResourceQuotaObject | None:
    """Read what the pods of a namespace may request; None if that is about some pods only.

    A limit may stand there with the prefix ``requests.`` and without: then the lower one counts.
    """
    top.ignore("status")
    spec = top.mapping("spec")
    hard = spec.mapping("hard")
    requests: dict[str, int] = {}
    for key in filter(_is_requested, hard.keys()):
        resource = key.removeprefix(_REQUESTS)
        amount = hard.quantity(key, resource, MAX_QUANTITY)
        requests[resource] = min(amount, requests.get(resource, amount))
    hard.ignore(*hard.keys())
    is_scoped = spec.has("scopes") or spec.has("scopeSelector")
    spec.ignore("scopes", "scopeSelector")
    if is_scoped:
        return None
    return ResourceQuotaObject(
        source=top.source, namespace=metadata.namespace, name=metadata.name, requests=requests
    )


@reads_named
def read_limit_range(top: Cursor, metadata: Metadata) -> LimitRangeObject:
    """Read defaults and bounds; of two defaults for containers the first counts."""
    spec = top.mapping("spec")
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    bounds: dict[str, list[Bounds]] = {"Container": [], "Pod": []}
    for item in spec.items("limits"):
        item.ignore(*item.keys())
        kind = item.text("type", "")
        if kind in bounds:
            found = Bounds(least=item.quantities("min"), most=item.quantities("max"))
            bounds[kind].append(found)
        if kind == "Container":
            requests = {**item.quantities("defaultRequest"), **requests}
            limits = {**item.quantities("default"), **limits}
    return LimitRangeObject(
        source=top.source,
        namespace=metadata.namespace,
        name=metadata.name,
        requests=requests,
        limits=limits,
        of_containers=tuple(bounds["Container"]),
        of_pods=tuple(bounds["Pod"]),
    )


@reads_named
def read_runtime_class(top: Cursor, metadata: Metadata) -> RuntimeClassObject:
    """Read what a pod of the class costs besides its containers."""
    top.ignore(*top.keys())
    overhead = top.mapping("overhead")
    overhead.ignore(*overhead.keys())
    return RuntimeClassObject(
        source=top.source, name=metadata.name, overhead=overhead.quantities("podFixed")
    )
