"""From ElasticQuotas, pods and nodes to one cluster state.

Each quota is a queue without parent, called after its namespace. Every live pod is a workload or
part of one, in the queue of its namespace. A namespace without quota has no queue, so its pods are
charged to nobody; they are workloads all the same, because a pod without quota may push aside
another one. Pods of other schedulers count and may give way like all others, as for the plugin,
which looks at every pod on a node; they are started by their own scheduler only.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.collection import Collection
from fairlead.manifest.core.core_objects import CoreObjects, core_objects, full_name
from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.core.node_amounts import model_node, resource_names
from fairlead.manifest.core.priorities import Priorities
from fairlead.manifest.core.tree_checks import only_one, refuse_duplicates
from fairlead.manifest.elastic_quota.assemble_checks import (
    advise_on_empty_pool,
    advise_on_overcommitment,
    one_per_namespace,
    refuse_min_above_max,
    warn_of_unlisted,
)
from fairlead.manifest.elastic_quota.assemble_gangs import gangs_of
from fairlead.manifest.elastic_quota.assemble_pod_checks import warn_of_gpu_shares
from fairlead.manifest.elastic_quota.assemble_workload import ElasticWorkload
from fairlead.manifest.elastic_quota.counted_resources import is_counted
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import (
    PLUGIN_SCHEDULERS,
    ByResource,
    ElasticQuotaObject,
    OwnSettingsObject,
    PluginPodGroupObject,
    PodObject,
)
from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.catalogue import Catalogue
from fairlead.model.events import CatalogueChanged, NodeAdded, QueueChanged
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.reconcile import bring_in_line
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


def assemble_elastic_quota(
    objects: Collection, findings: Findings, rules: AssemblyRules = OF_FILES
) -> Assembled | None:
    """Return the state that the objects describe, or None if any finding of the run is an error.

    Objects may be listed in any order. Cost: about one look at every object, and sorting.
    """
    own = only_one(objects.of(OwnSettingsObject), "Settings", findings)
    settings = own.elastic_quota if own else ElasticQuotaSettings()
    quotas = one_per_namespace(objects.of(ElasticQuotaObject), findings)
    parts = _Parts(objects, findings)
    asked = _asked_by_namespace(parts.pods, quotas)
    for quota in quotas.values():
        refuse_min_above_max(quota, findings)
    priorities = Priorities(parts.core.priority_classes.values(), findings)
    warn_of_gpu_shares(parts.pods, findings)
    schedulers = own.plugin_schedulers if own else PLUGIN_SCHEDULERS
    gangs = gangs_of(parts.pods, parts.groups, findings, rules, schedulers=schedulers)
    workloads = [ElasticWorkload(gang, parts.resources, priorities, findings) for gang in gangs]
    if findings.has_errors:
        return None
    for namespace, quota in quotas.items():
        warn_of_unlisted(quota, asked[namespace], settings.quirks, findings)
    advise_on_empty_pool(list(quotas.values()), _with_least(asked, parts.groups), findings)
    advise_on_overcommitment(list(quotas.values()), parts.nodes, findings)
    state = ClusterState(parts.resources, _axes(quotas.values(), [*asked.values(), *parts.least]))
    state.apply(CatalogueChanged(_catalogue(parts.core)))
    for quota in quotas.values():
        state.apply(QueueChanged(_queue(quota, state.axes)))
    for node in parts.nodes:
        state.apply(NodeAdded(model_node(node, parts.resources)))
    for workload in workloads:
        observed = workload.observed()
        bring_in_line(state, observed.workload.name, observed)
    return Assembled(state=state, settings=settings)


class _Parts:
    """The objects besides quotas, each name once, and the resources that they are measured on."""

    def __init__(self, objects: Collection, findings: Findings) -> None:
        self.core = core_objects(objects, findings)
        self.pods = list(self.core.pods.values())
        self.nodes = list(self.core.nodes.values())
        groups = objects.of(PluginPodGroupObject)
        self.groups = refuse_duplicates(groups, full_name, "PodGroup", findings)
        self.least = [group.min_resources or {} for group in self.groups]
        self.resources = resource_names(
            [
                *(node.allocatable for node in self.nodes),
                *(pod.requests for pod in self.pods),
                *self.least,
            ]
        )


def _asked_by_namespace(
    pods: Sequence[PodObject], quotas: Mapping[str, ElasticQuotaObject]
) -> dict[str, dict[str, int]]:
    """Return what the live pods of each namespace with a quota ask for, as far as it is counted."""
    asked: dict[str, dict[str, int]] = {namespace: {} for namespace in quotas}
    for pod in pods:
        if pod.namespace in asked and is_live(pod):
            own = asked[pod.namespace]
            for resource, amount in pod.requests.items():
                if is_counted(resource):
                    own[resource] = own.get(resource, 0) + amount
    return asked


def _with_least(
    asked: Mapping[str, ByResource], groups: Iterable[PluginPodGroupObject]
) -> dict[str, ByResource]:
    """Return *asked* with what gangs say they need at least, be it that no pod asks for it."""
    found: dict[str, ByResource] = dict(asked)
    for group in groups:
        if group.namespace in found:
            found[group.namespace] = {**(group.min_resources or {}), **found[group.namespace]}
    return found


def _axes(quotas: Iterable[ElasticQuotaObject], asked: Iterable[ByResource]) -> QuotaAxes:
    written = [amounts for quota in quotas for amounts in (quota.min, quota.max or {})]
    return QuotaAxes([Axis(resource) for resource in resource_names([*written, *asked])])


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


def _catalogue(core: CoreObjects) -> Catalogue:
    return Catalogue(
        namespaces={name: dict(each.labels) for name, each in core.namespaces.items()},
        budgets={name: each.budget for name, each in core.budgets.items()},
    )
