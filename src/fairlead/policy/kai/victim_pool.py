"""The jobs that hold something and could be asked to give it up, leaf by leaf.

A search looks at the head of each line and seldom far beyond, and there are many searches in a
cycle. So a line is made once and kept, from cycle to cycle, until something in that leaf changes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.run import Placed, Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.gang import Fullness, Gang
from fairlead.policy.kai.waiting_lines import JobKey


class Candidate(NamedTuple):
    """A job that may give way, with its pods that have a place, by name, and what each costs."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    gang: Gang
    costs: Mapping[PodId, Amounts]  # its queue, on the quota axes
    nodes: Mapping[PodId, str | None]
    nothing: Amounts  # what a pod counts for in the order of queues that has only a reservation
    reserved: Set[PodId]

    def first_to_go(self) -> tuple[PodId, ...]:
        """Return what the job gives up first: one pod that it can spare, else all it has."""
        if len(self.pods) == 1:
            return self.pods
        spare = self.gang.spare(self.pods)
        return self.pods if spare is None else (spare,)

    def cost(self) -> Amounts:
        """Return what its pods that run cost its queue together; a reservation costs nothing yet.

        So KAI orders queues, although it charges them for reservations.
        """
        if len(self.pods) == 1 and not self.reserved:
            return self.costs[self.pods[0]]
        costs = [self.costs[pod] for pod in self.pods if pod not in self.reserved]
        return tuple(map(sum, zip(*costs, strict=True))) if costs else self.nothing


Entry: TypeAlias = tuple[JobKey, Candidate]


class _Known(NamedTuple):
    """A job as it was when it was looked at, and what it is in the line."""

    workload: Workload
    pods: Mapping[PodId, Placed]
    entry: Entry | None


class VictimPool:
    """Preemptible jobs with a place, in the order of service: the last would give way first."""

    def __init__(self, state: ClusterState, gang_of: Callable[[WorkloadName], Gang]) -> None:
        """Follow *state*. Nothing is looked at yet."""
        self._state = state
        self._gang_of = gang_of
        self._read_at: int | None = None  # None: nothing was read
        self._lines: dict[QueueName, list[Entry]] = {}
        self._lowest: dict[QueueName, int | None] = {}
        self._known: dict[WorkloadName, _Known] = {}
        self._queue_of: dict[WorkloadName, QueueName] = {}  # in which each was found
        self._priority_of: dict[WorkloadName, int] = {}  # of those who could give way
        self._priorities: Counter[int] = Counter()

    def line(self, queue: QueueName) -> list[Entry]:
        """Return the line of a leaf as it is now, which nobody else may change.

        Law: it is that of a new pool, and the same list until something changes in the leaf. Cost:
        nothing until then; then a glance at each of its workloads.
        """
        self._catch_up()
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._made(queue)
        return line

    def queues_of(self, jobs: Iterable[WorkloadName]) -> set[QueueName]:
        """Return the queues of *jobs*."""
        return {self._state.workloads[job].queue for job in jobs}

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those in the line of a leaf; None if nobody is there.

        Cost: once, a short look at its workloads; the line itself is not made for it.
        """
        self._catch_up()
        if queue not in self._lowest:
            running = [self._state.workloads[name] for name in self._running(queue)]
            priorities = [each.priority for each in running if each.preemptible]
            self._lowest[queue] = min(priorities, default=None)
        return self._lowest[queue]

    def lowest_of_all(self) -> int | None:
        """Return the lowest priority in any leaf; None if nobody could give way.

        Cost: those who changed.
        """
        self._catch_up()
        return min(self._priorities, default=None)

    def entry(self, candidate: Candidate) -> Entry:
        """Return a candidate with its place in the order of service, by the pods it still has."""
        workload = self._state.workloads[candidate.job]
        spare = len(candidate.pods) - candidate.gang.minimum()
        fullness = Fullness.AT if spare == 0 else Fullness.ABOVE if spare > 0 else Fullness.BELOW
        key = (-workload.priority, fullness, workload.created_ms, workload.name)
        return key, candidate

    def _catch_up(self) -> None:
        """Forget the lines of leaves in which something changed."""
        touched = self._state.touched
        if touched.moment == self._read_at:
            return
        if self._read_at is not None and touched.remembers(self._read_at):
            for name in touched.since(self._read_at):
                self._forget(name)
                self._count(name)
        else:
            for memory in (self._lines, self._lowest, self._known, self._queue_of):
                memory.clear()
            self._priority_of.clear()
            self._priorities.clear()
            for name in self._state.runs:
                self._count(name)
        self._read_at = touched.moment

    def _count(self, name: WorkloadName) -> None:
        """Count the priority of a job if it has a place and could give it up."""
        before = self._priority_of.pop(name, None)
        if before is not None:
            self._priorities[before] -= 1
            if not self._priorities[before]:
                del self._priorities[before]
        workload = self._state.workloads[name] if name in self._state.runs else None
        if workload is not None and workload.preemptible:
            self._priority_of[name] = workload.priority
            self._priorities[workload.priority] += 1

    def _forget(self, name: WorkloadName) -> None:
        """Take notice that something about a job changed, maybe its queue."""
        now = self._state.workloads.get(name)
        for queue in {self._queue_of.pop(name, None), None if now is None else now.queue}:
            if queue is not None:
                self._lines.pop(queue, None)
                self._lowest.pop(queue, None)
        if now is None:
            self._known.pop(name, None)

    def _running(self, queue: QueueName) -> list[WorkloadName]:
        """Return who of a leaf has a place, and remember where it was found."""
        names = [name for name in self._state.queued(queue) if name in self._state.runs]
        self._queue_of.update(dict.fromkeys(names, queue))
        return names

    def _made(self, queue: QueueName) -> list[Entry]:
        """Line up a leaf; of its jobs, only those are looked at that were different before."""
        runs, known = self._state.runs, self._known
        entries = []
        for name in self._running(queue):
            run = runs[name]
            workload, before = self._state.workloads[name], known.get(name)
            if before is None or before.workload is not workload or before.pods != run.pods:
                before = _Known(workload, dict(run.pods), self._entry_of(workload, run))
                known[name] = before
            if before.entry is not None:
                entries.append(before.entry)
        entries.sort(key=place_in_line)
        return entries

    def _entry_of(self, workload: Workload, run: Run) -> Entry | None:
        """Return a job with its pods that may be asked; None if there are none."""
        if not workload.preemptible:
            return None
        pods = [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]
        if not pods:
            return None
        ordered = tuple(pods if len(pods) == 1 else sorted(pods, key=workload.pod_name))
        costs = {pod: run.charge(pod) for pod in ordered}
        nodes = {pod: run.pods[pod].node for pod in ordered}
        return self.entry(
            Candidate(
                job=workload.name,
                pods=ordered,
                gang=self._gang_of(workload.name),
                costs=costs,
                nodes=nodes,
                nothing=self._state.axes.zero,
                reserved=frozenset(run.reserved),
            )
        )


def place_in_line(entry: Entry) -> JobKey:
    """Return what entries are ordered by."""
    return entry[0]
