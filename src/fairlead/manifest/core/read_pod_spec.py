"""Reads the spec of a pod, or of a pod template, as far as scheduling needs it."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.core.extended_resources import refuse_part
from fairlead.manifest.core.pod_requests import (
    plugin_requests,
    plus,
    pod_requests,
    with_pod_level,
)
from fairlead.manifest.core.read_containers import Container, read_containers
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
