"""Puts the objects of Kueue together into one cluster state.

Kueue grants quota and leaves the choice of nodes to others, so admitted pods run on no node here.
Nodes are known all the same: for advice, and for placing pods later. Pods that Kueue does not
manage take their part of them.
"""

from typing import Final

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.collection import Collection
from fairlead.manifest.core.foreign_pods import foreign_pods
from fairlead.manifest.core.node_amounts import model_node, resource_names
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assemble_advice import advise_kueue
from fairlead.manifest.kueue.assemble_objects import KueueObjects, unique_objects
from fairlead.manifest.kueue.assemble_queues import model_queues, quota_axes
from fairlead.manifest.kueue.assemble_references import warn_of_missing
from fairlead.manifest.kueue.assemble_without_effect import warn_of_no_effect
from fairlead.manifest.kueue.assemble_workloads import (
    observed_workload,
    refuse_too_many_pods,
)
from fairlead.manifest.objects import PodObject
from fairlead.model.catalogue import Catalogue
from fairlead.model.events import (
    CatalogueChanged,
    ForeignPodChanged,
    NodeAdded,
    QueueChanged,
)
from fairlead.model.reconcile import bring_in_line
from fairlead.model.state import ClusterState

_KUEUE_PREFIX: Final = "kueue.x-k8s.io/"


def assemble_kueue(objects: Collection, findings: Findings) -> Assembled | None:
    """Return the cluster that *objects* describe, or None if anything in the input is an error.

    All that is wrong or doubtful between the objects goes to *findings*. The order in which the
    objects were read changes nothing. Cost: O(objects x axes), and the size of what is admitted.
    """
    found = unique_objects(objects, findings)
    warn_of_missing(found, findings)
    warn_of_no_effect(found, findings)
    refuse_too_many_pods(found.workloads.values(), findings)
    if findings.has_errors:
        return None
    state = _state(found)
    advise_kueue(found, state, findings)
    return Assembled(state=state, settings=found.settings)


def _state(found: KueueObjects) -> ClusterState:
    foreign = [pod for pod in found.core.pods.values() if not _is_managed(pod)]
    resources = resource_names(
        [
            *(node.allocatable for node in found.core.nodes.values()),
            *(pod.requests for pod in foreign),
            *(
                pod_set.requests
                for workload in found.workloads.values()
                for pod_set in workload.pod_sets
            ),
        ]
    )
    axes = quota_axes(found)
    state = ClusterState(resources, axes)
    state.apply(CatalogueChanged(_catalogue(found)))
    for queue in model_queues(found, axes):
        state.apply(QueueChanged(queue))
    ours = (each.constraints for own in found.workloads.values() for each in own.pod_sets)
    for pod in foreign_pods(foreign, ours, resources):  # before the nodes, as it is less work
        state.apply(ForeignPodChanged(pod))
    for node in found.core.nodes.values():
        state.apply(NodeAdded(model_node(node, resources)))
    for workload in found.workloads.values():
        observed = observed_workload(workload, found, resources)
        bring_in_line(state, observed.workload.name, observed)
    return state


def _is_managed(pod: PodObject) -> bool:
    """Tell whether Kueue has a hand in the pod, so that a Workload accounts for it."""
    return any(key.startswith(_KUEUE_PREFIX) for key in (*pod.labels, *pod.annotations))


def _catalogue(found: KueueObjects) -> Catalogue:
    return Catalogue(
        flavors={name: each.flavor for name, each in found.flavors.items()},
        local_queues={name: each.local_queue for name, each in found.local_queues.items()},
        namespaces={name: dict(each.labels) for name, each in found.core.namespaces.items()},
    )
