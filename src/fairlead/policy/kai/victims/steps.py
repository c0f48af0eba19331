"""The steps of one search: which group of pods is evicted next, remembered between passes.

A search adds victims one by one, from the first, for each pod of its preemptor. The next victim
depends on the state at the start and on which victims are kept, not on the outcome of scenarios. So
steps are made once, and made again only from where a change of the kept victims changes them.

Nearly all steps lead to no scenario, because there would be too little room. That stays so while as
much or more is lacking, unless victims near that node came to be kept. So a step that was *closed*
for want of room is looked at again only in these cases.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.victims.candidates import Candidate, VictimGroup
from fairlead.policy.kai.victims.eviction_order import EvictionOrder

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

    def again(self, lacking: Lacking) -> Iterator[int]:
        """Yield the steps known from before at which there may be room, in their order."""
        is_less = len(lacking) != len(self._lacking) or any(map(int.__lt__, lacking, self._lacking))
        if is_less:
            self._open = {at for at in range(self._seen) if not self._is_kept[at]}
        self._lacking = lacking
        yield from sorted(self._open)

    def further(self) -> Iterator[int]:
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
        order = self._order = self._order or self._order_so_far()
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

    def gatherings(self, at: int) -> Iterator[tuple[int, ...]]:
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
        end = len(self._steps)
        for job in {group.job for group in changed}:
            for at in self._of_job.get(job, ()):
                step = self._steps[at]
                self._is_kept[at], rest = self._split(step.candidate, step.group)
                if rest != step.rest:
                    end = min(end, at)
        self._forget_from(end)
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

    def _forget_from(self, end: int) -> None:
        """Forget the steps from a number on: a job would be ordered differently."""
        if end == len(self._steps):
            return
        steps, is_kept = self._steps[:end], self._is_kept[:end]
        for memory in (self._steps, self._is_kept, self._of_job, self._near, self._on):
            memory.clear()
        for step, kept in zip(steps, is_kept, strict=True):
            self._enter(step, is_kept=kept)
        self._order = None
        self._is_at_end = False
        self._seen = min(self._seen, end)
        self._open = {at for at in self._open if at < end}

    def _order_so_far(self) -> EvictionOrder:
        """Return the eviction order as it is after the steps that are known."""
        order = self._new_order()
        for step in self._steps:
            popped = order.pop()
            assert popped is not None, "the order has become shorter"
            assert popped.job == step.candidate.job, "the order has changed"
            if step.rest:
                order.put_back(popped._replace(pods=step.rest))
        return order
