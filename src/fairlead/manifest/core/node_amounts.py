"""From amounts by resource name, as objects write them, to vectors on the resources of a state."""

from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.manifest.core.live_pods import is_placed
from fairlead.manifest.objects import ByResource, NodeObject, PodObject
from fairlead.model.axes import Amounts
from fairlead.model.foreign_pod import ForeignPod
from fairlead.model.node import Node

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"


def resource_names(amounts: Iterable[ByResource]) -> tuple[str, ...]:
    """Return every resource that occurs in *amounts*, once, sorted."""
    return tuple(sorted({name for by_resource in amounts for name in by_resource}))


def amounts_on(resources: tuple[str, ...], by_resource: ByResource) -> Amounts:
    """Return one amount for each of *resources*; what an object does not name is 0.

    Every name in *by_resource* must be among *resources*, else an amount would be lost.
    """
    found = tuple([by_resource.get(name, 0) for name in resources])
    assert sum(map(bool, found)) == sum(map(bool, by_resource.values())), by_resource
    return found


def held_by_node(pods: Iterable[PodObject], resources: tuple[str, ...]) -> dict[str, Amounts]:
    """Return what *pods* hold on each node that has one; pods that are told to leave still hold.

    Finished pods and pods without a node hold nothing. Cost: pods times resources.
    """
    held: dict[str, list[int]] = {}
    for pod in pods:
        if pod.node is not None and is_placed(pod):
            vector = held.setdefault(pod.node, [0] * len(resources))
            for at, amount in enumerate(amounts_on(resources, pod.requests)):
                vector[at] += amount
    return {node: tuple(vector) for node, vector in held.items()}


def model_node(
    node: NodeObject,
    resources: tuple[str, ...],
    *,
    occupied: Mapping[str, Amounts],
    foreign: Mapping[str, tuple[ForeignPod, ...]],
) -> Node:
    """Return the node on *resources*.

    By node's name, *occupied* is what pods not ours hold, and *foreign* those that matter besides.
    """
    return Node(
        name=node.name,
        allocatable=amounts_on(resources, node.allocatable),
        occupied=occupied.get(node.name, (0,) * len(resources)),
        # Every kubelet sets it, so only nodes that were written by hand lack it.
        labels={HOSTNAME_LABEL: node.name, **node.labels},
        taints=node.taints,
        ready=node.ready,
        cordoned=node.cordoned,
        gpu_memory_mib=node.gpu_memory_mib,
        foreign=foreign.get(node.name, ()),
    )
