"""By what name an object is known among those of its type, and by what a pod is for its life."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from fairlead.manifest.objects import (
    BudgetObject,
    ClusterQueueObject,
    CohortObject,
    ElasticQuotaObject,
    FlavorObject,
    KaiConfigObject,
    KaiPodGroupObject,
    KaiQueueObject,
    KaiShardObject,
    KueueSettingsObject,
    KueueWorkloadObject,
    LocalQueueObject,
    NamespaceObject,
    NodeObject,
    Object,
    OwnSettingsObject,
    PluginPodGroupObject,
    PodObject,
    PriorityClassObject,
    WorkloadPriorityClassObject,
)
from fairlead.model.workload import PodId


class Namespaced(Protocol):
    """An object that has its name within a namespace."""

    @property
    def namespace(self) -> str:
        """Where it is."""

    @property
    def name(self) -> str:
        """What it is called there."""


def full_name(each: Namespaced) -> str:
    """Return ``namespace/name``."""
    return f"{each.namespace}/{each.name}"


def pod_id(pod: PodObject) -> PodId:
    """Return what a pod is known by for as long as it exists."""
    return PodId(pod.identity.uid or full_name(pod))


def name_of(each: Object) -> str:
    """Return the name of an object: ``namespace/name`` of a namespaced one.

    Of a type that a cluster has one object of, the name is "".
    """
    return _NAMES[type(each)](each)


def kind_of(each: Object) -> str:
    """Return the kind of an object as its manifest names it."""
    return _KINDS[type(each)]


def _own_name(each: Any) -> str:
    name: str = each.name
    return name


_NAMES: Final[Mapping[type, Callable[[Any], str]]] = {
    BudgetObject: lambda each: full_name(each.budget),
    ClusterQueueObject: _own_name,
    CohortObject: _own_name,
    ElasticQuotaObject: full_name,
    FlavorObject: lambda each: _own_name(each.flavor),
    KaiConfigObject: lambda _: "",
    KaiPodGroupObject: full_name,
    KaiQueueObject: _own_name,
    KaiShardObject: _own_name,
    KueueSettingsObject: lambda _: "",
    KueueWorkloadObject: full_name,
    LocalQueueObject: lambda each: full_name(each.local_queue),
    NamespaceObject: _own_name,
    NodeObject: _own_name,
    OwnSettingsObject: lambda _: "",
    PluginPodGroupObject: full_name,
    PodObject: full_name,
    PriorityClassObject: _own_name,
    WorkloadPriorityClassObject: _own_name,
}

_KINDS: Final[Mapping[type, str]] = {
    BudgetObject: "PodDisruptionBudget",
    ClusterQueueObject: "ClusterQueue",
    CohortObject: "Cohort",
    ElasticQuotaObject: "ElasticQuota",
    FlavorObject: "ResourceFlavor",
    KaiConfigObject: "Config",
    KaiPodGroupObject: "PodGroup",
    KaiQueueObject: "Queue",
    KaiShardObject: "SchedulingShard",
    KueueSettingsObject: "Configuration",
    KueueWorkloadObject: "Workload",
    LocalQueueObject: "LocalQueue",
    NamespaceObject: "Namespace",
    NodeObject: "Node",
    OwnSettingsObject: "Settings",
    PluginPodGroupObject: "PodGroup",
    PodObject: "Pod",
    PriorityClassObject: "PriorityClass",
    WorkloadPriorityClassObject: "WorkloadPriorityClass",
}
