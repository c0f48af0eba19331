"""Users' objects as read, before they are put together.

Each is one manifest with its fields checked, amounts in base units by resource name. Which axes
there are, which rule set applies and how objects refer to each other is known only when all of
them have been read; a translator then turns them into a cluster state. Every object keeps its
`Source`, so that a finding about several objects can still point at a line.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import msgspec

from fairlead.manifest.core.claim_spec import EphemeralVolume
from fairlead.manifest.text.documents import Source
from fairlead.model.catalogue import DisruptionBudget
from fairlead.model.selector import Taint
from fairlead.model.workload import GpuShare, PodConstraints, PodId

ByResource: TypeAlias = Mapping[str, int]
LimitByResource: TypeAlias = Mapping[str, int | None]


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """An object that another one belongs to; at most one owner of an object is its controller."""

    api_version: str
    kind: str
    name: str
    uid: str
    is_controller: bool = False


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Which object of an API server it is, in which version, and which objects own it.

    An object of the same name with another uid is another object. ``resource_version`` changes with
    every write and ``generation`` with the spec; both are preconditions of what is written back. A
    file may say nothing of all this.
    """

    uid: str = ""  # "": not known
    resource_version: str = ""  # to be compared with others, and nothing else; "": not known
    generation: int | None = None
    owners: tuple[Owner, ...] = ()


UNIDENTIFIED: Final = Identity()


class Object(msgspec.Struct, frozen=True, kw_only=True):
    """An object of whatever kind. ``is_single``: a cluster has one of its type at most."""

    kind: ClassVar[str]  # as its manifest names it
    is_single: ClassVar[bool] = False
    source: Source

    @property
    def queued_ms(self) -> int | None:
        """Since when it waits for its turn, 0: it is not created yet; None: it does not wait."""
        return None

    @property
    def latest_ms(self) -> int:
        """The last time at which something happened to it that matters for its turn; 0: never."""
        return 0

    def key(self) -> str:
        """Return by what an object is known among those of its type; "" where there is one only."""
        return ""


class NamedObject(Object, frozen=True, kw_only=True):
    """An object that has its name in the whole cluster."""

    name: str

    def key(self) -> str:
        """Return its name."""
        return self.name


class NamespacedObject(Object, frozen=True, kw_only=True):
    """An object that has its name within a namespace."""

    namespace: str
    name: str
    identity: Identity = UNIDENTIFIED

    def key(self) -> str:
        """Return ``namespace/name``."""
        return full_name(self)


class Namespaced(Protocol):
    """What has its name within a namespace."""

    @property
    def namespace(self) -> str:
        """Where it is."""

    @property
    def name(self) -> str:
        """What it is called there."""


def full_name(each: Namespaced) -> str:
    """Return ``namespace/name``."""
    return f"{each.namespace}/{each.name}"


class Unschedulable(msgspec.Struct, frozen=True):
    """Why a pod waits, as its scheduler last wrote into the condition ``PodScheduled``."""

    message: str
    since: str  # as the API server writes it; "": not known


class PodObject(NamespacedObject, frozen=True, kw_only=True):
    """A core ``Pod`` as far as scheduling reads it; ``requests`` is what its node is charged.

    ``plugin_requests`` is what the capacity-scheduling plugin adds up instead; None: nothing else.
    """

    kind: ClassVar = "Pod"
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    scheduler: str
    requests: ByResource
    plugin_requests: ByResource | None = None
    constraints: PodConstraints
    gpu_share: GpuShare | None = None
    node: str | None = None
    nominated_node: str | None = None
    unschedulable: Unschedulable | None = None  # None: its condition says no such thing
    phase: str = "Pending"
    terminating: bool = False
    gated: bool = False
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None
    created_ms: int = 0
    scheduled_ms: int | None = None  # when it got its node; read where its start is not known
    started_ms: int | None = None
    claims: tuple[str, ...] = ()  # that its volumes name, in its namespace
    ephemeral_volumes: tuple[EphemeralVolume, ...] = ()
    device_claims: tuple[tuple[type, str], ...] = ()  # the kind, and the name in its namespace
    claimed_gpus: int = 0  # what these come to, once they are looked up

    @property
    def queued_ms(self) -> int | None:
        """When it was created, if it has no node yet."""
        return self.created_ms if self.node is None else None

    @property
    def latest_ms(self) -> int:
        """When it was created, or got its node."""
        return max(self.created_ms, self.scheduled_ms or 0, self.started_ms or 0)


class NodeObject(NamedObject, frozen=True, kw_only=True):
    """A core ``Node`` as far as scheduling reads it."""

    kind: ClassVar = "Node"
    allocatable: ByResource
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    gpu_memory_mib: int | None = None


class NamespaceObject(NamedObject, frozen=True, kw_only=True):
    """A core ``Namespace``."""

    kind: ClassVar = "Namespace"
    labels: Mapping[str, str]


class PriorityClassObject(NamedObject, frozen=True, kw_only=True):
    """A ``PriorityClass``."""

    kind: ClassVar = "PriorityClass"
    value: int
    is_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


class BudgetObject(Object, frozen=True, kw_only=True):
    """A ``PodDisruptionBudget``."""

    kind: ClassVar = "PodDisruptionBudget"
    budget: DisruptionBudget

    def key(self) -> str:
        """Return ``namespace/name``."""
        return full_name(self.budget)


class ResourceQuotaObject(NamespacedObject, frozen=True, kw_only=True):
    """A core ``ResourceQuota``: what all pods of a namespace may request together."""

    kind: ClassVar = "ResourceQuota"
    requests: ByResource


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the most that one container, or one pod as a whole, may ask for."""

    least: ByResource
    most: ByResource


class LimitRangeObject(NamespacedObject, frozen=True, kw_only=True):
    """A core ``LimitRange``: what containers ask for that do not say it, and what is allowed."""

    kind: ClassVar = "LimitRange"
    requests: ByResource
    limits: ByResource
    of_containers: tuple[Bounds, ...] = ()
    of_pods: tuple[Bounds, ...] = ()


class RuntimeClassObject(NamedObject, frozen=True, kw_only=True):
    """A ``RuntimeClass``: what its pods cost besides their containers."""

    kind: ClassVar = "RuntimeClass"
    overhead: ByResource


class SettingsObject(Object, frozen=True, kw_only=True):
    """Fairlead's own ``Settings``: what each rule set reads from its section of them.

    A section that is not written is read too, with its defaults.
    """

    kind: ClassVar = "Settings"
    is_single: ClassVar = True
    sections: Mapping[str, Any]  # by name
    written: tuple[str, ...] = ()  # the sections that the object has


def pod_id(pod: PodObject) -> PodId:
    """Return what a pod is known by for as long as it exists."""
    return PodId(pod.identity.uid or full_name(pod))


_FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})


def is_finished(pod: PodObject) -> bool:
    """Return whether a pod has run to its end, well or badly, and so holds nothing any more."""
    return pod.phase in _FINISHED_PHASES


def is_placed(pod: PodObject) -> bool:
    """Return whether a pod holds a place on a node, leaving or not; where that is must be known."""
    return pod.node is not None and not is_finished(pod)


def is_live(pod: PodObject) -> bool:
    """Return whether a pod holds or wants something.

    A finished one does not, nor one that was deleted before it got a place.
    """
    return not is_finished(pod) and (is_placed(pod) or not pod.terminating)


def is_gated(pod: PodObject) -> bool:
    """Return whether a pod is held back from scheduling; one that has a place is not."""
    return pod.gated and not is_placed(pod)
