"""The jobs that hold something and could be asked to give it up, leaf by leaf.

A search looks at the head of each line and seldom far beyond, and there are many searches in a
cycle. So a line is made once and kept, from cycle to cycle, until somebody in it changes: it stays
the same list when a trial was undone.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.node_books import PodKey
from fairlead.model.run import Placed, Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.actions.record import CycleRecord
from fairlead.policy.kai.incremental.pending_queues import JobKey
from fairlead.policy.kai.jobs.gang import Fullness, Gang


class Candidate(NamedTuple):
    """A job that may give way, with its pods that have a place, by name, and what each costs."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    gang: Gang
    costs: Mapping[PodId, Amounts]  # its queue, on the quota axes
    nodes: Mapping[PodId, str | None]
    nothing: Amounts  # what a pod counts for in the order of queues that has only a reservation
    reserved: Set[PodId]
    places: Mapping[PodId, Placed]  # of all its pods, by which it is known to be as before

    def evicted_first(self) -> tuple[PodId, ...]:
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


class VictimGroup(NamedTuple):
    """Pods of one job that give way together."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    costs: Mapping[PodId, Amounts]  # what each pod of the job costs its queue
    nodes: Mapping[PodId, str | None]  # where each of them is

    def members(self) -> list[PodKey]:
        """Return the pods with their job."""
        return [(self.job, pod) for pod in self.pods]


OrderedCandidate: TypeAlias = tuple[JobKey, Candidate]


class _Known(NamedTuple):
    """A job as it was when it was looked at, and what it is in the line."""

    workload: Workload
    pods: Mapping[PodId, Placed]
    entry: OrderedCandidate | None


class CandidatePool:
    """Preemptible jobs with a place, in the order of service: the last would give way first."""

    def __init__(self, state: ClusterState, gang_of: Callable[[WorkloadName], Gang]) -> None:
        """Follow *state*. Nothing is looked at yet."""
        self._state = state
        self._gang_of = gang_of
        self._read_at: int | None = None  # None: nothing was read
        self._lines: dict[QueueName, list[OrderedCandidate]] = {}
        self._entries: dict[
            QueueName, dict[WorkloadName, OrderedCandidate]
        ] = {}  # of those in each line
        self._changed: dict[QueueName, set[WorkloadName]] = {}  # who may have, since they were made
        self._lowest: dict[QueueName, int | None] = {}
        self._known: dict[WorkloadName, _Known] = {}
        self._running: dict[QueueName, dict[WorkloadName, None]] = {}  # who has a place
        self._queue_of: dict[WorkloadName, QueueName] = {}  # of each of them
        self._priority_of: dict[WorkloadName, int] = {}  # of those who could give way
        self._priorities: Counter[int] = Counter()

    def line(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the line of a leaf as it is now, which nobody else may change.

        Law: it is that of a new pool, and the same list until something changes in the leaf. Cost:
        nothing until then; then who changed, and a copy in C.
        """
        self._catch_up()
        line = self._lines.get(queue)
        changed = self._changed.pop(queue, None)
        if line is None:
            line = self._lines[queue] = self._made(self._running.get(queue, ()))
            self._entries[queue] = {entry[1].job: entry for entry in line}
        elif changed:
            line = self._lines[queue] = self._changed_line(queue, line, changed)
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
            running = [self._state.workloads[name] for name in self._running.get(queue, ())]
            priorities = [each.priority for each in running if each.preemptible]
            self._lowest[queue] = min(priorities, default=None)
        return self._lowest[queue]

    def lowest_of_all(self) -> int | None:
        """Return the lowest priority in any leaf; None if nobody could give way.

        Cost: those who changed.
        """
        self._catch_up()
        return min(self._priorities, default=None)

    def entry(self, candidate: Candidate) -> OrderedCandidate:
        """Return a candidate with its place in the order of service, by the pods it still has."""
        workload = self._state.workloads[candidate.job]
        spare = len(candidate.pods) - candidate.gang.minimum()
        fullness = Fullness.AT if spare == 0 else Fullness.ABOVE if spare > 0 else Fullness.BELOW
        key = (-workload.priority, fullness, workload.created_ms, workload.name)
        return key, candidate

    def _catch_up(self) -> None:
        """Take notice of who changed since the last time."""
        touched = self._state.touched
        if touched.moment == self._read_at:
            return
        if self._read_at is not None and touched.remembers(self._read_at):
            for name in touched.since(self._read_at):
                self._take_notice(name)
        else:
            for memory in (self._lines, self._changed, self._lowest, self._known, self._running):
                memory.clear()
            self._entries.clear()
            self._queue_of.clear()
            self._priority_of.clear()
            self._priorities.clear()
            for name in self._state.runs:
                self._take_notice(name)
        self._read_at = touched.moment

    def _take_notice(self, name: WorkloadName) -> None:
        """Take notice that something about a job changed, maybe its queue."""
        workload = self._state.workloads.get(name)
        before = self._queue_of.pop(name, None)
        if before is not None:
            del self._running[before][name]
            self._note_change(before, name)
        if workload is not None and name in self._state.runs:
            queue = self._queue_of[name] = workload.queue
            self._running.setdefault(queue, {})[name] = None
            self._note_change(queue, name)
            self._count(name, workload.priority if workload.preemptible else None)
        else:
            self._known.pop(name, None)
            self._count(name, None)

    def _note_change(self, queue: QueueName, name: WorkloadName) -> None:
        self._lowest.pop(queue, None)
        if queue in self._lines:
            self._changed.setdefault(queue, set()).add(name)

    def _count(self, name: WorkloadName, priority: int | None) -> None:
        """Count the priority of a job; None: it has no place, or could not give it up."""
        before = self._priority_of.pop(name, None)
        if before is not None:
            self._priorities[before] -= 1
            if not self._priorities[before]:
                del self._priorities[before]
        if priority is not None:
            self._priority_of[name] = priority
            self._priorities[priority] += 1

    def _changed_line(
        self, queue: QueueName, line: list[OrderedCandidate], names: Set[WorkloadName]
    ) -> list[OrderedCandidate]:
        """Return a line with those of *names* who are in the leaf now; the same if all is."""
        there, entries = self._running.get(queue, {}), self._entries[queue]
        now = {e[1].job: e for e in self._made([name for name in names if name in there])}
        different = [name for name in names if now.get(name) != entries.get(name)]
        if not different:
            return line
        made = line.copy()
        for name in different:
            if (before := entries.pop(name, None)) is not None:
                del made[bisect_left(made, before[0], key=order_key)]
        for name in different:
            if (entry := now.get(name)) is not None:
                entries[name] = entry
                insort(made, entry, key=order_key)
        return made

    def _made(self, names: Iterable[WorkloadName]) -> list[OrderedCandidate]:
        """Line up jobs that have a place; only those are looked at that were different before."""
        runs, known = self._state.runs, self._known
        line = []
        for name in names:
            run = runs[name]
            workload, before = self._state.workloads[name], known.get(name)
            if before is None or before.workload is not workload or before.pods != run.pods:
                pods = dict(run.pods)
                before = known[name] = _Known(workload, pods, self._entry_of(workload, run, pods))
            if before.entry is not None:
                line.append(before.entry)
        line.sort(key=order_key)
        return line

    def _entry_of(
        self, workload: Workload, run: Run, places: Mapping[PodId, Placed]
    ) -> OrderedCandidate | None:
        """Return a job with its pods that may be asked; None if there are none."""
        if not workload.preemptible:
            return None
        pods = [pod for pod, placed in places.items() if placed.phase != "leaving"]
        if not pods:
            return None
        ordered = tuple(pods if len(pods) == 1 else sorted(pods, key=workload.pod_name))
        costs = {pod: run.charge(pod) for pod in ordered}
        nodes = {pod: places[pod].node for pod in ordered}
        return self.entry(
            Candidate(
                job=workload.name,
                pods=ordered,
                gang=self._gang_of(workload.name),
                costs=costs,
                nodes=nodes,
                nothing=self._state.axes.zero,
                reserved=frozenset(run.reserved),
                places=places,
            )
        )


def order_key(entry: OrderedCandidate) -> JobKey:
    """Return what entries are ordered by."""
    return entry[0]


class EligibleCandidates:
    """The jobs of a pool but for those with a pod that is settled."""

    def __init__(
        self,
        pool: CandidatePool,
        record: CycleRecord,
        spared: Set[PodKey],
        held: Set[WorkloadName] = frozenset(),
        *,
        asks_all: bool,
    ) -> None:
        """Leave out who is *held*, has a pod that is *spared*, or got its place as *record* says.

        *asks_all*: but for those who are held nobody is left out, as in KAI.
        """
        self.settled: set[WorkloadName] = set()
        """Who was found to be left out because its place is new."""
        self.held: set[WorkloadName] = set()
        """Who was found to be left out because it is held."""
        self._pool = pool
        self._record = record
        self._spared = frozenset() if asks_all else spared
        self._held = held
        self._left_out = held | {name for name, _ in self._spared}  # whatever was done so far
        self._asks_all = asks_all
        self._lines: dict[
            QueueName, tuple[list[OrderedCandidate], list[OrderedCandidate]]
        ] = {}  # of all, and of these

    def line(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the line of a leaf as it is now, which nobody else may change.

        Whether a pod is settled changes only with its place. Cost: where anybody is spared or had
        a turn, a glance at each job of the leaf, until something changes in it.
        """
        line = self._pool.line(queue)
        if not self._left_out and (self._asks_all or not self._record.has_touched_any_of(queue)):
            return line
        known = self._lines.get(queue)
        if known is None or known[0] is not line:
            known = self._lines[queue] = line, self._without_settled(line)
        return known[1]

    def special(self) -> Set[QueueName]:
        """Return the leaves in which anybody may be left out, who may be asked at other times."""
        touched = frozenset[QueueName]() if self._asks_all else self._record.touched_queues()
        return touched | self._pool.queues_of(self._left_out) if self._left_out else touched

    def entry(self, candidate: Candidate) -> OrderedCandidate:
        """Return a candidate with its place in the order of service, by the pods it still has."""
        return self._pool.entry(candidate)

    def _without_settled(self, line: list[OrderedCandidate]) -> list[OrderedCandidate]:
        held = {entry[1].job for entry in line if entry[1].job in self._held}
        may_be = [entry for entry in line if self._may_be_settled(entry[1].job)]
        settled = {entry[1].job for entry in may_be if self._is_settled(entry[1])}
        self.held |= held
        self.settled |= settled
        out = held | settled
        return [entry for entry in line if entry[1].job not in out] if out else line

    def _may_be_settled(self, job: WorkloadName) -> bool:
        if self._asks_all:
            return False
        return job in self._left_out or self._record.has_touched(job)

    def _is_settled(self, candidate: Candidate) -> bool:
        """Return whether some of a job is, for the sake of which all of it stays.

        If the others had to go, it would be left of a gang alone.
        """
        pods = [(candidate.job, pod) for pod in candidate.pods]
        return any(pod in self._spared or self._record.is_settled(pod) for pod in pods)
