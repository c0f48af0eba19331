"""Topology spread judged plainly: all pods of all nodes are counted for every question."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from fairlead.model.node import Node
from fairlead.model.selector import PodSpread, Taint
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, Workload

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def is_spread(
    state: ClusterState,
    workload: Workload,
    pod_set: int,
    node: Node,
    when: Literal["now", "later"],
) -> bool:
    """Return whether one more pod on *node* keeps to every constraint on the spread."""
    return all(
        skew is not None and skew <= each.max_skew
        for each in workload.pod_sets[pod_set].constraints.spread
        for skew in [skew_with(state, workload, pod_set, node, each, when)]
    )


def skew_with(
    state: ClusterState,
    workload: Workload,
    pod_set: int,
    node: Node,
    spread: PodSpread,
    when: Literal["now", "later"],
) -> int | None:
    """Return the skew that one more pod on *node* would see; None: the node is in no domain."""
    key = spread.topology_key
    if key not in node.labels:
        return None
    asked = workload.pod_sets[pod_set]
    found: Counter[str] = Counter()
    domains = set()
    for other in state.nodes.values():
        if _counts(other, spread, asked.constraints):
            domains.add(other.labels[key])
            for labels, is_reserved in _staying(state, other.name, workload.namespace):
                if _matches(spread, labels) and not (is_reserved and when == "now"):
                    found[other.labels[key]] += 1
    enough = len(domains) >= spread.min_domains
    fewest = min(found[value] for value in domains) if domains and enough else 0
    return found[node.labels[key]] + _matches(spread, dict(asked.labels)) - fewest


def _matches(spread: PodSpread, labels: Mapping[str, str]) -> bool:
    chosen = spread.selector
    return chosen is not None and chosen.requirements != () and chosen.matches(labels)


def _counts(node: Node, spread: PodSpread, where: PodConstraints) -> bool:
    if not {each.topology_key for each in where.spread} <= set(node.labels):
        return False
    if spread.honors_affinity:
        if not set(where.node_selector) <= set(node.labels.items()):
            return False
        terms = where.node_terms
        if terms is not None and not any(term.matches(node.name, node.labels) for term in terms):
            return False
    taints = [each for each in node.taints if each.effect != "PreferNoSchedule"]
    taints += [CORDON] if node.cordoned else []
    return not spread.honors_taints or all(
        any(each.tolerates(taint) for each in where.tolerations) for taint in taints
    )


def _staying(
    state: ClusterState, node: str, namespace: str
) -> Iterator[tuple[Mapping[str, str], bool]]:
    """Yield the labels of each pod that is not leaving, and whether it has a reservation."""
    for name, run in state.runs.items():
        workload = state.workloads[name]
        for pod, placed in run.pods.items():
            is_there = placed.node == node and placed.phase != "leaving"
            if is_there and workload.namespace == namespace:
                yield dict(workload.pod_sets.of(pod).labels), placed.phase == "reserved"
    for each in state.books.foreign.values():
        if each.node == node and each.namespace == namespace and not each.leaving:
            yield dict(each.labels), False
