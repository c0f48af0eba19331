"""Which labels and host ports of other pods matter to where our pods may run.

A label that no affinity term selects makes no difference between pods, and a pod of another
scheduler that no term selects matters only by its requests. The terms and ports of all our pods are
counted, so that a pod that comes or goes changes them without a look at the other pods.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import PodObject, full_name, is_placed, pod_id
from fairlead.model.node import ForeignPod
from fairlead.model.workload import PodConstraints

T = TypeVar("T")

_NO_LABELS: Final[dict[str, str]] = {}


class PodSelectors(msgspec.Struct, frozen=True, kw_only=True):
    """What the terms, spread constraints and host ports of all our pods select."""

    labels: frozenset[str] = frozenset()  # keys
    ports: frozenset[tuple[str, int]] = frozenset()
    select_unlabelled: bool = False  # whether a term may select a pod without any of the labels


class CountedSelectors:
    """The selectors of pods that come and go."""

    def __init__(self) -> None:
        """Begin without pods."""
        self._labels = Counter[str]()
        self._ports = Counter[tuple[str, int]]()
        self._unlabelled = 0

    def add(self, constraints: PodConstraints, pods: int = 1) -> None:
        """Let so many *pods* more have these *constraints*, or fewer. Cost: its terms and ports."""
        terms = (*constraints.pod_affinity, *constraints.pod_anti_affinity)
        selectors = [each.selector for each in terms]
        selectors += [each.selector for each in constraints.all_spreads()]
        for selector in selectors:
            if selector is not None:
                for each in selector.requirements:
                    _count(self._labels, each.key, pods)
                # Conditions that hold without any label, such as "not in", hold for strangers.
                self._unlabelled += pods * selector.matches(_NO_LABELS)
        for port in constraints.host_ports:
            _count(self._ports, port, pods)

    def all(self) -> PodSelectors:
        """Return what is selected now."""
        return PodSelectors(
            labels=frozenset(self._labels),
            ports=frozenset(self._ports),
            select_unlabelled=self._unlabelled > 0,
        )


def _count(counts: Counter[T], thing: T, more: int) -> None:
    """Count *more* of a thing; what there is none of is not kept."""
    counts[thing] += more
    if not counts[thing]:
        del counts[thing]


class ChangedSelectors:
    """What is selected now and was not before, or the other way round."""

    def __init__(self, before: PodSelectors, after: PodSelectors) -> None:
        """Compare the selectors of two moments."""
        self._labels = before.labels ^ after.labels
        self._ports = before.ports ^ after.ports
        self._is_unlabelled = before.select_unlabelled != after.select_unlabelled

    def affect_labels(self, labels: Mapping[str, str]) -> bool:
        """Return whether terms select a pod with these labels by other labels than before."""
        return not self._labels.isdisjoint(labels)

    def affect(self, foreign: PodObject) -> bool:
        """Return whether other labels or ports of a foreign pod matter than before."""
        return (
            self._is_unlabelled
            or self.affect_labels(foreign.labels)
            or not self._ports.isdisjoint(foreign.constraints.host_ports)
        )


NO_SELECTORS: Final = PodSelectors()


def foreign_pod(
    pod: PodObject, resources: tuple[str, ...], selectors: PodSelectors = NO_SELECTORS
) -> ForeignPod | None:
    """Return a pod that is not ours with amounts on *resources*; None: it is on no node.

    Of its labels and ports it has only those that *selectors* of our pods select. Law: leaving out
    the rest changes no answer about where one of ours may go. Cost: its labels and ports.
    """
    if pod.node is None or not is_placed(pod):
        return None
    held = ForeignPod(
        id=pod_id(pod),
        name=full_name(pod),
        node=pod.node,
        requests=amounts_on(resources, pod.requests),
        leaving=pod.terminating,
    )
    asked = selectors.labels
    found = [each for each in pod.labels.items() if each[0] in asked] if asked else []
    ports = tuple([port for port in pod.constraints.host_ports if port in selectors.ports])
    repels = pod.constraints.pod_anti_affinity
    volumes = pod.constraints.volumes
    if volumes is not None and not volumes.meets_pods:
        volumes = None
    if not (found or ports or repels or volumes or selectors.select_unlabelled):
        return held
    return msgspec.structs.replace(
        held,
        asked_about=True,
        namespace=pod.namespace,
        labels=tuple(sorted(found)),
        host_ports=ports,
        pod_anti_affinity=repels,
        volumes=volumes,
    )
