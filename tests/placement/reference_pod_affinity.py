"""Pod affinity and anti-affinity judged plainly: every placed pod is looked at for every node."""

from collections.abc import Iterator, Mapping

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
            _means(state, term, other, its_set) and _is_same_domain(term, node, place)
            for term in asked.constraints.pod_anti_affinity
            for other, its_set, place in _placed(state)
        )
        and not any(
            _means(state, term, workload, asked) and _is_same_domain(term, node, place)
            for _, its_set, place in _placed(state)
            for term in its_set.constraints.pod_anti_affinity
        )
    )


def _is_near(state: ClusterState, workload: Workload, asked: PodSet, node: Node) -> bool:
    terms = asked.constraints.pod_affinity
    if any(term.topology_key not in node.labels for term in terms):
        return False
    wanted = [
        place
        for other, its_set, place in _placed(state)
        if all(_means(state, term, other, its_set) for term in terms)
    ]
    if all(any(_is_same_domain(term, node, place) for place in wanted) for term in terms):
        return True
    is_alone = not any(term.topology_key in place for term in terms for place in wanted)
    return is_alone and all(_means(state, term, workload, asked) for term in terms)


def _placed(state: ClusterState) -> Iterator[tuple[Workload, PodSet, Mapping[str, str]]]:
    """Yield every pod on a known node, with the labels of that node."""
    for name, run in state.runs.items():
        workload = state.workloads[name]
        for pod, placed in run.pods.items():
            if placed.node in state.nodes:
                labels = state.nodes[placed.node].labels
                yield workload, workload.pod_sets[pod.pod_set], labels


def _means(state: ClusterState, term: PodTerm, workload: Workload, pod_set: PodSet) -> bool:
    about = state.catalogue.namespace_labels(workload.namespace)
    return term.matches(workload.namespace, about, dict(pod_set.labels))


def _is_same_domain(term: PodTerm, node: Node, place: Mapping[str, str]) -> bool:
    key = term.topology_key
    return key in node.labels and node.labels[key] == place.get(key)
