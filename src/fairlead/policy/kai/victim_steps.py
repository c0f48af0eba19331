"""Who gives way in which order, remembered while one search goes over it again and again.

A search adds victims one by one, from the first, for each pod of its claimant. Who is next depends
on the state at the start and on which victims are kept, not on what the tries came to. So the steps
are made once, and made anew only from where a change in who is kept changes them.

Nearly all steps lead to no try, because there would be too little room. What was too little stays
so while as much or more is lacking, unless victims near that node have come to be kept. So a step
that was *closed* for want of room is looked at again only in these cases.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import NamedTuple

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.room_bound import Freed, Need
from fairlead.policy.kai.victim_line import VictimLine
from fairlead.policy.kai.victim_pool import Candidate


class Group(NamedTuple):
    """Pods of one job that give way together."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    costs: Mapping[PodId, Amounts]  # what each pod of the job costs its queue
    nodes: Mapping[PodId, str | None]  # where each of them is

    def members(self) -> list[PodKey]:
        """Return the pods with their job."""
        return [(self.job, pod) for pod in self.pods]


class _Step(NamedTuple):
    candidate: Candidate
    group: Group  # what it gives up first
    rest: tuple[PodId, ...]  # with which it stands in line again
    freed: Freed


class VictimSteps:
    """The steps of one search, numbered from 0; those of victims that are kept are left out."""

    def __init__(self, line_up: Callable[[], VictimLine], freed: Callable[[Group], Freed]) -> None:
        """Take steps along the line that *line_up* gives; *freed* is what a group sets free."""
        self._line_up = line_up
        self._freed = freed
        self._line: VictimLine | None = None
        self._is_at_end = False
        self._steps: list[_Step] = []
        self._is_kept: list[bool] = []
        self._of_job: dict[WorkloadName, list[int]] = {}
        self._nodes_of: dict[WorkloadName, list[str]] = {}  # also those of pods in no group yet
        self._near: dict[str, list[WorkloadName]] = {}  # the same, the other way round
        self._on: dict[str, dict[WorkloadName, list[int]]] = {}  # steps with a pod on that node
        self._kept: dict[tuple[WorkloadName, tuple[PodId, ...]], Group] = {}
        self._kept_pods: set[PodKey] = set()
        self._seen = 0  # so many steps were looked at before
        self._open: set[int] = set()  # those of them that are not closed
        self._need: Need = ()  # what was lacking when the others were closed

    def keep(self, kept: Iterable[Group]) -> tuple[list[Group], list[Group]]:
        """Let these victims be kept from now on, and no others; returns who is new, and who not."""
        now = {(group.job, group.pods): group for group in kept}
        come = [group for key, group in now.items() if key not in self._kept]
        gone = [group for key, group in self._kept.items() if key not in now]
        self._kept = now
        for group in gone:
            self._kept_pods.difference_update(group.members())
        for group in come:
            self._kept_pods.update(group.members())
        self._take_notice([*come, *gone])
        return come, gone

    def again(self, need: Need) -> Iterator[int]:
        """Yield the steps known from before at which there may be room, in their order."""
        is_less = len(need) != len(self._need) or any(map(int.__lt__, need, self._need))
        if is_less:
            self._open = {at for at in range(self._seen) if not self._is_kept[at]}
        self._need = need
        yield from sorted(self._open)

    def further(self) -> Iterator[int]:
        """Yield the steps that nobody has looked at, as far as they are made."""
        while self._seen < len(self._steps):
            at = self._seen
            self._seen += 1
            if not self._is_kept[at]:
                self._open.add(at)
                yield at

    def make_more(self) -> list[str] | None:
        """Make as many steps again as there are, while the state is as at the start.

        Returns the nodes on which these would set something free; None if there are no more steps.
        """
        if self._is_at_end:
            return None
        line = self._line = self._line or self._line_anew()
        before = len(self._steps)
        for _ in range(max(1, before)):
            candidate = line.pop()
            if candidate is None:
                self._is_at_end = True
                break
            self._add(candidate, line)
        if len(self._steps) == before:
            return None
        return [node for step in self._steps[before:] for node, _ in step.freed]

    def close(self, at: int) -> None:
        """Take notice that at this step there is too little room for what is lacking now."""
        self._open.discard(at)

    def count(self) -> int:
        """Return how many steps are made."""
        return len(self._steps)

    def nodes(self, at: int) -> Sequence[str]:
        """Return the nodes of the job of a step, also those of pods in no group yet."""
        return self._nodes_of[self._steps[at].group.job]

    def have_all(self, pods: Iterable[PodKey]) -> bool:
        """Return whether all *pods* are kept or give way in one of the steps that are made."""
        pairs = zip(self._steps, self._is_kept, strict=True)
        made = {key for step, is_kept in pairs if not is_kept for key in step.group.members()}
        return all(pod in made or pod in self._kept_pods for pod in pods)

    def gatherings(self, at: int) -> Iterator[tuple[int, ...]]:
        """Yield, for each node of the job of a step, the steps of all jobs that give way there.

        These are the steps up to that one, of jobs with a pod on the node in one of them. What is
        the same for two nodes is shown once.
        """
        shown = set()
        for node in self._nodes_of[self._steps[at].group.job]:
            here = self._on.get(node, {})
            jobs = tuple([job for job, steps in here.items() if self._until(at, steps)])
            if jobs not in shown:
                shown.add(jobs)
                numbers = [n for job in jobs for n in self._until(at, self._of_job[job])]
                yield tuple(sorted(numbers))

    def groups(self, steps: Iterable[int]) -> tuple[Group, ...]:
        """Return what gives way in these steps."""
        return tuple([self._steps[at].group for at in steps])

    def groups_until(self, at: int) -> tuple[Group, ...]:
        """Return what gives way in all steps up to that one."""
        pairs = zip(self._steps[: at + 1], self._is_kept, strict=False)
        return tuple([step.group for step, is_kept in pairs if not is_kept])

    def freed(self, steps: Iterable[int]) -> dict[str, Sequence[int]]:
        """Return what is set free at most in these steps, node by node."""
        free: dict[str, Sequence[int]] = {}
        for at in steps:
            for node, amounts in self._steps[at].freed:
                before = free.get(node)
                free[node] = amounts if before is None else tuple(map(add, before, amounts))
        return free

    def _until(self, at: int, steps: Iterable[int]) -> list[int]:
        """Return those of some steps that are no later than *at*, and not of who is kept."""
        return [number for number in steps if number <= at and not self._is_kept[number]]

    def _add(self, candidate: Candidate, line: VictimLine) -> None:
        group = Group(candidate.job, candidate.first_to_go(), candidate.costs, candidate.nodes)
        is_kept, rest = self._cut(candidate, group)
        if rest:
            line.put_back(candidate._replace(pods=rest))
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

    def _cut(self, candidate: Candidate, group: Group) -> tuple[bool, tuple[PodId, ...]]:
        """Return whether some of a group is kept already, and with what its job goes on.

        That is without the group; where some of that is kept, without all that is kept instead.
        """
        kept, job = self._kept_pods, candidate.job
        is_kept = any((job, pod) in kept for pod in group.pods)
        if is_kept:
            return True, tuple([pod for pod in candidate.pods if (job, pod) not in kept])
        if len(group.pods) == len(candidate.pods):
            return False, ()
        return False, tuple([pod for pod in candidate.pods if pod not in group.pods])

    def _take_notice(self, changed: Sequence[Group]) -> None:
        """Bring the steps up to date with a change in who is kept."""
        end = len(self._steps)
        for job in {group.job for group in changed}:
            for at in self._of_job.get(job, ()):
                step = self._steps[at]
                self._is_kept[at], rest = self._cut(step.candidate, step.group)
                if rest != step.rest:
                    end = min(end, at)
        self._forget_from(end)
        for job in self._jobs_around(changed):
            for at in self._of_job.get(job, ()):
                if self._is_kept[at]:
                    self._open.discard(at)
                elif at < self._seen:
                    self._open.add(at)

    def _jobs_around(self, changed: Sequence[Group]) -> set[WorkloadName]:
        """Return the jobs in whose tries somebody may be who has a pod where something changed."""
        nodes = {node for group in changed for node in map(group.nodes.get, group.pods)}
        there = {job for node in nodes if node for job in self._near.get(node, ())}
        around = {node for job in there for node in self._nodes_of[job]}
        return {job for node in around for job in self._near[node]}

    def _forget_from(self, end: int) -> None:
        """Forget the steps from a number on: somebody would stand in line differently."""
        if end == len(self._steps):
            return
        steps, is_kept = self._steps[:end], self._is_kept[:end]
        for memory in (self._steps, self._is_kept, self._of_job, self._near, self._on):
            memory.clear()
        for step, kept in zip(steps, is_kept, strict=True):
            self._enter(step, is_kept=kept)
        self._line = None
        self._is_at_end = False
        self._seen = min(self._seen, end)
        self._open = {at for at in self._open if at < end}

    def _line_anew(self) -> VictimLine:
        """Return the line as it stands after the steps that are known."""
        line = self._line_up()
        for step in self._steps:
            popped = line.pop()
            assert popped is not None, "the line has become shorter"
            assert popped.job == step.candidate.job, "the line has another order"
            if step.rest:
                line.put_back(popped._replace(pods=step.rest))
        return line
