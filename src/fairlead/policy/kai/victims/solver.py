"""Finding the victims for one preemptor.

The pods of the preemptor are solved one after the other; victims found for the first pods are kept.
A *scenario* evicts some candidates and places them and the preemptor again, in the order of queues
and jobs, so that no pod has a right to its old place. A candidate that gets its own place back was
no victim; one that gets another place is moved; the rest is evicted. A validator says whether the
scenario may stand. Every scenario begins from the state as the search found it.

A search adds victims one by one, from the first, for each pod of its preemptor. The next victim
depends on the state at the start and on which victims are kept, not on the outcome of scenarios. So
these *steps* are made once, and made again only where a job that gives up one pod after the other
would go on with other pods. Nearly all steps lead to no scenario, because there would be too little
room. That stays so while as much or more is lacking, unless victims near that node came to be kept.
So a step that was *closed* for want of room is looked at again only in these cases.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from operator import add
from typing import NamedTuple, Protocol, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.victims.candidates import Candidate, EvictionOrder, VictimGroup
from fairlead.policy.kai.victims.reschedule import Evictions, Reschedule, ServiceOrder, is_same

Freed: TypeAlias = Sequence[tuple[str, Sequence[int]]]
"""What pods set free at most, with the node of each."""

FreedByNode: TypeAlias = Mapping[str, Sequence[int]]
"""What each node gains at most."""

Lacking: TypeAlias = tuple[int, ...]
"""How many places are lacking, for each size of pod; 0 or less: none."""


class _Step(NamedTuple):
    candidate: Candidate
    group: VictimGroup  # what it gives up first
    rest: tuple[PodId, ...]  # with which it is ordered again
    freed: Freed


class VictimSteps:
    """The steps of one search, numbered from 0; steps of kept victims are left out."""

    def __init__(
        self, new_order: Callable[[], EvictionOrder], freed: Callable[[VictimGroup], Freed]
    ) -> None:
        """Follow the eviction order that *new_order* returns; *freed* is what a group sets free."""
        self._new_order = new_order
        self._freed = freed
        self._order: EvictionOrder | None = None
        self._is_at_end = False
        self._steps: list[_Step] = []
        self._is_kept: list[bool] = []
        self._of_job: dict[WorkloadName, list[int]] = {}
        self._nodes_of: dict[WorkloadName, list[str]] = {}  # also of pods that are in no group yet
        self._near: dict[str, list[WorkloadName]] = {}  # the same, by node
        self._on: dict[str, dict[WorkloadName, list[int]]] = {}  # steps with a pod on that node
        self._kept: dict[tuple[WorkloadName, tuple[PodId, ...]], VictimGroup] = {}
        self._kept_pods: set[PodKey] = set()
        self._seen = 0  # so many steps were looked at before
        self._open: set[int] = set()  # those of them that are not closed
        self._lacking: Lacking = ()  # when the others were closed

    def keep(self, kept: Iterable[VictimGroup]) -> tuple[list[VictimGroup], list[VictimGroup]]:
        """Keep these victims from now on and no others; returns the added and the removed ones."""
        now = {(group.job, group.pods): group for group in kept}
        added = [group for key, group in now.items() if key not in self._kept]
        removed = [group for key, group in self._kept.items() if key not in now]
        self._kept = now
        for group in removed:
            self._kept_pods.difference_update(group.members())
        for group in added:
            self._kept_pods.update(group.members())
        self._update([*added, *removed])
        return added, removed

    def reopened(self, lacking: Lacking) -> Iterator[int]:
        """Yield the steps known from before at which there may be room, in their order."""
        is_less = len(lacking) != len(self._lacking) or any(map(int.__lt__, lacking, self._lacking))
        if is_less:
            self._open = {at for at in range(self._seen) if not self._is_kept[at]}
        self._lacking = lacking
        yield from sorted(self._open)

    def unseen(self) -> Iterator[int]:
        """Yield the steps that were not looked at, as far as they are made."""
        while self._seen < len(self._steps):
            at = self._seen
            self._seen += 1
            if not self._is_kept[at]:
                self._open.add(at)
                yield at

    def make_more(self) -> list[str] | None:
        """Make as many steps again as there are, while the state is as at the start.

        Returns the nodes on which these set something free; None if there are no more steps.
        """
        if self._is_at_end:
            return None
        order = self._order = self._order or self._new_order()
        before = len(self._steps)
        for _ in range(max(1, before)):
            candidate = order.pop()
            if candidate is None:
                self._is_at_end = True
                break
            self._add(candidate, order)
        if len(self._steps) == before:
            return None
        return [node for step in self._steps[before:] for node, _ in step.freed]

    def close(self, at: int) -> None:
        """Note that at this step there is too little room for what is lacking now."""
        self._open.discard(at)

    def victim_sets(self, at: int) -> Iterator[tuple[int, ...]]:
        """Yield, for each node of the job of a step, the steps of all victims there.

        These are the steps up to that one, of jobs with a pod on the node in one of them. What is
        the same for two nodes is yielded once.
        """
        shown = set()
        for node in self._nodes_of[self._steps[at].group.job]:
            here = self._on.get(node, {})
            jobs = tuple([job for job, steps in here.items() if self._until(at, steps)])
            if jobs not in shown:
                shown.add(jobs)
                numbers = [n for job in jobs for n in self._until(at, self._of_job[job])]
                yield tuple(sorted(numbers))

    def groups(self, steps: Iterable[int]) -> tuple[VictimGroup, ...]:
        """Return what is evicted in these steps."""
        return tuple([self._steps[at].group for at in steps])

    def groups_until(self, at: int) -> tuple[VictimGroup, ...]:
        """Return what is evicted in all steps up to that one."""
        pairs = zip(self._steps[: at + 1], self._is_kept, strict=False)
        return tuple([step.group for step, is_kept in pairs if not is_kept])

    def freed(self, steps: Iterable[int]) -> FreedByNode:
        """Return what is set free at most in these steps, by node."""
        free: dict[str, Sequence[int]] = {}
        for at in steps:
            for node, amounts in self._steps[at].freed:
                before = free.get(node)
                free[node] = amounts if before is None else tuple(map(add, before, amounts))
        return free

    def _until(self, at: int, steps: Iterable[int]) -> list[int]:
        """Return those of some steps that are no later than *at*, without kept victims."""
        return [number for number in steps if number <= at and not self._is_kept[number]]

    def _add(self, candidate: Candidate, order: EvictionOrder) -> None:
        pods = candidate.evicted_first()
        group = VictimGroup(candidate.job, pods, candidate.costs, candidate.nodes)
        is_kept, rest = self._split(candidate, group)
        if rest:
            order.put_back(candidate._replace(pods=rest))
        self._enter(_Step(candidate, group, rest, self._freed(group)), is_kept=is_kept)

    def _enter(self, step: _Step, *, is_kept: bool) -> None:
        at, job = len(self._steps), step.group.job
        self._steps.append(step)
        self._is_kept.append(is_kept)
        if job not in self._of_job:
            nodes = sorted({node for node in step.group.nodes.values() if node is not None})
            self._nodes_of[job] = nodes
            for node in nodes:
                self._near.setdefault(node, []).append(job)
        self._of_job.setdefault(job, []).append(at)
        for node in dict.fromkeys(node for node, _ in step.freed):
            self._on.setdefault(node, {}).setdefault(job, []).append(at)

    def _split(self, candidate: Candidate, group: VictimGroup) -> tuple[bool, tuple[PodId, ...]]:
        """Return whether some of a group is kept already, and the pods its job goes on with.

        These are all but the group; where some of it is kept, all that is not kept instead.
        """
        kept, job = self._kept_pods, candidate.job
        is_kept = any((job, pod) in kept for pod in group.pods)
        if is_kept:
            return True, tuple([pod for pod in candidate.pods if (job, pod) not in kept])
        if len(group.pods) == len(candidate.pods):
            return False, ()
        return False, tuple([pod for pod in candidate.pods if pod not in group.pods])

    def _update(self, changed: Sequence[VictimGroup]) -> None:
        """Bring the steps up to date with a change of the kept victims."""
        for job in {group.job for group in changed}:
            for at in self._of_job.get(job, ()):
                step = self._steps[at]
                self._is_kept[at], rest = self._split(step.candidate, step.group)
                if rest != step.rest:  # the job goes on with other pods
                    self._forget()
                    return
        for job in self._jobs_around(changed):
            for at in self._of_job.get(job, ()):
                if self._is_kept[at]:
                    self._open.discard(at)
                elif at < self._seen:
                    self._open.add(at)

    def _jobs_around(self, changed: Sequence[VictimGroup]) -> set[WorkloadName]:
        """Return the jobs whose scenarios may include a job with a pod where something changed."""
        nodes = {node for group in changed for node in map(group.nodes.get, group.pods)}
        there = {job for node in nodes if node for job in self._near.get(node, ())}
        around = {node for job in there for node in self._nodes_of[job]}
        return {job for node in around for job in self._near[node]}

    def _forget(self) -> None:
        """Forget all steps: from some step on the order is another one."""
        self._order = None
        self._is_at_end = False
        self._seen = 0
        for memory in (self._steps, self._is_kept, self._of_job, self._nodes_of, self._near):
            memory.clear()
        self._on.clear()
        self._open.clear()


class Scenario(NamedTuple):
    """The outcome of evicting some candidates, if the preemptor found its place."""

    evicted: tuple[VictimGroup, ...]  # to make room, in that order
    lost: Set[PodKey]  # those of them without a place at the end
    moved: Set[PodKey]  # those of them with another place
    joined: Set[PodKey]  # pods of victims that had no place before and have one now
    considered: tuple[VictimGroup, ...]  # all groups of the search so far


Validator: TypeAlias = Callable[[Scenario], bool]


class SearchBounds(Protocol):
    """Says of scenarios of one search whether there may be room, before they are simulated."""

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Read what is free on *nodes* when the search begins, before they are asked about."""

    def keep(self, freed: Freed) -> None:
        """Note that more pods have left from now on."""

    def unkeep(self, freed: Freed) -> None:
        """Note that pods are back where they were: the inverse of `keep`."""

    def lacking(self, count: int) -> Lacking:
        """Return how many places the first *count* pods lack, with the kept victims."""

    def allows(self, need: Lacking, more: FreedByNode) -> bool:
        """Return whether there may be as many places as are *lacking* when *more* is set free."""


NewBounds: TypeAlias = Callable[[Sequence[Amounts], Mapping[str, NodeRoom], Set[str]], SearchBounds]
"""Makes the bounds for pods of these sizes; the nodes in the set are open without victims."""


class NoBounds:
    """The plain answer: every scenario is simulated."""

    def __init__(
        self, sizes: Sequence[Amounts], rooms: Mapping[str, NodeRoom], base: Set[str]
    ) -> None:
        """Look at nothing."""

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Nothing to read."""

    def keep(self, freed: Freed) -> None:
        """Nothing to note."""

    def unkeep(self, freed: Freed) -> None:
        """Nothing to note."""

    def lacking(self, count: int) -> Lacking:
        """Return nothing."""
        return ()

    def allows(self, need: Lacking, more: FreedByNode) -> bool:
        """Return that there may be."""
        return True


class _Prefix(NamedTuple):
    """The first pods of the preemptor, and what is known when they are to be solved."""

    pods: tuple[PodId, ...]
    kept: tuple[VictimGroup, ...]  # the victims of the pods before the last of them
    validator: Validator
    lacking: Lacking  # with the kept victims


class VictimSolver:
    """Searches for one preemptor; if it succeeds, the state holds what it found."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        order: ServiceOrder,
        preemptor: WorkloadName,
        pods: Sequence[PodId],
        *,
        now_ms: int,
        faithful: bool,
        touch: Callable[[WorkloadName], None],
        new_bounds: NewBounds,
    ) -> None:
        """Search in *state*, which is on trial, for a place for *pods* of *preemptor*.

        *order* is the service order of a scenario. *touch* is called for every job before anything
        is done to it. Scenarios for which there is no room by the bounds are left out.
        """
        self._state = state
        self._finder = finder
        self._order = order
        self._preemptor = preemptor
        self._pods = tuple(sorted(pods, key=state.workloads[preemptor].pod_name))
        self._now_ms = now_ms
        touch(preemptor)
        sets = state.workloads[preemptor].pod_sets
        self._base = finder.nodes_with_room(sets.of(pod) for pod in self._pods)
        sizes = [finder.besides_shares(sets.of(pod)) for pod in self._pods]
        self._bounds = new_bounds(sizes, finder.rooms(), self._base)
        self._evictions = Evictions(state, touch, faithful=faithful)
        self._freed = partial(freed_by, state, finder)

    def run(
        self,
        new_order: Callable[[], EvictionOrder],
        validator_for: Callable[[Sequence[PodId]], Validator],
    ) -> Scenario | None:
        """Return the accepted scenario, for all pods; None: there is none, nothing is changed.

        *new_order* and *validator_for* are called while the state is as at the start.
        """
        steps = VictimSteps(new_order, self._freed)
        kept: tuple[VictimGroup, ...] = ()
        validators: list[Validator] = []
        accepted: Scenario | None = None
        for count in range(1, len(self._pods) + 1):
            if count > len(validators):
                self._evictions.undo()
                most = min(2 * count, len(self._pods))
                prefixes = [self._pods[:n] for n in range(count, most + 1)]
                validators += [validator_for(pods) for pods in prefixes]
            self._keep(steps, kept)
            lacking = self._bounds.lacking(count)
            prefix = _Prefix(self._pods[:count], kept, validators[count - 1], lacking)
            accepted = self._solve(steps, prefix)
            if accepted is None:
                break
            gone = accepted.lost | accepted.moved
            kept = tuple([g for g in accepted.evicted if not gone.isdisjoint(g.members())])
        self._evictions.end(stands=accepted is not None)
        return accepted

    def _solve(self, steps: VictimSteps, prefix: _Prefix) -> Scenario | None:
        """Add victims until the pods have a place that may stand."""
        if prefix.kept and self._bounds.allows(prefix.lacking, {}):
            accepted, _ = self._simulate(prefix, (), tuple)
            if accepted is not None:
                return accepted
        failed: set[tuple[int, ...]] = set()
        for at in self._walk(steps, prefix.lacking):
            accepted = self._take(steps, at, prefix, failed)
            if accepted is not None:
                return accepted
        return None

    def _keep(self, steps: VictimSteps, kept: Iterable[VictimGroup]) -> None:
        """Keep these victims from now on and no others."""
        added, removed = steps.keep(kept)
        for group in removed:
            self._bounds.unkeep(self._freed(group))
        for group in added:
            self._bounds.keep(self._freed(group))

    def _walk(self, steps: VictimSteps, lacking: Lacking) -> Iterator[int]:
        """Yield all steps from the first one at which there may be room."""
        yield from steps.reopened(lacking)
        while True:
            yield from steps.unseen()
            self._evictions.undo()
            nodes = steps.make_more()
            if nodes is None:
                return
            self._bounds.learn(self._finder.rooms(), nodes)

    def _take(
        self, steps: VictimSteps, at: int, prefix: _Prefix, failed: set[tuple[int, ...]]
    ) -> Scenario | None:
        """Simulate the scenarios of one step, except those that *failed* for want of a place.

        After one in which the preemptor found a place that may not stand no other is simulated.
        """
        allows, need = self._bounds.allows, prefix.lacking
        scenarios = [more for more in steps.victim_sets(at) if allows(need, steps.freed(more))]
        if not scenarios:
            steps.close(at)
        for more in [more for more in scenarios if more not in failed]:
            accepted, is_placed = self._simulate(
                prefix, steps.groups(more), lambda: steps.groups_until(at)
            )
            if accepted is not None or is_placed:
                return accepted
            failed.add(more)
        return None

    def _simulate(
        self,
        prefix: _Prefix,
        more: tuple[VictimGroup, ...],
        considered: Callable[[], tuple[VictimGroup, ...]],
    ) -> tuple[Scenario | None, bool]:
        """Evict the kept victims and *more*, and place all of them and the preemptor again.

        Returns the scenario if it stands, and whether the preemptor found its place at all.
        """
        evicted = (*prefix.kept, *more)
        places = self._evictions.places
        nodes = self._base | self._evictions.evict(evicted)
        rescheduling = Reschedule(
            self._state, self._finder, self._preemptor, places, nodes, self._now_ms
        )
        victims = {group.job for group in evicted}
        if not rescheduling.place(*self._order(prefix.pods, victims), victims):
            return None, False
        lost, moved = self._outcome(evicted)
        seen = (*prefix.kept, *considered())
        scenario = Scenario(evicted, lost, moved, frozenset(rescheduling.joined), seen)
        return (scenario, True) if prefix.validator(scenario) else (None, True)

    def _outcome(self, evicted: Iterable[VictimGroup]) -> tuple[set[PodKey], set[PodKey]]:
        """Return the evicted pods that have no place now, and those that have another."""
        lost: set[PodKey] = set()
        moved: set[PodKey] = set()
        for group in evicted:
            run = self._state.runs.get(group.job)
            for key in group.members():
                now = run.pods.get(key[1]) if run else None
                if now is None:
                    lost.add(key)
                elif not is_same(self._evictions.places[key], now):
                    moved.add(key)
        return lost, moved


def freed_by(state: ClusterState, finder: NodeFinder, group: VictimGroup) -> Freed:
    """Return what the pods of a group set free at most, with the node of each."""
    sets = state.workloads[group.job].pod_sets
    held = [(group.nodes[pod], sets.of(pod)) for pod in group.pods]
    return [(node, finder.at_most_freed(each)) for node, each in held if node is not None]
