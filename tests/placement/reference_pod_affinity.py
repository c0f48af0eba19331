"""What other pods allow, judged plainly: every placed pod is looked at for every node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from fairlead.model.node import Node
from fairlead.model.run import Phase
from fairlead.model.selector import PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey, PodSet, Workload
from tests.placement.reference_pod_spread import is_spread

Time: TypeAlias = Literal["now", "later"]


def is_allowed(
    state: ClusterState, workload: Workload, pod_set: int, node: Node, when: Time
) -> bool:
    """Return whether the pods that are around at one time let one more pod of the set be there."""
    asked = workload.pod_sets[pod_set]
    others = [pod for pod in _placed(state) if pod.phase != ABSENT[when]]
    return (
        _is_near(state, workload, asked, node, others)
        and not any(
            _means(state, term, other.namespace, other.labels)
            and _is_same_domain(term, node, other.place)
            for term in asked.constraints.pod_anti_affinity
            for other in others
        )
        and not any(
            _means(state, term, workload.namespace, dict(asked.labels))
            and _is_same_domain(term, node, other.place)
            for other in others
            for term in other.apart
        )
        and is_spread(state, workload, pod_set, node, when)
    )


# Who has a reservation is not there now; who is leaving is not there later.
ABSENT: dict[Time, Phase] = {"now": "reserved", "later": "leaving"}


class _Pod(NamedTuple):
    """A pod on a node; *place* is the labels of the node."""

    namespace: str
    labels: Mapping[str, str]
    apart: tuple[PodTerm, ...]
    place: Mapping[str, str]
    phase: Phase


def _is_near(
    state: ClusterState, workload: Workload, asked: PodSet, node: Node, others: Sequence[_Pod]
) -> bool:
    terms = asked.constraints.pod_affinity
    if any(term.topology_key not in node.labels for term in terms):
        return False
    wanted = [
        other.place
        for other in others
        if all(_means(state, term, other.namespace, other.labels) for term in terms)
    ]
    if all(any(_is_same_domain(term, node, place) for place in wanted) for term in terms):
        return True
    is_alone = not any(term.topology_key in place for term in terms for place in wanted)
    labels = dict(asked.labels)
    return is_alone and all(_means(state, term, workload.namespace, labels) for term in terms)


def _placed(state: ClusterState) -> Iterator[_Pod]:
    """Yield every pod on a known node, ours or not; those that were displaced are still there."""
    ours: list[tuple[PodKey, str | None, Phase]] = [
        ((name, pod), placed.node, placed.phase)
        for name, run in state.runs.items()
        for pod, placed in run.pods.items()
    ]
    ours += [
        (key, node, "leaving") for node in state.nodes for key in state.books.use(node).departing
    ]
    for (name, pod), on, phase in ours:
        if on in state.nodes:
            workload = state.workloads[name]
            own = workload.pod_sets.of(pod)
            apart, place = own.constraints.pod_anti_affinity, state.nodes[on].labels
            yield _Pod(workload.namespace, dict(own.labels), apart, place, phase)
    for each in state.books.foreign.values():
        if each.node in state.nodes:
            labels, phase = dict(each.labels), "leaving" if each.leaving else "running"
            place = state.nodes[each.node].labels
            yield _Pod(each.namespace, labels, each.pod_anti_affinity, place, phase)


def _means(state: ClusterState, term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    return term.matches(namespace, state.catalogue.namespace_labels(namespace), labels)


def _is_same_domain(term: PodTerm, node: Node, place: Mapping[str, str]) -> bool:
    key = term.topology_key
    return key in node.labels and node.labels[key] == place.get(key)
