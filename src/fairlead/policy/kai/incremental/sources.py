"""What is kept of a state from cycle to cycle, and updated where the state changed.

A search looks at the first candidates of a queue, and a cycle has many searches. So the list of
candidates of a queue stays the same object until a job in it changes, also when a trial was undone.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.actions.sources import node_finder, waiting_pods
from fairlead.policy.kai.incremental.pending_queues import IncrementalPendingQueues
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.jobs.alike import JobClasses
from fairlead.policy.kai.jobs.stale_gangs import (
    IncompleteGangs,
    StaleGangs,
    is_broken,
    stale_since_ms,
)
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import (
    OrderedCandidate,
    candidate_of,
    order_key,
)


class IncrementalSources:
    """Everything that the rules read of one state. Law: each answer is that of `PlainSources`."""

    def __init__(self, state: ClusterState, settings: KaiSettings) -> None:
        """Track *state* for cycles with *settings*."""
        self.state = state
        self.finder = node_finder(state, settings)
        self.shares = IncrementalShares(state, settings.k)
        self.candidates = IncrementalCandidates(state)
        self.classes = JobClasses(state)
        self.pending = IncrementalPendingQueues(state, self.classes)
        incomplete = IncrementalIncompleteGangs(state)
        self.stale_gangs = StaleGangs(state, incomplete.read)
        self.waiting_pods = waiting_pods(state)

    def begin_cycle(self) -> None:
        """Forget the classes of departed jobs, if they are many."""
        self.classes.drop_departed()

    def division(self) -> IncrementalShares:
        """Return the division of the cluster as of now."""
        self.shares.catch_up()
        return self.shares


class _ChangedWorkloads:
    """Reads the names of the workloads of one state that changed since the last time."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._read_at: int | None = None  # None: nothing was read

    def read(self) -> Iterable[WorkloadName] | None:
        """Return the names, or None if all workloads must be read again."""
        touched, read_at = self._state.touched, self._read_at
        self._read_at = touched.moment
        if read_at is None or not touched.remembers(read_at):
            return None
        return touched.since(read_at) if touched.moment != read_at else ()


class IncrementalIncompleteGangs:
    """The incomplete gangs of one state, updated where it changed.

    Searched anew in every cycle, a day of Philly's log takes 3.6 times as long.
    """

    def __init__(self, state: ClusterState) -> None:
        """Track *state*. Nothing is read yet."""
        self._state = state
        self._changes = _ChangedWorkloads(state)
        self._broken: set[WorkloadName] = set()
        self._remembered: set[WorkloadName] = set()

    def read(self) -> IncompleteGangs:
        """Return the incomplete gangs. Law: those of `find_incomplete`. Cost: the changed jobs."""
        names = self._changes.read()
        if names is None:
            self._broken.clear()
            self._remembered.clear()
            names = {*self._state.runs, *self._state.memories}
        for name in names:
            self._broken.discard(name)
            self._remembered.discard(name)
            if stale_since_ms(self._state, name) is not None:
                self._remembered.add(name)
            if is_broken(self._state, name):
                self._broken.add(name)
        return IncompleteGangs(self._broken, self._remembered)


class _KnownJob(NamedTuple):
    """A job as it was when it was read."""

    workload: Workload
    pods: Mapping[PodId, Placed]
    candidate: OrderedCandidate | None


class IncrementalCandidates:
    """Preemptible jobs with a place, by leaf, in service order."""

    def __init__(self, state: ClusterState) -> None:
        """Track *state*. Nothing is read yet."""
        self._state = state
        self._read_at: int | None = None  # None: nothing was read
        self._lists: dict[QueueName, list[OrderedCandidate]] = {}
        self._by_job: dict[QueueName, dict[WorkloadName, OrderedCandidate]] = {}  # of each list
        self._changed: dict[QueueName, set[WorkloadName]] = {}  # jobs changed since it was made
        self._lowest: dict[QueueName, int | None] = {}
        self._known: dict[WorkloadName, _KnownJob] = {}
        self._running: dict[QueueName, dict[WorkloadName, None]] = {}
        self._queue_of: dict[WorkloadName, QueueName] = {}  # of each running job

    def of(self, queue: QueueName) -> list[OrderedCandidate]:
        """Return the candidates of a leaf as of now; the caller must not change the list.

        Law: equal to `Candidates.of`, and the same list until a job of the leaf changes. Cost: the
        changed jobs, and a copy in C.
        """
        self._catch_up()
        known = self._lists.get(queue)
        changed = self._changed.pop(queue, None)
        if known is None:
            known = self._lists[queue] = self._read(self._running.get(queue, ()))
            self._by_job[queue] = {each[1].job: each for each in known}
        elif changed:
            known = self._lists[queue] = self._updated(queue, known, changed)
        return known

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of the candidates of a leaf; None if it has none.

        Cost: once, a short look at its workloads; the list itself is not made.
        """
        self._catch_up()
        if queue not in self._lowest:
            running = [self._state.workloads[name] for name in self._running.get(queue, ())]
            priorities = [each.priority for each in running if each.preemptible]
            self._lowest[queue] = min(priorities, default=None)
        return self._lowest[queue]

    def _catch_up(self) -> None:
        touched = self._state.touched
        if touched.moment == self._read_at:
            return
        if self._read_at is not None and touched.remembers(self._read_at):
            for name in touched.since(self._read_at):
                self._update(name)
        else:
            for memory in (self._lists, self._changed, self._lowest, self._known, self._running):
                memory.clear()
            self._by_job.clear()
            self._queue_of.clear()
            for name in self._state.runs:
                self._update(name)
        self._read_at = touched.moment

    def _update(self, name: WorkloadName) -> None:
        """Note that something about a job changed, maybe its queue."""
        workload = self._state.workloads.get(name)
        before = self._queue_of.pop(name, None)
        if before is not None:
            del self._running[before][name]
            self._note_change(before, name)
        if workload is not None and name in self._state.runs:
            queue = self._queue_of[name] = workload.queue
            self._running.setdefault(queue, {})[name] = None
            self._note_change(queue, name)
        else:
            self._known.pop(name, None)

    def _note_change(self, queue: QueueName, name: WorkloadName) -> None:
        self._lowest.pop(queue, None)
        if queue in self._lists:
            self._changed.setdefault(queue, set()).add(name)

    def _updated(
        self, queue: QueueName, known: list[OrderedCandidate], names: Set[WorkloadName]
    ) -> list[OrderedCandidate]:
        """Return a list with *names* as they are now; the same list if nothing differs."""
        there, by_job = self._running.get(queue, {}), self._by_job[queue]
        now = {each[1].job: each for each in self._read([n for n in names if n in there])}
        different = [name for name in names if now.get(name) != by_job.get(name)]
        if not different:
            return known
        made = known.copy()
        for name in different:
            if (before := by_job.pop(name, None)) is not None:
                del made[bisect_left(made, before[0], key=order_key)]
        for name in different:
            if (candidate := now.get(name)) is not None:
                by_job[name] = candidate
                insort(made, candidate, key=order_key)
        return made

    def _read(self, names: Iterable[WorkloadName]) -> list[OrderedCandidate]:
        """Return the candidates among running jobs; only changed jobs are read again."""
        runs, known = self._state.runs, self._known
        found = []
        for name in names:
            run = runs[name]
            workload, before = self._state.workloads[name], known.get(name)
            if before is None or before.workload is not workload or before.pods != run.pods:
                candidate = candidate_of(self._state, name)
                before = known[name] = _KnownJob(workload, dict(run.pods), candidate)
            if before.candidate is not None:
                found.append(before.candidate)
        found.sort(key=order_key)
        return found
