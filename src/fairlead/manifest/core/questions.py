"""What our pods ask about other pods: by which labels and ports they want to be near or apart.

Labels that no affinity asks about make no difference between pods, and pods of other schedulers
matter only by what they hold, unless somebody asks about them. The questions of all pods are kept
as counts, so that a pod that comes or goes changes them without a look at the others.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from fairlead.manifest.objects import PodObject
from fairlead.model.workload import PodConstraints

T = TypeVar("T")

_NO_LABELS: Final[dict[str, str]] = {}


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """What the pods of ours ask about others, all together."""

    labels: frozenset[str] = frozenset()  # keys
    ports: frozenset[tuple[str, int]] = frozenset()
    are_about_all: bool = False  # whether a pod with none of those labels may be meant


class CountedQuestions:
    """The questions of pods that come and go."""

    def __init__(self) -> None:
        """Begin without pods."""
        self._labels = Counter[str]()
        self._ports = Counter[tuple[str, int]]()
        self._about_all = 0

    def add(self, constraints: PodConstraints, pods: int = 1) -> None:
        """Let so many *pods* more have these *constraints*, or fewer. Cost: its terms and ports."""
        for term in (*constraints.pod_affinity, *constraints.pod_anti_affinity):
            if term.selector is not None:
                for each in term.selector.requirements:
                    _count(self._labels, each.key, pods)
                # Conditions that hold without any label, such as "not in", hold for strangers.
                self._about_all += pods * term.selector.matches(_NO_LABELS)
        for port in constraints.host_ports:
            _count(self._ports, port, pods)

    def all(self) -> Questions:
        """Return what is asked now."""
        return Questions(
            labels=frozenset(self._labels),
            ports=frozenset(self._ports),
            are_about_all=self._about_all > 0,
        )


def _count(counts: Counter[T], thing: T, more: int) -> None:
    """Count *more* of a thing; what there is none of is not kept."""
    counts[thing] += more
    if not counts[thing]:
        del counts[thing]


class ChangedQuestions:
    """What is asked now and was not before, or the other way round."""

    def __init__(self, before: Questions, after: Questions) -> None:
        """Compare the questions of two moments."""
        self._labels = before.labels ^ after.labels
        self._ports = before.ports ^ after.ports
        self._is_about_all = before.are_about_all != after.are_about_all

    def concern_labels(self, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels looks otherwise to who asks about labels."""
        return not self._labels.isdisjoint(labels)

    def concern(self, stranger: PodObject) -> bool:
        """Return whether they change what matters of a pod that is not ours."""
        return (
            self._is_about_all
            or self.concern_labels(stranger.labels)
            or not self._ports.isdisjoint(stranger.constraints.host_ports)
        )
