"""Pods that are not ours: what they hold, and which of them matter to where ours may go.

A cluster is full of such pods, on every node the same daemons. Most matter only by what they hold:
no affinity of ours looks at them, they open no port that ours would open, and they repel no pod.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from fairlead.manifest.core.core_objects import full_name, pod_id
from fairlead.manifest.core.live_pods import is_placed
from fairlead.manifest.core.node_amounts import amounts_on
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


def foreign_pods(
    pods: Iterable[PodObject], ours: Iterable[PodConstraints], resources: tuple[str, ...]
) -> Iterator[ForeignPod]:
    """Yield each of *pods* that is on a node, with amounts on *resources*.

    Of its labels and ports it has only what matters to pods with the constraints *ours*. Law:
    leaving out the rest changes no answer about where one of *ours* may go. Cost: one look at each
    pod, and at each term of ours.
    """
    asked = _asked(ours)
    for pod in pods:
        if pod.node is not None and is_placed(pod):
            held = ForeignPod(
                id=pod_id(pod),
                name=full_name(pod),
                node=pod.node,
                requests=amounts_on(resources, pod.requests),
                leaving=pod.terminating,
            )
            yield _as_far_as_asked(held, pod, asked)


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


def _as_far_as_asked(held: ForeignPod, pod: PodObject, asked: _Asked) -> ForeignPod:
    found = [each for each in pod.labels.items() if each[0] in asked.labels] if asked.labels else []
    ports = tuple([port for port in pod.constraints.host_ports if port in asked.ports])
    repels = pod.constraints.pod_anti_affinity
    if not (found or ports or repels or asked.is_of_all):
        return held
    return msgspec.structs.replace(
        held,
        asked_about=True,
        namespace=pod.namespace,
        labels=tuple(sorted(found)),
        host_ports=ports,
        pod_anti_affinity=repels,
    )
