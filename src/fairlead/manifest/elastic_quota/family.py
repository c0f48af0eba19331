"""How ElasticQuotas with pods and nodes become a cluster state.

Each quota is a queue without parent, called after its namespace. Every live pod is a workload or
part of one, in the queue of its namespace. A namespace without quota has no queue, so its pods are
charged to no queue; they are workloads all the same, because a pod without quota may preempt
another one. Pods of other schedulers count and may give way like all others, as for the plugin,
which looks at every pod on a node; they are started by their own scheduler only.
"""

from collections.abc import Collection, Iterable, Sequence, Set
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from fairlead.manifest.bundle import Bundle, Kind, SettingsSection, one_object
from fairlead.manifest.core.objects import (
    BudgetObject,
    ByResource,
    NamespaceObject,
    Object,
    PodObject,
    PriorityClassObject,
    SettingsObject,
    full_name,
)
from fairlead.manifest.core.owners.kinship import Kinship
from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import standing
from fairlead.manifest.core.priorities import Priorities
from fairlead.manifest.elastic_quota.assemble_checks import (
    advise_elastic_quota,
    one_per_namespace,
    warn_of_gpu_shares,
)
from fairlead.manifest.elastic_quota.assemble_workload import (
    ElasticWorkload,
    Gang,
    gangs_without_group,
    group_gang,
    named_group,
)
from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject, PluginPodGroupObject
from fairlead.manifest.elastic_quota.read_options import (
    ELASTIC_QUOTA_SECTION,
    ElasticQuotaOptions,
    read_elastic_quota_options,
)
from fairlead.manifest.elastic_quota.read_quota import (
    is_counted,
    read_elastic_quota,
    read_plugin_pod_group,
)
from fairlead.manifest.finding import Findings
from fairlead.manifest.translate.family import (
    AssemblyRules,
    Family,
    Made,
    Measures,
    Mirror,
    Remarks,
    Unit,
    UnitContent,
    UnitKey,
)
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ElasticQuotaFamily(Family[Gang]):
    """Objects under ElasticQuotas. A unit is a PodGroup with its pods, or a pod without a group."""

    head_types = (PluginPodGroupObject,)
    queue_types = (ElasticQuotaObject,)
    catalogue_types = (NamespaceObject, BudgetObject)
    looked_at_to_make = frozenset({SettingsObject})
    unique = MappingProxyType({ElasticQuotaObject: one_per_namespace})

    def __init__(self, mirror: Mirror, rules: AssemblyRules) -> None:
        """Read the objects of *mirror* as *rules* say."""
        super().__init__(mirror, rules)
        self.quotas: dict[str, ElasticQuotaObject] = {}  # by namespace
        self._options = ElasticQuotaOptions()
        self._priorities = Priorities(())

    @property
    def settings(self) -> ElasticQuotaSettings:
        """What our own Settings say."""
        return self._options.settings

    def refresh(self, changed: Set[type], remarks: Remarks) -> bool:
        """Take in settings, quotas and priority classes."""
        if ElasticQuotaObject in changed:
            self.quotas = remarks.note("queues", self._one_per_namespace)
        if PriorityClassObject in changed:
            self._priorities = Priorities(self.mirror.of(PriorityClassObject).values())
        if SettingsObject not in changed:
            return False
        before, own = self._options, self.mirror.single(SettingsObject)
        self._options = own.sections[ELASTIC_QUOTA_SECTION] if own else ElasticQuotaOptions()
        return before.schedulers != self._options.schedulers

    def _one_per_namespace(self, findings: Findings) -> dict[str, ElasticQuotaObject]:
        """Return the quota that counts in each namespace: the oldest, then the first by name."""
        chosen: dict[str, ElasticQuotaObject] = {}
        quotas = self.mirror.of(ElasticQuotaObject).values()
        for quota in sorted(quotas, key=lambda each: (each.created_ms, each.name)):
            first = chosen.setdefault(quota.namespace, quota)
            if first is not quota:
                quota.source.warn(
                    findings,
                    "no-effect",
                    ("metadata", "namespace"),
                    f"found a second quota in namespace {quota.namespace}; {first.name} is older "
                    "and counts alone",
                    "put both into one object, or move one to another namespace",
                )
        return dict(sorted(chosen.items()))

    def make(self, owner: OwnerObject, kinship: Kinship, findings: Findings) -> Made:
        """Return the pods of the roles that the plugin would schedule."""
        found = standing(owner, kinship)
        if found != "due":
            return Made(standing=found)
        schedulers = self._options.schedulers
        roles = [role for role in owner.roles if role.template.spec.scheduler in schedulers]
        pods = tuple([pod for role in roles for pod in made_pods(owner, role)])
        return Made(standing="due" if pods else "other-scheduler", objects=pods)

    def unit_of(self, each: Object) -> UnitKey:
        """Return the group of an object, or the pod itself."""
        if isinstance(each, PodObject):
            group = named_group(each, self._options.schedulers)
            return ("group", group) if group else ("pod", full_name(each))
        assert isinstance(each, PluginPodGroupObject), each
        return "group", full_name(each)

    def affected_units(
        self, old: Object | None, new: Object | None, units: Collection[Unit[Gang]]
    ) -> Iterable[Unit[Gang]]:
        """Return all units after a priority class changed."""
        one = old if new is None else new
        return units if isinstance(one, PriorityClassObject) else ()

    def sort(self, unit: Unit[Gang], findings: Findings) -> UnitContent[Gang]:
        """Return the gangs of a unit."""
        pods = unit.pods_by_name()
        if isinstance(unit.head, PluginPodGroupObject):
            return group_gang(unit.head, pods)
        group = unit.key[1] if unit.key[0] == "group" else ""
        waits = self.rules.missing_group == "waits"
        return gangs_without_group(pods, group, self._options.schedulers, findings, waits=waits)

    def workload_name(self, part: Gang) -> WorkloadName:
        """Return the name of a gang."""
        return part.name

    def constraints(self, part: Gang) -> Iterable[PodConstraints]:
        """Return nothing: no pod is foreign here, and labels always set pods apart."""
        return ()

    def amounts(self, part: Gang) -> Iterable[ByResource]:
        """Return what the pods of a gang ask for, and what it needs at least."""
        return [_least(part), *[pod.requests for pod in part.pods]]

    def queue_axes(self) -> Set[Axis]:
        """Return what quotas list."""
        quotas = self.quotas.values()
        return {Axis(resource) for each in quotas for resource in (*each.min, *(each.max or {}))}

    def part_axes(self, part: Gang) -> Set[Axis]:
        """Return what a gang needs at least, and asks for where there is a quota."""
        found = set(_least(part))
        for pod in part.pods if part.namespace in self.quotas else ():
            found.update(filter(is_counted, pod.requests))
        return set(map(Axis, found))

    def queues(self, axes: QuotaAxes) -> Sequence[Queue]:
        """Return a queue for each quota."""
        return [_queue(quota, axes) for quota in self.quotas.values()]

    def catalogue(self) -> Catalogue:
        """Return namespaces and disruption budgets."""
        namespaces, budgets = self.mirror.of(NamespaceObject), self.mirror.of(BudgetObject)
        return Catalogue(
            namespaces={name: dict(each.labels) for name, each in namespaces.items()},
            budgets={name: each.budget for name, each in budgets.items()},
        )

    def check_objects(self, findings: Findings) -> None:
        """Warn of pods that ask for parts of a GPU, which the plugin does not know."""
        warn_of_gpu_shares(self.mirror.of(PodObject).values(), findings)

    def complete(self, state: ClusterState, findings: Findings) -> None:
        """Advise on quotas, their pods and the nodes."""
        advise_elastic_quota(self.mirror, self.settings, findings)

    def observe(self, part: Gang, measures: Measures, findings: Findings) -> ObservedWorkload:
        """Return a gang as its objects show it."""
        return ElasticWorkload(part, measures.resources, self._priorities, findings).observed()


def _least(gang: Gang) -> ByResource:
    return (gang.group.min_resources if gang.group else None) or {}


def _queue(quota: ElasticQuotaObject, axes: QuotaAxes) -> Queue:
    resources = [axis.resource for axis in axes.axes]
    most = quota.max or {}
    return Queue(
        name=QueueName(quota.namespace),
        created_ms=quota.created_ms,
        weights=(Decimal(1),) * len(axes),
        guaranteed=tuple(quota.min.get(resource, 0) for resource in resources),
        ceiling=tuple(most.get(resource) for resource in resources),
        borrow_limit=axes.unlimited,
        lend_limit=axes.unlimited,
        extension=ElasticQuota(
            object_name=quota.name,
            max_listed=None if quota.max is None else frozenset(quota.max),
        ),
    )


_QUOTA: Final[Kind] = one_object(read_elastic_quota, "v1alpha1", is_queue=True)
_POD_GROUP: Final[Kind] = one_object(read_plugin_pod_group, "v1alpha1")

ELASTIC_QUOTA: Final = Bundle(
    policy="elastic-quota",
    queues="ElasticQuota",
    kinds={
        ("scheduling.x-k8s.io", "ElasticQuota"): _QUOTA,
        ("scheduling.x-k8s.io", "PodGroup"): _POD_GROUP,
        ("scheduling.sigs.k8s.io", "ElasticQuota"): _QUOTA,
        ("scheduling.sigs.k8s.io", "PodGroup"): _POD_GROUP,
    },
    section=SettingsSection(
        name=ELASTIC_QUOTA_SECTION, title="elastic-quota", read=read_elastic_quota_options
    ),
    family=ElasticQuotaFamily,
)
