"""Advice about Kueue objects that are valid and yet hardly what anyone wants."""

from collections.abc import Iterator

from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assemble_objects import KueueObjects
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShares


def advise_kueue(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    """Report queues that can never run anything, and flavors with more quota than nodes."""
    _advise_unusable(objects, state, findings)
    _advise_overcommitted(objects, state, findings)


def _advise_unusable(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    tree = KueueShares(state).tree
    for queue in objects.cluster_queues.values():
        places = [state.axes.index(quota.resource, quota.flavor) for quota in queue.quotas]
        most = tree.potential(queue.name)
        if not any(most[place] for place in places if place is not None):
            queue.source.report(
                findings,
                "advice",
                "unusable",
                ("spec", "resourceGroups") if queue.quotas else ("spec",),
                "found a ClusterQueue that can never run anything: it has no quota of its own "
                + ("and cannot borrow any" if queue.cohort else "and no cohort to borrow from"),
                "give it quota, or let it borrow from a cohort that has some",
            )
        if queue.rules.namespace_selector is None:
            queue.source.report(
                findings,
                "advice",
                "unusable",
                ("spec", "namespaceSelector"),
                "found no namespaceSelector, so that no namespace may use the ClusterQueue",
                "write namespaceSelector: {} to let in every namespace",
            )


def _advise_overcommitted(objects: KueueObjects, state: ClusterState, findings: Findings) -> None:
    if not state.nodes:
        return
    promised = [
        sum(queue.guaranteed[place] or 0 for queue in state.queues.values())
        for place in range(len(state.axes))
    ]
    for name, found in objects.flavors.items():
        nodes = list(_nodes_of(found.flavor, state))
        for place, axis in enumerate(state.axes.axes):
            if axis.flavor != name:
                continue
            offered = _offered(axis.resource, nodes, state)
            if promised[place] > offered:
                resource = axis.resource
                found.source.report(
                    findings,
                    "advice",
                    "overcommitted",
                    ("metadata", "name"),
                    f"found quotas of {show_amount(resource, promised[place])} {resource} "
                    f"for the flavor {name}, but its {len(nodes)} nodes in the input offer "
                    f"{show_amount(resource, offered)}",
                    "lower the nominal quotas, or add nodes with the labels of the flavor",
                )


def _nodes_of(flavor: ResourceFlavor, state: ClusterState) -> Iterator[Node]:
    for node in state.nodes.values():
        if all(node.labels.get(key) == value for key, value in flavor.node_labels):
            yield node


def _offered(resource: str, nodes: list[Node], state: ClusterState) -> int:
    if resource not in state.resources:
        return 0
    at = state.resources.index(resource)
    return sum(state.books.offered(node)[at] for node in nodes)
