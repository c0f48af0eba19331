"""Which pods that are not ours matter to where ours may go, by what ours ask for.

A cluster is full of such pods, on every node the same daemons. Most matter to nobody: no affinity
of ours looks at them, they open no port that ours would open, and they keep nobody away.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from fairlead.manifest.core.live_pods import is_placed
from fairlead.manifest.objects import PodObject
from fairlead.model.foreign_pod import ForeignPod
from fairlead.model.selector import PodTerm
from fairlead.model.workload import PodConstraints

_NO_LABELS: Final[dict[str, str]] = {}


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What our pods ask about others."""

    labels: frozenset[str]  # keys
    is_of_all: bool  # whether a pod with none of those labels may be meant
    ports: frozenset[tuple[str, int]]


def foreign_by_node(
    pods: Iterable[PodObject], ours: Iterable[PodConstraints]
) -> dict[str, tuple[ForeignPod, ...]]:
    """Return those of *pods* that matter to pods with the constraints *ours*, by node.

    Each has only what matters of it, and of alike ones on a node there is one. Law: leaving out
    the rest changes no answer about where one of *ours* may go. Cost: one look at each pod, and at
    each term of ours.
    """
    asked = _asked(ours)
    found: dict[str, dict[ForeignPod, None]] = {}
    for pod in pods:
        if pod.node is not None and is_placed(pod):
            foreign = _as_far_as_asked(pod, asked)
            if foreign is not None:
                found.setdefault(pod.node, {})[foreign] = None
    return {node: tuple(there) for node, there in found.items()}


def _asked(ours: Iterable[PodConstraints]) -> _Asked:
    terms: set[PodTerm] = set()
    ports: set[tuple[str, int]] = set()
    for each in ours:
        terms.update(each.pod_affinity, each.pod_anti_affinity)
        ports.update(each.host_ports)
    selectors = [term.selector for term in terms if term.selector is not None]
    return _Asked(
        labels=frozenset(one.key for selector in selectors for one in selector.requirements),
        # Conditions that hold without any label, such as "not in", hold for strangers.
        is_of_all=any(selector.matches(_NO_LABELS) for selector in selectors),
        ports=frozenset(ports),
    )


def _as_far_as_asked(pod: PodObject, asked: _Asked) -> ForeignPod | None:
    labels = tuple(sorted([each for each in pod.labels.items() if each[0] in asked.labels]))
    ports = tuple([port for port in pod.constraints.host_ports if port in asked.ports])
    repels = pod.constraints.pod_anti_affinity
    if not (labels or ports or repels or asked.is_of_all):
        return None
    return ForeignPod(
        namespace=pod.namespace,
        labels=labels,
        host_ports=ports,
        pod_anti_affinity=repels,
        leaving=pod.terminating,
    )
