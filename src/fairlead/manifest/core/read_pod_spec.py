"""Reads the spec of a pod, or of a pod template, as far as scheduling needs it."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.core.read_containers import Container, read_containers, refuse_part
from fairlead.manifest.core.read_pod_constraints import read_pod_constraints
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.workload import PodConstraints

PreemptionPolicy: TypeAlias = Literal["PreemptLowerPriority", "Never"]

PREEMPTION_POLICIES: Final[Mapping[str, PreemptionPolicy]] = {
    "PreemptLowerPriority": "PreemptLowerPriority",
    "Never": "Never",
}
DEFAULT_SCHEDULER: Final = "default-scheduler"
NODE_NAME: Final = "nodeName"
PODS: Final = "pods"  # a node takes only so many, so each pod asks for one of them

PASSED_OVER_OF_SPECS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "os",
        "readinessGates",
        "restartPolicy",
        "runtimeClassName",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "workloadRef",
    }
)


class PodSpecRead(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's spec, but for its node.

    ``requests`` is what its node is charged: overhead included, and one pod. ``plugin_requests`` is
    what the capacity-scheduling plugin adds up instead; None: nothing else.
    """

    requests: Mapping[str, int]
    plugin_requests: Mapping[str, int] | None
    constraints: PodConstraints
    priority: int | None
    priority_class: str
    preemption_policy: PreemptionPolicy | None
    scheduler: str
    scheduling_gates: tuple[str, ...]


def read_pod_spec(spec: Cursor, *, namespace: str, labels: Mapping[str, str]) -> PodSpecRead:
    """Read the spec of a pod with *labels* in *namespace*, all but its node.

    What is wrong becomes findings.
    """
    spec.ignore(*PASSED_OVER_OF_SPECS)
    on_host_network = bool(spec.boolean("hostNetwork", False))
    main = read_containers(spec, "containers", on_host_network=on_host_network)
    init = read_containers(spec, "initContainers", on_host_network=on_host_network)
    lasting = [*main, *(container for container in init if container.is_sidecar)]
    overhead = spec.quantities("overhead", refuse_part)
    requests = plus(_requests(spec, main, init), overhead)
    as_plugin = None
    if len(lasting) > len(main) or spec.has("resources"):  # else both are the same
        as_plugin = plus(plugin_requests(main, init), overhead)
    return PodSpecRead(
        requests={**requests, PODS: 1},
        plugin_requests=None if as_plugin == requests else as_plugin,
        constraints=read_pod_constraints(spec, lasting, namespace=namespace, labels=labels),
        priority=spec.integer("priority", None),
        priority_class=spec.text("priorityClassName", ""),
        preemption_policy=spec.choice("preemptionPolicy", PREEMPTION_POLICIES, None),
        scheduler=spec.text("schedulerName", "") or DEFAULT_SCHEDULER,
        scheduling_gates=tuple(gate.text("name") for gate in spec.items("schedulingGates")),
    )


def read_node_name(spec: Cursor) -> str | None:
    """Read the node that a pod has; None: it has none."""
    return spec.text(NODE_NAME, "") or None


def _requests(spec: Cursor, main: list[Container], init: list[Container]) -> dict[str, int]:
    resources = spec.mapping("resources")
    resources.ignore("claims")
    return with_pod_level(
        pod_requests(main, init),
        requests=resources.quantities("requests"),
        limits=resources.quantities("limits"),
    )


_HUGE_PAGES = "hugepages-"


def pod_requests(main: Sequence[Container], init: Sequence[Container]) -> dict[str, int]:
    """Return the most that the containers ask for at any one time, by resource.

    Law: at least the sum of the main containers and sidecars, and at least every step of the init
    sequence together with the sidecars started before it.
    """
    lasting: dict[str, int] = {}
    for container in main:
        _add(lasting, container.requests)
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in init:
        step = dict(sidecars)
        _add(step, container.requests)
        if container.is_sidecar:
            _add(lasting, container.requests)
            sidecars = step
        _raise_to(peak, step)
    _raise_to(lasting, peak)
    return lasting


def plugin_requests(main: Sequence[Container], init: Sequence[Container]) -> dict[str, int]:
    """Return what the capacity-scheduling plugin adds up for the containers, by resource.

    It takes a sidecar for an init container that is gone before the main ones start. Law: without
    sidecars it is what `pod_requests` gives.
    """
    total: dict[str, int] = {}
    for container in main:
        _add(total, container.requests)
    for container in init:
        _raise_to(total, container.requests)
    return total


def with_pod_level(
    by_containers: Mapping[str, int], requests: Mapping[str, int], limits: Mapping[str, int]
) -> dict[str, int]:
    """Return requests in which those written for the pod as a whole replace the containers'.

    Only cpu, memory and huge pages can be written so. A limit of the pod stands in where neither
    it nor its containers request anything; huge pages cannot be overcommitted, so theirs always.
    """
    stand_ins = {
        resource: amount
        for resource, amount in limits.items()
        if _is_pod_level(resource)
        and (resource.startswith(_HUGE_PAGES) or resource not in by_containers)
    }
    own = {resource: amount for resource, amount in requests.items() if _is_pod_level(resource)}
    return {**by_containers, **stand_ins, **own}


def plus(requests: Mapping[str, int], overhead: Mapping[str, int]) -> dict[str, int]:
    """Return *requests* and what the pod costs besides its containers."""
    total = dict(requests)
    _add(total, overhead)
    return total


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith(_HUGE_PAGES)


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for resource, amount in least.items():
        total[resource] = max(total.get(resource, 0), amount)
