"""Pod affinity and anti-affinity judged plainly: every placed pod is looked at for every node."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fairlead.model.node import Node
from fairlead.model.selector import PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, Workload


def is_allowed(state: ClusterState, workload: Workload, pod_set: int, node: Node) -> bool:
    """Return whether the pods around let one more pod of the set run on *node*."""
    asked = workload.pod_sets[pod_set]
    return (
        _is_near(state, workload, asked, node)
        and not any(
            _means(state, term, other.namespace, other.labels)
            and _is_same_domain(term, node, other.place)
            for term in asked.constraints.pod_anti_affinity
            for other in _placed(state)
        )
        and not any(
            _means(state, term, workload.namespace, dict(asked.labels))
            and _is_same_domain(term, node, other.place)
            for other in _placed(state)
            for term in other.apart
        )
    )


def _is_near(state: ClusterState, workload: Workload, asked: PodSet, node: Node) -> bool:
    terms = asked.constraints.pod_affinity
    if any(term.topology_key not in node.labels for term in terms):
        return False
    wanted = [
        other.place
        for other in _placed(state)
        if all(_means(state, term, other.namespace, other.labels) for term in terms)
    ]
    if all(any(_is_same_domain(term, node, place) for place in wanted) for term in terms):
        return True
    is_alone = not any(term.topology_key in place for term in terms for place in wanted)
    labels = dict(asked.labels)
    return is_alone and all(_means(state, term, workload.namespace, labels) for term in terms)


class _Pod(NamedTuple):
    """A pod on a node; *place* is the labels of the node."""

    namespace: str
    labels: Mapping[str, str]
    apart: tuple[PodTerm, ...]
    place: Mapping[str, str]


def _placed(state: ClusterState) -> Iterator[_Pod]:
    """Yield every pod on a known node, ours or not; those that were displaced are still there."""
    ours = [
        (name, pod, placed.node)
        for name, run in state.runs.items()
        for pod, placed in run.pods.items()
    ]
    ours += [(*key, node) for node in state.nodes for key in state.books.use(node).departing]
    for name, pod, on in ours:
        if on in state.nodes:
            workload = state.workloads[name]
            own = workload.pod_sets[pod.pod_set]
            apart = own.constraints.pod_anti_affinity
            yield _Pod(workload.namespace, dict(own.labels), apart, state.nodes[on].labels)
    for node in state.nodes.values():
        for each in node.foreign:
            labels = dict(each.labels)
            yield _Pod(each.namespace, labels, each.pod_anti_affinity, node.labels)


def _means(state: ClusterState, term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    return term.matches(namespace, state.catalogue.namespace_labels(namespace), labels)


def _is_same_domain(term: PodTerm, node: Node, place: Mapping[str, str]) -> bool:
    key = term.topology_key
    return key in node.labels and node.labels[key] == place.get(key)
