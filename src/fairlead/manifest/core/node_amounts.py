"""From amounts by resource name, as objects write them, to vectors on the resources of a state."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fairlead.manifest.core.objects import ByResource, NodeObject
from fairlead.model.axes import Amounts
from fairlead.model.node import Node

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"


def amounts_on(resources: tuple[str, ...], by_resource: ByResource) -> Amounts:
    """Return one amount for each of *resources*; what an object does not name is 0.

    Every name in *by_resource* must be among *resources*, else an amount would be lost.
    """
    found = tuple([by_resource.get(name, 0) for name in resources])
    named = tuple(by_resource.values())
    assert len(found) - found.count(0) == len(named) - named.count(0), by_resource
    return found


_NO_LIMITS: Final[Mapping[str, int]] = MappingProxyType({})


def model_node(
    node: NodeObject, resources: tuple[str, ...], attach_limits: Mapping[str, int] = _NO_LIMITS
) -> Node:
    """Return the node on *resources*, which attaches so many volumes of each driver."""
    return Node(
        name=node.name,
        allocatable=amounts_on(resources, node.allocatable),
        # Every kubelet sets it, so only nodes that were written by hand lack it.
        labels={HOSTNAME_LABEL: node.name, **node.labels},
        taints=node.taints,
        ready=node.ready,
        cordoned=node.cordoned,
        gpu_memory_mib=node.gpu_memory_mib,
        attach_limits=dict(attach_limits),
    )
