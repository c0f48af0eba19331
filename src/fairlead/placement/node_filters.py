"""Whether a node accepts pods with some constraints at all, however much room it has.

Room, host ports and affinity are checked elsewhere: they change with every pod that is placed,
while this changes only with the node itself.
"""

from typing import Final, Literal, TypeAlias

from fairlead.model.node import Node
from fairlead.model.selector import Taint, Toleration
from fairlead.model.workload import PodConstraints, VolumeNeeds

VolumeChecks: TypeAlias = Literal["all", "reach"]
"""Which rules of volumes count: all that kube-scheduler has, or only what a volume can reach."""

_CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def node_defect(
    node: Node, constraints: PodConstraints, volumes: VolumeChecks = "all"
) -> str | None:
    """Return why *node* accepts no pod with *constraints*; None: it may accept one.

    The text follows "3 of 8 nodes". The first defect counts, in the order of readiness, cordon,
    node selector, node affinity, taints, volumes and nodes that the caller of a plan holds back. It
    depends on the arguments alone, so it may be cached while they are the same. A cordon is a taint
    like any other, and can be tolerated. ``PreferNoSchedule`` rules out no pod.
    """
    if not node.ready:
        return "are not ready"
    if node.cordoned and not _is_tolerated(_CORDON, constraints.tolerations):
        return "are cordoned"
    if not _matches_selector(node, constraints):
        return "do not match the node selector"
    if not _matches_affinity(node, constraints):
        return "do not match the node affinity"
    taint = _untolerated(node, constraints)
    if taint is not None:
        return f"have the taint {_written(taint)}"
    if constraints.volumes is not None:
        defect = _volume_defect(node, constraints.volumes, volumes)
        if defect is not None:
            return defect
    return "are held after a failed start" if node.name in constraints.held_nodes else None


def suits_affinity(node: Node, constraints: PodConstraints) -> bool:
    """Return whether *node* matches the node selector and the required node affinity."""
    return _matches_selector(node, constraints) and _matches_affinity(node, constraints)


def tolerates_taints(node: Node, constraints: PodConstraints) -> bool:
    """Return whether a cordon of *node* and all its taints that rule out pods are tolerated."""
    if node.cordoned and not _is_tolerated(_CORDON, constraints.tolerations):
        return False
    return _untolerated(node, constraints) is None


def _untolerated(node: Node, constraints: PodConstraints) -> Taint | None:
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not _is_tolerated(taint, constraints.tolerations):
            return taint
    return None


def _matches_selector(node: Node, constraints: PodConstraints) -> bool:
    return all(node.labels.get(key) == value for key, value in constraints.node_selector)


def _volume_defect(node: Node, needs: VolumeNeeds, checks: VolumeChecks) -> str | None:
    for terms in needs.reach:
        if not any(term.matches(node.name, node.labels) for term in terms):
            return "are out of reach of a volume"
    if checks == "reach" or node.labels.keys().isdisjoint([key for key, _ in needs.zones]):
        return None  # a node without any zone is in all of them
    if all(node.labels.get(key) in values for key, values in needs.zones):
        return None
    return "are in another zone than a volume"


def _matches_affinity(node: Node, constraints: PodConstraints) -> bool:
    terms = constraints.node_terms
    return terms is None or any(term.matches(node.name, node.labels) for term in terms)


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def _written(taint: Taint) -> str:
    """Return the taint as ``kubectl taint`` writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
