"""Which pods of a job start next: together as many as its minimums need, then one by one.

A job is one group of pods with a minimum, or sub-groups with a minimum each. Below a minimum only
all missing pods together are of use; above, every single pod is. Terminating pods do not count.

A job, or a sub-group with others below it, may say how many of those just below are enough. They
are chosen at each level of the tree: complete ones before incomplete ones, then by name. So a
choice that was begun is finished first, and the first choice depends on names only. The sub-groups
that are not chosen are optional: their pods start one by one once the others have their minimum.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from fairlead.model.run import Run
from fairlead.model.workload import KaiJob, PodId, SubGroup, Workload


class Branch(NamedTuple):
    """Sub-groups by name, of which ``needed`` must start."""

    needed: int
    below: tuple["Part", ...]


Part: TypeAlias = int | Branch
"""A leaf, by its place among the groups of the job, or what is above some."""


def tree_of(job: KaiJob, leaves: Mapping[str, int]) -> Branch:
    """Return the tree of the sub-groups of *job*; *leaves* are the positions of those with pods."""
    below: dict[str | None, list[SubGroup]] = {}
    for each in sorted(job.sub_groups, key=lambda group: group.name):
        below.setdefault(each.parent, []).append(each)

    def branch(name: str | None, needed: int | None) -> Branch:
        parts = tuple(
            leaves[each.name] if each.name in leaves else branch(each.name, each.min_sub_group)
            for each in below[name]
        )
        return Branch(len(parts) if needed is None else min(needed, len(parts)), parts)

    return branch(None, job.min_sub_group)


def needs_all(part: Part) -> bool:
    """Return whether every leaf must start."""
    if isinstance(part, int):
        return True
    return part.needed == len(part.below) and all(map(needs_all, part.below))


def needed_leaves(part: Part, full: Sequence[bool]) -> list[int]:
    """Return the leaves that must have their minimum; *full* says which have it.

    Cost: each level looks at all that is below it.
    """
    if isinstance(part, int):
        return [part]
    first = sorted(part.below, key=lambda each: not _is_full(each, full))[: part.needed]
    return [leaf for each in first for leaf in needed_leaves(each, full)]


def fewest_pods(part: Part, minimums: Sequence[int]) -> int:
    """Return how many pods the choice with the smallest *minimums* needs."""
    if isinstance(part, int):
        return minimums[part]
    return sum(sorted([fewest_pods(each, minimums) for each in part.below])[: part.needed])


def _is_full(part: Part, full: Sequence[bool]) -> bool:
    if isinstance(part, int):
        return full[part]
    return sum([_is_full(each, full) for each in part.below]) >= part.needed


class Members(NamedTuple):
    """Pods in the order in which they start, and how many of them are of use together."""

    minimum: int
    pods: tuple[PodId, ...]
    name: str = ""  # of the sub-group; "": of the pods that are in none


class Fullness(IntEnum):
    """How many of its pods a job has, compared with its minimum; the emptiest is served first."""

    BELOW = 0
    AT = 1
    ABOVE = 2


class Gang:
    """The groups of one job, which stay the same as long as its workload does."""

    __slots__ = ("_choice", "_has_enough", "_pods", "groups")

    def __init__(self, workload: Workload) -> None:
        """Sort the pods of *workload* that may start into its groups."""
        self.groups, self._choice = _groups(workload)
        self._pods = frozenset([pod for group in self.groups for pod in group.pods])
        self._has_enough = all(len(group.pods) >= group.minimum for group in self.groups)

    def __eq__(self, other: object) -> bool:
        """Return whether *other* is a gang of the same groups, of which as many are needed."""
        return isinstance(other, Gang) and (self.groups, self._choice) == (
            other.groups,
            other._choice,
        )

    __hash__ = None  # type: ignore[assignment]  # it is compared, never a key

    def next_pods(self, run: Run | None, away: Set[PodId] = frozenset()) -> tuple[PodId, ...]:
        """Return the pods that would start next, given those that have a place; none: it waits.

        Below a minimum these are all missing pods of every needed group. If one of these has too
        few pods for that, nothing starts. Otherwise it is the first pod without a place, of needed
        groups first. Pods that are *away* are not pending. Cost: a look at each pod.
        """
        if run is not None and self._pods <= run.pods.keys():
            return ()  # the usual case of a job that runs
        if run is not None or away:
            return self._next_pods(run, away)
        return self._pods_at_first()

    def spare(self, pods: Sequence[PodId]) -> PodId | None:
        """Return the last of *pods* whose group has more than its minimum, if there is one."""
        counts = [sum([pod in pods for pod in group.pods]) for group in self.groups]
        for pod in reversed(pods):
            for count, group in zip(counts, self.groups, strict=True):
                if count > group.minimum and pod in group.pods:
                    return pod
        return None

    def one_by_one(self, run: Run | None, away: Set[PodId] = frozenset()) -> tuple[PodId, ...]:
        """Return all pods that would start one after the other, as far as that is known now.

        It is known if a job has its minimums and all of its groups are needed: then no pod that
        gets a place changes the next one. Law: after each of them got its place, `next_pods`
        returns the following one, and at last none.
        """
        if self._choice is not None or self.fullness(run) == Fullness.BELOW:
            return ()
        placed = {*(run.pods if run else ()), *away}
        return tuple([pod for group in self.groups for pod in group.pods if pod not in placed])

    def minimum(self) -> int:
        """Return how many pods the job needs, all groups together."""
        return sum([group.minimum for group in self.groups])

    def fullness(self, run: Run | None) -> Fullness:
        """Return whether the pods that have a place are fewer or more than the minimums.

        Cost: a look at each pod.
        """
        if run is not None:
            return self._fullness(run)
        needs_any = len(self.groups) == 1 and self.groups[0].minimum > 0
        return Fullness.BELOW if needs_any else self._fullness(None)

    def _fullness(self, run: Run | None) -> Fullness:
        counts = self._counts(run)
        needed = self._needed(counts)
        if any(self._lacking(counts, needed)):
            return Fullness.BELOW
        spare = sum(counts) > sum([self.groups[at].minimum for at in needed])
        return Fullness.ABOVE if spare else Fullness.AT

    def must_wait(self, run: Run) -> bool:
        """Return whether a needed group depends on a reservation: then no pod may start.

        It does if fewer pods than its minimum have started and some have a reservation. Cost:
        nothing without a reservation, else a look at each pod.
        """
        if not run.reserved:
            return False
        for at in self._needed(self._counts(run)):
            group = self.groups[at]
            placed = [run.pods[pod] for pod in group.pods if pod in run.pods]
            is_reserved = any(each.phase == "reserved" for each in placed)
            if is_reserved and sum([each.is_running() for each in placed]) < group.minimum:
                return True
        return False

    def broken(self, run: Run) -> list[tuple[str, int, int]]:
        """Return the needed groups that have places for fewer pods than their minimum.

        Each with its name, the number of its pods that have a place, terminating ones included, and
        its minimum.
        """
        there = run.pods.keys()
        if self._has_enough and self._pods <= there:
            return []
        counts = [len(there & group.pods) for group in self.groups]
        needed = [(self.groups[at], counts[at]) for at in self._needed(counts)]
        return [(g.name, count, g.minimum) for g, count in needed if count < g.minimum]

    def incomplete(self, run: Run | None) -> list[tuple[Members, int]]:
        """Return the needed groups that have too few pods, with the number of pods that exist.

        Terminating pods and pods with a scheduling gate are not counted.
        """
        placed = run.pods if run else {}
        counts = self._counts(run)
        there = [
            count + sum([pod not in placed for pod in group.pods])
            for count, group in zip(counts, self.groups, strict=True)
        ]
        needed = [(self.groups[at], there[at]) for at in self._needed(counts)]
        return [(group, pods) for group, pods in needed if pods < group.minimum]

    def _pods_at_first(self) -> tuple[PodId, ...]:
        """Return what a job without places starts; a short way for the many jobs with one group."""
        if len(self.groups) > 1:
            return self._next_pods(None, frozenset())
        minimum, pods, _ = self.groups[0]
        return pods[: minimum or 1] if minimum <= len(pods) else ()

    def _next_pods(self, run: Run | None, away: Set[PodId]) -> tuple[PodId, ...]:
        placed = {*(run.pods if run else ()), *away}
        waiting = [[pod for pod in group.pods if pod not in placed] for group in self.groups]
        counts = self._counts(run)
        needed = self._needed(counts)
        lacking = self._lacking(counts, needed)
        if not any(lacking):
            order = sorted(range(len(waiting)), key=lambda at: at not in needed)
            return tuple(next(((waiting[at][0],) for at in order if waiting[at]), ()))
        pairs = list(zip(lacking, waiting, strict=True))
        if any(lack > len(pods) for lack, pods in pairs):
            return ()
        return tuple([pod for lack, pods in pairs for pod in pods[:lack]])

    def _counts(self, run: Run | None) -> list[int]:
        """Return how many pods of each group have a place and are not terminating."""
        if run is None:
            return [0] * len(self.groups)
        held = {pod for pod, placed in run.pods.items() if placed.phase != "leaving"}
        return [len(held.intersection(group.pods)) for group in self.groups]

    def _needed(self, counts: list[int]) -> Sequence[int]:
        """Return the positions of the groups that must have their minimum."""
        if self._choice is None:
            return range(len(self.groups))
        full = [count >= group.minimum for count, group in zip(counts, self.groups, strict=True)]
        return [*needed_leaves(self._choice, full), len(self.groups) - 1]

    def _lacking(self, counts: list[int], needed: Sequence[int]) -> list[int]:
        return [
            max(0, group.minimum - count) if at in needed else 0
            for at, (group, count) in enumerate(zip(self.groups, counts, strict=True))
        ]


def _groups(workload: Workload) -> tuple[tuple[Members, ...], Branch | None]:
    """Return the groups, pods without a sub-group last, and which must start; None: all."""
    job = workload.extension
    if not isinstance(job, KaiJob) or not job.sub_groups:
        return (Members(workload.min_count, tuple(_in_start_order(workload))),), None
    inner = {each.parent for each in job.sub_groups}
    leaves = [each for each in job.sub_groups if each.name not in inner]
    leaves.sort(key=lambda leaf: leaf.name)
    places = {leaf.name: place for place, leaf in enumerate(leaves)}
    # A sub-group without a minimum needs one pod, as the reader counts it.
    minimums = [1 if leaf.min_member is None else leaf.min_member for leaf in leaves]
    top = tree_of(job, places)
    rest = workload.min_count - fewest_pods(top, minimums)
    is_any_outside = any(pods.sub_group not in places for pods in workload.pod_sets)
    minimums.append(max(0, rest) if is_any_outside else 0)
    pods: list[list[PodId]] = [[] for _ in minimums]
    for pod in _in_start_order(workload):
        pods[places.get(workload.pod_sets.of(pod).sub_group, -1)].append(pod)
    names = [*places, ""]
    groups = [
        Members(minimum, tuple(own), name)
        for minimum, own, name in zip(minimums, pods, names, strict=True)
    ]
    return tuple(groups), None if needs_all(top) else top


def _in_start_order(workload: Workload) -> Iterable[PodId]:
    """Return the pods without a scheduling gate: the highest start order first, then by name."""
    sets = workload.pod_sets
    if len(sets) == 1:
        return () if sets[0].gated else sets.ids
    pods = [pod for pod in workload.pods() if not sets.of(pod).gated]

    def key(pod: PodId) -> tuple[bool, int, str, int]:
        order = sets.of(pod).start_order
        return order is None, -(order or 0), workload.pod_name(pod), sets.position[pod]

    return sorted(pods, key=key)
