"""Which pods of a job start next: as many as its minimums need together, then one by one.

A job is one group of pods with a minimum, or sub-groups with a minimum each. Below a minimum only
all that is missing is of use; above, every single pod is. Pods that are to leave no longer count.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from fairlead.model.run import Run
from fairlead.model.workload import KaiJob, PodId, SubGroup, Workload


class PodGroup(NamedTuple):
    """Pods in the order in which they start, and how many of them are of use together."""

    minimum: int
    pods: tuple[PodId, ...]


class Fullness(IntEnum):
    """How many of its pods a job has, against its minimum; who lacks most is served first."""

    BELOW = 0
    AT = 1
    ABOVE = 2


class Gang:
    """The groups of one job, which stay the same for as long as its workload does."""

    __slots__ = ("groups",)

    def __init__(self, workload: Workload) -> None:
        """Sort the pods of *workload* that may start into its groups."""
        self.groups = _groups(workload)

    def next_pods(self, run: Run | None) -> tuple[PodId, ...]:
        """Return the pods that would start next, given what has a place; none: the job waits.

        Below a minimum that is all that is missing, in every group. Where a group has too few
        pods left for that, nothing starts. Else it is the first pod without a place.
        """
        placed = run.pods if run else {}
        waiting = [[pod for pod in group.pods if pod not in placed] for group in self.groups]
        lacking = self._lacking(_held(run))
        if not any(lacking):
            return tuple(next(((pods[0],) for pods in waiting if pods), ()))
        pairs = list(zip(lacking, waiting, strict=True))
        if any(lack > len(pods) for lack, pods in pairs):
            return ()
        return tuple([pod for lack, pods in pairs for pod in pods[:lack]])

    def fullness(self, run: Run | None) -> Fullness:
        """Return whether the pods that have a place are fewer or more than the minimums."""
        held = _held(run)
        if any(self._lacking(held)):
            return Fullness.BELOW
        spare = len(held) > sum([group.minimum for group in self.groups])
        return Fullness.ABOVE if spare else Fullness.AT

    def must_wait(self, run: Run) -> bool:
        """Return whether a group rests on a reservation: then no pod of the job may start.

        It does if fewer than its minimum have started and some have a reservation.
        """
        for group in self.groups:
            phases = [run.pods[pod].phase for pod in group.pods if pod in run.pods]
            if "reserved" in phases and phases.count("running") < group.minimum:
                return True
        return False

    def _lacking(self, held: set[PodId]) -> list[int]:
        return [
            max(0, group.minimum - sum([pod in held for pod in group.pods]))
            for group in self.groups
        ]


def _held(run: Run | None) -> set[PodId]:
    if run is None:
        return set()
    return {pod for pod, placed in run.pods.items() if placed.phase != "leaving"}


def _groups(workload: Workload) -> tuple[PodGroup, ...]:
    job = workload.extension
    sub_groups = job.sub_groups if isinstance(job, KaiJob) else ()
    leaves = _leaves(sub_groups)
    minimums = {leaf.name: leaf.min_member or 0 for leaf in leaves}
    rest = workload.min_count - sum(minimums.values())
    minimums[""] = max(0, rest)  # of the pods that are in no sub-group
    pods = _by_sub_group(workload, minimums)
    return tuple(
        PodGroup(minimum, tuple(pods.get(name, ())))
        for name, minimum in minimums.items()
        if minimum or name in pods
    )


def _leaves(sub_groups: Iterable[SubGroup]) -> list[SubGroup]:
    inner = {each.parent for each in sub_groups}
    return sorted([each for each in sub_groups if each.name not in inner], key=lambda g: g.name)


def _by_sub_group(workload: Workload, known: Iterable[str]) -> dict[str, list[PodId]]:
    """Return the pods that may start, in order, by the sub-group they are in."""
    found: dict[str, list[PodId]] = {}
    for pod in _in_start_order(workload):
        name = workload.pod_sets[pod.pod_set].sub_group
        found.setdefault(name if name in known else "", []).append(pod)
    return found


def _in_start_order(workload: Workload) -> Iterable[PodId]:
    """Return the pods that are not held back: by their order, the highest first, then by name."""
    sets = workload.pod_sets
    if len(sets) == 1:
        return () if sets[0].gated else [PodId(0, ordinal) for ordinal in range(sets[0].count)]
    pods = [pod for pod in workload.pods() if not sets[pod.pod_set].gated]

    def key(pod: PodId) -> tuple[bool, int, str, PodId]:
        order = sets[pod.pod_set].start_order
        return order is None, -(order or 0), workload.pod_name(pod), pod

    return sorted(pods, key=key)
