"""Users' objects as read, before they are put together.

Each is one manifest with its fields checked, amounts in base units by resource name. Which axes
there are, which rule set applies and how objects refer to each other is known only when all of
them have been read; `assemble_*` then turns them into a cluster state. Every object keeps its
`Source`, so that a finding about several objects can still point at a line.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path
from fairlead.model.catalogue import DisruptionBudget, LocalQueue, ResourceFlavor
from fairlead.model.queue import ClusterQueue, ResourceGroup
from fairlead.model.selector import Taint
from fairlead.model.workload import GpuShare, PodConstraints, SubGroup
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.usage.settings import UsageSettings

ByResource: TypeAlias = Mapping[str, int]
LimitByResource: TypeAlias = Mapping[str, int | None]
PriorityClassKind: TypeAlias = Literal["WorkloadPriorityClass", "PriorityClass", ""]


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


class QueueDemand(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue asks for in total, what it has of that, and what of it cannot be preempted."""

    requested: ByResource
    allocated: ByResource = msgspec.field(default_factory=dict)
    non_preemptible: ByResource = msgspec.field(default_factory=dict)


class KaiQueueObject(msgspec.Struct, frozen=True, kw_only=True):
    """A KAI ``Queue``; the maps have the keys cpu, memory and gpu, and None is unlimited."""

    source: Source
    name: str
    display_name: str = ""
    parent: str = ""
    priority: int
    created_ms: int = 0
    guaranteed: LimitByResource
    ceiling: LimitByResource
    weights: Mapping[str, Decimal]
    preempt_min_runtime_ms: int | None = None
    reclaim_min_runtime_ms: int | None = None
    simulated: QueueDemand | None = None  # in place of workloads, as the share simulator has it
    status: QueueDemand | None = None  # as KAI publishes it
    usage_e9: ByResource | None = None


class KaiPodGroupObject(msgspec.Struct, frozen=True, kw_only=True):
    """A KAI ``PodGroup``; its pods name it in a label or annotation."""

    source: Source
    identity: Identity = UNIDENTIFIED
    namespace: str
    name: str
    queue: str
    queue_path: Path = ("spec", "queue")  # or that of a label
    min_member: int
    min_sub_group: int | None = None
    priority_class: str = ""
    preemptibility: Literal["preemptible", "non-preemptible", ""] = ""
    created_ms: int = 0
    started_ms: int | None = None
    stale_since_ms: int | None = None  # since when it runs with too few pods
    sub_groups: tuple[SubGroup, ...] = ()
    staleness_grace_ms: int | None = None
    preemption_delay_ms: int = 0
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    topology: bool = False  # has a topology constraint, which no filter of ours knows


class KaiShardObject(msgspec.Struct, frozen=True, kw_only=True):
    """A KAI ``SchedulingShard``."""

    source: Source
    name: str
    settings: KaiSettings


class KaiConfigObject(msgspec.Struct, frozen=True, kw_only=True):
    """KAI's ``Config``, as far as scheduling reads it."""

    source: Source
    prometheus_url: str  # "": it names none


class FlavorQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one flavor x resource in a Kueue object."""

    flavor: str
    resource: str
    guaranteed: int
    borrow_limit: int | None = None
    lend_limit: int | None = None


class ClusterQueueObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``ClusterQueue``; cohort "" stands alone."""

    source: Source
    name: str
    cohort: str = ""
    weight: Decimal
    created_ms: int = 0
    quotas: tuple[FlavorQuota, ...]
    rules: ClusterQueue
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class CohortObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``Cohort``; its versions name the parent in different fields."""

    source: Source
    name: str
    parent: str = ""
    parent_path: Path = ("spec", "parentName")
    weight: Decimal
    created_ms: int = 0
    quotas: tuple[FlavorQuota, ...]
    resource_groups: tuple[ResourceGroup, ...]


class FlavorObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``ResourceFlavor``."""

    source: Source
    flavor: ResourceFlavor
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class LocalQueueObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``LocalQueue``."""

    source: Source
    local_queue: LocalQueue
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class KueueSettingsObject(msgspec.Struct, frozen=True, kw_only=True):
    """Kueue's ``Configuration``, as far as scheduling reads it."""

    source: Source
    settings: KueueSettings
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


PLUGIN_SCHEDULERS: Final = frozenset({"default-scheduler", "scheduler-plugins-scheduler"})
"""As which the capacity-scheduling plugin runs: as the default scheduler, or as its chart does."""


class OwnUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What our own settings say about past use."""

    k: Fraction | None  # None: nothing is said
    settings: UsageSettings


class OwnSettingsObject(msgspec.Struct, frozen=True, kw_only=True):
    """Fairlead's own ``Settings``, by rule set."""

    source: Source
    kueue: KueueSettings  # but what Kueue's Configuration says
    elastic_quota: ElasticQuotaSettings
    plugin_schedulers: frozenset[str] = PLUGIN_SCHEDULERS
    usage: OwnUsage | None = None
    sections: tuple[str, ...] = ()  # those that it has, as they are written


class KueuePodSet(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set of a Kueue Workload; ``admitted`` is how many have quota, with their flavors."""

    name: str
    count: int
    min_count: int
    requests: ByResource  # of one pod
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    constraints: PodConstraints
    admitted: int = 0
    flavors: Mapping[str, str] = msgspec.field(default_factory=dict)
    without_effect: tuple[Path, ...] = ()


class KueueWorkloadObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``Workload``; ``admitted_ms`` is None while it has no quota reserved."""

    source: Source
    identity: Identity = UNIDENTIFIED
    namespace: str
    name: str
    local_queue: str
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
    without_effect: tuple[Path, ...] = ()  # fields that are known and do nothing yet


class ElasticQuotaObject(msgspec.Struct, frozen=True, kw_only=True):
    """An ``ElasticQuota``; ``max`` is None when the object has none at all."""

    source: Source
    namespace: str
    name: str
    min: ByResource
    max: ByResource | None
    created_ms: int = 0


class PluginPodGroupObject(msgspec.Struct, frozen=True, kw_only=True):
    """The ``PodGroup`` that goes with ElasticQuota."""

    source: Source
    identity: Identity = UNIDENTIFIED
    namespace: str
    name: str
    min_member: int
    min_resources: ByResource | None = None
    schedule_timeout_s: int | None = None
    schedule_started_ms: int | None = None  # when its pods were last tried, as its status says
    created_ms: int = 0


class PodObject(msgspec.Struct, frozen=True, kw_only=True):
    """A core ``Pod`` as far as scheduling reads it; ``requests`` is what its node is charged.

    ``plugin_requests`` is what the capacity-scheduling plugin adds up instead; None: nothing else.
    """

    source: Source
    identity: Identity = UNIDENTIFIED
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    scheduler: str
    requests: ByResource
    plugin_requests: ByResource | None = None
    constraints: PodConstraints
    gpu_share: GpuShare | None = None
    node: str | None = None
    nominated_node: str | None = None
    phase: str = "Pending"
    terminating: bool = False
    gated: bool = False
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None
    created_ms: int = 0
    scheduled_ms: int | None = None  # when it got its node; read where its start is not told
    started_ms: int | None = None


class NodeObject(msgspec.Struct, frozen=True, kw_only=True):
    """A core ``Node`` as far as scheduling reads it."""

    source: Source
    name: str
    allocatable: ByResource
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    gpu_memory_mib: int | None = None


class NamespaceObject(msgspec.Struct, frozen=True, kw_only=True):
    """A core ``Namespace``."""

    source: Source
    name: str
    labels: Mapping[str, str]


class WorkloadPriorityClassObject(msgspec.Struct, frozen=True, kw_only=True):
    """A Kueue ``WorkloadPriorityClass``."""

    source: Source
    name: str
    value: int


class PriorityClassObject(msgspec.Struct, frozen=True, kw_only=True):
    """A ``PriorityClass``."""

    source: Source
    name: str
    value: int
    is_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


class BudgetObject(msgspec.Struct, frozen=True, kw_only=True):
    """A ``PodDisruptionBudget``."""

    source: Source
    budget: DisruptionBudget


Object: TypeAlias = (
    KaiQueueObject
    | KaiPodGroupObject
    | KaiShardObject
    | KaiConfigObject
    | ClusterQueueObject
    | CohortObject
    | FlavorObject
    | LocalQueueObject
    | KueueSettingsObject
    | OwnSettingsObject
    | KueueWorkloadObject
    | ElasticQuotaObject
    | PluginPodGroupObject
    | PodObject
    | NodeObject
    | NamespaceObject
    | PriorityClassObject
    | WorkloadPriorityClassObject
    | BudgetObject
)
