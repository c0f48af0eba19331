"""Kueue's objects as read, before they are put together."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import msgspec

from fairlead.manifest.core.device_claims import DeviceClaimName
from fairlead.manifest.core.objects import (
    ByResource,
    NamedObject,
    NamespacedObject,
    Object,
    full_name,
)
from fairlead.manifest.core.read_pod_spec import PodDemand
from fairlead.manifest.text.path import Path
from fairlead.model.axes import Axis
from fairlead.model.catalogue import LocalQueue, ResourceFlavor
from fairlead.model.queue import ClusterQueue, ResourceGroup
from fairlead.model.workload import AdmissionCheck, PodConstraints
from fairlead.policy.kueue.settings import KueueSettings

PriorityClassKind: TypeAlias = Literal["WorkloadPriorityClass", "PriorityClass", ""]


class FlavorQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one flavor x resource in a Kueue object."""

    flavor: str
    resource: str
    guaranteed: int
    borrow_limit: int | None = None
    lend_limit: int | None = None


class ClusterQueueObject(NamedObject, frozen=True, kw_only=True):
    """A Kueue ``ClusterQueue``; cohort "" stands alone."""

    kind: ClassVar = "ClusterQueue"
    cohort: str = ""
    weight: Decimal
    created_ms: int = 0
    quotas: tuple[FlavorQuota, ...]
    rules: ClusterQueue
    reservations: tuple[tuple[Axis, int], ...] = ()  # by its status
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class CohortObject(NamedObject, frozen=True, kw_only=True):
    """A Kueue ``Cohort``; its versions name the parent in different fields."""

    kind: ClassVar = "Cohort"
    parent: str = ""
    parent_path: Path = ("spec", "parentName")
    weight: Decimal
    created_ms: int = 0
    quotas: tuple[FlavorQuota, ...]
    resource_groups: tuple[ResourceGroup, ...]


class FlavorObject(Object, frozen=True, kw_only=True):
    """A Kueue ``ResourceFlavor``."""

    kind: ClassVar = "ResourceFlavor"
    flavor: ResourceFlavor
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet

    def key(self) -> str:
        """Return its name."""
        return self.flavor.name


class LocalQueueObject(Object, frozen=True, kw_only=True):
    """A Kueue ``LocalQueue``."""

    kind: ClassVar = "LocalQueue"
    local_queue: LocalQueue
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet

    def key(self) -> str:
        """Return ``namespace/name``."""
        return full_name(self.local_queue)


class Transformation(msgspec.Struct, frozen=True, kw_only=True):
    """What a resource counts as: each whole unit of *input* as so much of each of *outputs*."""

    input: str
    outputs: tuple[tuple[str, Fraction], ...]  # in the units in which users write
    replaces_input: bool = False  # False: the input counts beside its outputs
    multiply_by: str = ""  # a resource of the same pod; "": none


class RequestRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the Configuration changes what pods request before quota is looked at."""

    excluded_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    device_resources: tuple[tuple[str, str], ...] = ()  # by device class, what its devices use


class KueueSettingsObject(Object, frozen=True, kw_only=True):
    """Kueue's ``Configuration``, as far as scheduling reads it."""

    kind: ClassVar = "Configuration"
    is_single: ClassVar = True
    settings: KueueSettings
    frameworks: tuple[str, ...] | None = None  # whose jobs it manages; None: not said
    request_rules: RequestRules = RequestRules()
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class WorkloadPriorityClassObject(NamedObject, frozen=True, kw_only=True):
    """A Kueue ``WorkloadPriorityClass``."""

    kind: ClassVar = "WorkloadPriorityClass"
    value: int


class KueuePodSet(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set of a Kueue Workload; ``admitted`` is how many have quota, with their flavors."""

    name: str
    count: int
    min_count: int
    requests: ByResource  # of one pod
    device_claims: tuple[DeviceClaimName, ...] = ()  # that a pod names
    demand: PodDemand | None = None  # part by part, for what its cluster adds; None: not known
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    constraints: PodConstraints
    admitted: int = 0
    flavors: Mapping[str, str] = msgspec.field(default_factory=dict)
    without_effect: tuple[Path, ...] = ()


class KueueWorkloadObject(NamespacedObject, frozen=True, kw_only=True):
    """A Kueue ``Workload``; ``admitted_ms`` is None while it has no quota reserved."""

    kind: ClassVar = "Workload"
    local_queue: str
    local_queue_path: Path = ("spec", "queueName")
    pod_sets: tuple[KueuePodSet, ...]
    priority: int | None = None
    priority_class: str = ""
    priority_class_path: Path = ("spec", "priorityClassRef", "name")
    priority_class_kind: PriorityClassKind = ""  # "": of either kind
    active: bool = True
    finished: bool = False
    evicted: bool = False
    created_ms: int = 0
    admitted_ms: int | None = None
    admitted_by: str = ""  # the ClusterQueue that reserved its quota
    requeued_ms: int | None = None
    back_off_until_ms: int | None = None
    preempted_ms: int | None = None
    preempting: bool = False
    max_execution_s: int | None = None
    replaces: str = ""  # the older slice of an elastic job, as NAMESPACE/NAME; "": none
    awaits_checks: bool = False
    checks: tuple[AdmissionCheck, ...] = ()
    deactivated_by: str = ""
    misconfigured: str = ""  # what is wrong with its requests, so that it is not admitted
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet

    @property
    def queued_ms(self) -> int | None:
        """When it was created, if it has no quota yet."""
        return self.created_ms if self.admitted_ms is None else None

    @property
    def latest_ms(self) -> int:
        """When it was created, queued again or admitted."""
        return max(self.created_ms, self.requeued_ms or 0, self.admitted_ms or 0)
