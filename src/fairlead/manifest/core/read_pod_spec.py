"""Reads the spec of a pod, or of a pod template, as far as scheduling needs it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.core.claim_spec import EphemeralVolume
from fairlead.manifest.core.read_claim_spec import CLAIM, EPHEMERAL, read_ephemeral_volumes
from fairlead.manifest.core.read_selector import (
    read_label_selector,
    read_node_terms,
    read_preferred_nodes,
    read_tolerations,
    sorted_selector,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import FieldError, field_names, quantity_of, words
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.values import Value, describe
from fairlead.model.selector import LabelRequirement, LabelSelector, NodeTerm, PodSpread, PodTerm
from fairlead.model.workload import PodConstraints, Preferences

_PORT_MAX: Final = 65_535
_PROTOCOLS: Final[Mapping[str, str]] = words(Literal["TCP", "UDP", "SCTP"])
_RESTART_POLICIES: Final = words(Literal["Always", "OnFailure", "Never"])
PASSED_OVER_OF_CONTAINERS: Final = frozenset(
    field_names(
        """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name readinessProbe
    resizePolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
    terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """
    )
)


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """What one container asks for. A sidecar is an init container that goes on running.

    ``written`` are the requests that it has itself; for the others a limit stands in.
    """

    requests: Mapping[str, int]
    written: Mapping[str, int] = MappingProxyType({})
    limits: Mapping[str, int] = MappingProxyType({})
    host_ports: tuple[tuple[str, int], ...] = ()  # protocol and port
    is_sidecar: bool = False


def read_containers(spec: Cursor, key: str, *, on_host_network: bool) -> list[Container]:
    """Read the list of containers at *key*, in its order."""
    return [_read_container(item, on_host_network) for item in spec.items(key)]


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What containers ask for that say nothing of it, as a LimitRange of their namespace says."""

    requests: Mapping[str, int] = MappingProxyType({})
    limits: Mapping[str, int] = MappingProxyType({})


NO_DEFAULTS: Final = Defaults()


class PodDemand(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod asks for, part by part; ``overhead`` is None if its runtime class says it."""

    main: tuple[Container, ...]
    init: tuple[Container, ...]
    requests: Mapping[str, int]  # of the pod as a whole
    limits: Mapping[str, int]
    overhead: Mapping[str, int] | None = None
    runtime_class: str = ""

    def total(
        self, defaults: Defaults = NO_DEFAULTS, overhead: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Return what its node is charged; *overhead* counts where the pod says none itself."""
        main, init = self.completed(defaults)
        own = self.overhead if self.overhead is not None else overhead
        by_containers = pod_requests(main, init)
        total = with_pod_level(by_containers, requests=self.requests, limits=self.limits)
        return {**plus(total, own or {}), PODS: 1}

    def completed(
        self, defaults: Defaults = NO_DEFAULTS
    ) -> tuple[Sequence[Container], Sequence[Container]]:
        """Return the main and the init containers with *defaults* in place of what they leave."""
        return _completed(self.main, defaults), _completed(self.init, defaults)


def _completed(containers: Sequence[Container], defaults: Defaults) -> Sequence[Container]:
    """Return *containers* with *defaults*: a default request counts before a written limit."""
    if defaults is NO_DEFAULTS:
        return containers
    return [
        msgspec.structs.replace(
            each,
            requests={**defaults.limits, **each.requests, **defaults.requests, **each.written},
            limits={**defaults.limits, **each.limits},
        )
        for each in containers
    ]


def _read_container(container: Cursor, on_host_network: bool) -> Container:
    container.ignore(*PASSED_OVER_OF_CONTAINERS)
    resources = container.mapping("resources")
    resources.ignore("claims")  # the pod's resourceClaims are what matters
    limits = resources.quantities("limits", refuse_part)
    written = resources.quantities("requests", refuse_part)
    return Container(
        requests={**limits, **written},  # as the API server completes it
        written=written,
        limits=limits,
        host_ports=_host_ports(container, on_host_network),
        is_sidecar=container.choice("restartPolicy", _RESTART_POLICIES, "") == "Always",
    )


def _host_ports(container: Cursor, on_host_network: bool) -> tuple[tuple[str, int], ...]:
    found = []
    for item in container.items("ports"):
        item.ignore("name", "hostIP")
        inside = item.integer("containerPort", minimum=1, maximum=_PORT_MAX)
        port = item.integer("hostPort", 0, minimum=0, maximum=_PORT_MAX)
        protocol = item.choice("protocol", _PROTOCOLS, "TCP")
        if port == 0 and on_host_network:
            port = inside  # a pod in the host's network opens its ports there
        if port:
            found.append((protocol, port))
    return tuple(found)


_OF_KUBERNETES: Final = "kubernetes.io/"


def refuse_part(resource: str, value: Value) -> None:
    """Refuse an amount of *resource* that Kubernetes would refuse: a part of an extended one."""
    if "/" not in resource or _OF_KUBERNETES in resource or quantity_of(value).denominator == 1:
        return
    fix = "write a whole number"
    if resource.endswith("/gpu"):
        fix += "; a part of a GPU is asked for with the annotation gpu-fraction of a pod"
    message = (
        f"found {describe(value)}, expected a whole number: Kubernetes does not divide {resource}"
    )
    raise FieldError("bad-quantity", message, fix)


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LIKE: Final = "matchLabelKeys"
_UNLIKE: Final = "mismatchLabelKeys"
_WHEN_UNSATISFIABLE: Final = {"DoNotSchedule": True, "ScheduleAnyway": False}
_POLICIES: Final = {"Honor": True, "Ignore": False}
BINDING_VOLUMES: Final = field_names(
    """
    awsElasticBlockStore azureDisk cinder gcePersistentDisk iscsi rbd
    """
)
PASSED_OVER_OF_VOLUMES: Final = frozenset(
    field_names(
        """
    azureFile cephfs configMap csi downwardAPI emptyDir fc flexVolume flocker gitRepo glusterfs
    hostPath image name nfs photonPersistentDisk portworxVolume projected quobyte scaleIO secret
    storageos vsphereVolume
    """
    )
)


def read_pod_constraints(
    spec: Cursor,
    volumes: Iterable[Cursor],
    lasting: Iterable[Container],
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> PodConstraints:
    """Read the constraints of a pod with *labels* in *namespace*, but for its claims.

    Its *lasting* containers are its main ones and sidecars.
    """
    affinity = spec.mapping("affinity")
    of_nodes = affinity.mapping("nodeAffinity")
    spreads = _pod_spreads(spec, labels)
    return PodConstraints(
        node_selector=tuple(sorted(spec.text_map("nodeSelector").items())),
        node_terms=_node_terms(of_nodes),
        tolerations=read_tolerations(spec, "tolerations"),
        host_ports=tuple(sorted({port for one in lasting for port in one.host_ports})),
        pod_affinity=read_pod_terms(affinity, "podAffinity", namespace=namespace, labels=labels),
        pod_anti_affinity=read_pod_terms(
            affinity, "podAntiAffinity", namespace=namespace, labels=labels
        ),
        spread=tuple([each for each, is_hard in spreads if is_hard]),
        preferences=_preferences(of_nodes, [each for each, is_hard in spreads if not is_hard]),
        unsupported=tuple(sorted(set(_unsupported_fields(spec, volumes)))),
    )


def _preferences(of_nodes: Cursor, spreads: Sequence[PodSpread]) -> Preferences | None:
    nodes = read_preferred_nodes(of_nodes, _PREFERRED)
    return Preferences(nodes=nodes, spread=tuple(spreads)) if nodes or spreads else None


def _pod_spreads(spec: Cursor, labels: Mapping[str, str]) -> list[tuple[PodSpread, bool]]:
    """Return the constraints on the spread, each with whether it is a hard one."""
    found = []
    for rule in spec.items("topologySpreadConstraints"):
        is_hard = rule.choice("whenUnsatisfiable", _WHEN_UNSATISFIABLE)
        if rule.has("minDomains") and is_hard is False:
            message = "found minDomains with ScheduleAnyway, which Kubernetes refuses"
            fix = "remove minDomains, or write whenUnsatisfiable: DoNotSchedule"
            rule.error("minDomains", "contradiction", message, fix)
        spread = PodSpread(
            topology_key=rule.text("topologyKey"),
            max_skew=rule.integer("maxSkew", minimum=1),
            selector=_selector(rule, labels, like=rule.texts(_LIKE)),
            min_domains=rule.integer("minDomains", 1, minimum=1),
            honors_affinity=bool(rule.choice("nodeAffinityPolicy", _POLICIES, True)),
            honors_taints=bool(rule.choice("nodeTaintsPolicy", _POLICIES, False)),
        )
        found.append((spread, bool(is_hard)))
    return found


def _node_terms(affinity: Cursor) -> tuple[NodeTerm, ...] | None:
    is_required = affinity.has(_REQUIRED)
    required = affinity.mapping(_REQUIRED)
    return read_node_terms(required) if is_required else None


def _unsupported_fields(spec: Cursor, volumes: Iterable[Cursor]) -> Iterator[str]:
    for volume in volumes:
        volume.ignore(*PASSED_OVER_OF_VOLUMES, *BINDING_VOLUMES, CLAIM, EPHEMERAL)
        yield from (f"volumes.{kind}" for kind in BINDING_VOLUMES if volume.has(kind))
    for claim in spec.items("resourceClaims"):
        claim.ignore("source")
        own = claim.text("name", "")
        named = [claim.text(f"resourceClaim{each}Name", "") for each in ("", "Template")]
        yield f"resourceClaims: {next(filter(None, [*named, own]), '')}".removesuffix(": ")


def read_pod_terms(
    affinity: Cursor,
    kind: Literal["podAffinity", "podAntiAffinity"],
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> tuple[PodTerm, ...]:
    """Read the required terms at *kind* of a pod with *labels* in *namespace*.

    Preferred ones are passed over.
    """
    rules = affinity.mapping(kind)
    rules.ignore(_PREFERRED)
    return tuple(_pod_term(term, namespace, labels) for term in rules.items(_REQUIRED))


def _pod_term(term: Cursor, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    has_others = term.has("namespaceSelector")
    others = read_label_selector(term.mapping("namespaceSelector"))
    listed = tuple(sorted(set(term.texts("namespaces"))))
    return PodTerm(
        topology_key=term.text("topologyKey"),
        selector=_selector(term, labels, like=term.texts(_LIKE), unlike=term.texts(_UNLIKE)),
        namespaces=listed if listed or has_others else (namespace,),
        namespace_selector=others if has_others else None,
    )


def _selector(
    term: Cursor, labels: Mapping[str, str], *, like: Sequence[str], unlike: Sequence[str] = ()
) -> LabelSelector | None:
    is_given = term.has("labelSelector")
    written = read_label_selector(term.mapping("labelSelector"))
    if not is_given:
        for field, keys in ((_LIKE, like), (_UNLIKE, unlike)):
            if keys:
                message = f"found {field} without a labelSelector, which selects no pod"
                term.error(field, "contradiction", message, "add the labelSelector")
        return None
    for key in sorted({*like} & {*unlike}):
        message = f"found {quote(key)} both here and in {_LIKE}, which no pod can meet"
        term.error(_UNLIKE, "contradiction", message, "remove it from one of the two")
    return sorted_selector(
        [
            *written.requirements,
            # The API server adds these itself, so a pod read from it has them already.
            *(_requirement(key, "In", labels) for key in like if key in labels),
            *(_requirement(key, "NotIn", labels) for key in unlike if key in labels),
        ]
    )


def _requirement(
    key: str, operator: Literal["In", "NotIn"], labels: Mapping[str, str]
) -> LabelRequirement:
    return LabelRequirement(key=key, operator=operator, values=(labels[key],))


PreemptionPolicy: TypeAlias = Literal["PreemptLowerPriority", "Never"]

PREEMPTION_POLICIES: Final[Mapping[str, PreemptionPolicy]] = words(PreemptionPolicy)
DEFAULT_SCHEDULER: Final = "default-scheduler"
NODE_NAME: Final = "nodeName"
PODS: Final = "pods"  # a node takes only so many, so each pod asks for one of them

PASSED_OVER_OF_SPECS: Final = frozenset(
    field_names(
        """
    activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostPID hostUsers hostname hostnameOverride
    imagePullSecrets os readinessGates restartPolicy securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds workloadRef
    """
    )
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
    ephemeral_volumes: tuple[EphemeralVolume, ...]
    demand: PodDemand


def read_pod_spec(spec: Cursor, *, namespace: str, labels: Mapping[str, str]) -> PodSpecRead:
    """Read the spec of a pod with *labels* in *namespace*, all but its node.

    What is wrong becomes findings.
    """
    spec.ignore(*PASSED_OVER_OF_SPECS)
    on_host_network = bool(spec.boolean("hostNetwork", False))
    main = read_containers(spec, "containers", on_host_network=on_host_network)
    init = read_containers(spec, "initContainers", on_host_network=on_host_network)
    volumes = spec.items("volumes")
    lasting = [*main, *(container for container in init if container.is_sidecar)]
    overhead = spec.quantities("overhead", refuse_part)
    resources = spec.mapping("resources")
    resources.ignore("claims")
    demand = PodDemand(
        main=tuple(main),
        init=tuple(init),
        requests=resources.quantities("requests"),
        limits=resources.quantities("limits"),
        overhead=overhead if spec.has("overhead") else None,
        runtime_class=spec.text("runtimeClassName", ""),
    )
    requests = demand.total()
    as_plugin = None
    if len(lasting) > len(main) or spec.has("resources"):  # else both are the same
        as_plugin = plus(plugin_requests(main, init), overhead)
    return PodSpecRead(
        requests=requests,
        plugin_requests=None if as_plugin in (None, _without_pods(requests)) else as_plugin,
        constraints=read_pod_constraints(
            spec, volumes, lasting, namespace=namespace, labels=labels
        ),
        priority=spec.integer("priority", None),
        priority_class=spec.text("priorityClassName", ""),
        preemption_policy=spec.choice("preemptionPolicy", PREEMPTION_POLICIES, None),
        scheduler=spec.text("schedulerName", "") or DEFAULT_SCHEDULER,
        scheduling_gates=tuple(gate.text("name") for gate in spec.items("schedulingGates")),
        ephemeral_volumes=read_ephemeral_volumes(volumes),
        demand=demand,
    )


def _without_pods(requests: Mapping[str, int]) -> dict[str, int]:
    return {resource: amount for resource, amount in requests.items() if resource != PODS}


def read_node_name(spec: Cursor) -> str | None:
    """Read the node that a pod has; None: it has none."""
    return spec.text(NODE_NAME, "") or None


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
