"""The workloads of one cohort tree as a plan reads them: admitted, pending, or not admissible.

Quota is shared inside the tree below one root and never between trees, so each tree is planned on
its own. Workloads are read one by one, so a tree can be read anew for each plan, or kept and
brought up to date.
"""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.memory import Promise
from fairlead.model.plan import LeftPending, Reason
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.pending.admissibility import Admissibility, drain_code, is_active
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage
from fairlead.policy.kueue.pending.queue import PendingQueue, UsageOrderedQueue, pending_order
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import admitted_workload, quota_tree, rules_of
from fairlead.policy.kueue.snapshot.size import WorkloadSizes
from fairlead.policy.kueue.snapshot.snapshot import Snapshot, without_evicted
from fairlead.policy.kueue.workloads import (
    AdmittedWorkload,
    PendingWorkload,
    is_preempting,
    promise_to,
)
from fairlead.policy.obstacles import left_pending


class AdmittedEntry(Struct, frozen=True, gc=False):
    """An admitted workload; one that is no candidate uses quota and is never preempted."""

    workload: AdmittedWorkload
    is_candidate: bool


class PendingEntry(Struct, frozen=True, gc=False):
    """A workload that queues; ``is_preempting``: others were evicted for it."""

    pending: PendingWorkload
    is_preempting: bool
    promise: Promise | None


class InadmissibleEntry(Struct, frozen=True, gc=False):
    """A workload that may not queue."""

    queue: QueueName
    reason: Reason


WorkloadEntry: TypeAlias = AdmittedEntry | PendingEntry | InadmissibleEntry


class Reading(Struct, frozen=True, gc=False):
    """What a workload is at a moment, and when time alone may change that; None: never."""

    entry: WorkloadEntry
    until_ms: int | None = None


class WorkloadReader:
    """Reads the workloads of one state at one moment."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Read nothing yet; the queues stay as they are, and `at` says what time it is later."""
        self._state = state
        self._settings = settings
        self.demands = DemandReader(state, settings)
        self.admissibility = Admissibility(state, now_ms)
        self.restraints = PreemptionRestraints(state, settings, now_ms)
        self._is_active: dict[QueueName, bool] = {}
        self.sizes = WorkloadSizes(state, settings)
        self.held = state.holds.victim_workloads()

    def at(self, now_ms: int) -> None:
        """Read as of *now_ms* from now on, with what is held now."""
        self.admissibility.now_ms = now_ms
        self.restraints.now_ms = now_ms
        self.held = self._state.holds.victim_workloads()

    @property
    def now_ms(self) -> int:
        """As of when workloads are read."""
        return self.restraints.now_ms

    def read(self, workload: Workload, rules: ClusterQueue) -> Reading | None:
        """Return what *workload* is in its queue, whose *rules* these are; None: nothing."""
        if workload.name in self._state.runs:
            return self._admitted(workload, rules)
        if not workload.pod_count():
            return None
        reason = self.admissibility.inadmissible_reason(workload)
        if reason is not None:
            remaining_ms = reason.remaining_ms
            until_ms = None if remaining_ms is None else self.now_ms + remaining_ms
            return Reading(InadmissibleEntry(workload.queue, reason), until_ms)
        pending = self.demands.pending(workload, rules)
        pending = replace(pending, restraint=self.restraints.of(pending))
        delay = self.restraints.preemption_delay(pending)
        preempting = is_preempting(self._state, workload.name)
        promise = promise_to(self._state, workload.name) if preempting else None
        entry = PendingEntry(pending, preempting, promise)
        return Reading(entry, None if delay is None else delay.until_ms)

    def _admitted(self, workload: Workload, rules: ClusterQueue) -> Reading:
        """Return an admitted workload.

        Kueue preempts nothing in a queue that is not active. A workload that leaves one frees quota
        all the same, which matters where it is promised. One that the caller holds is no candidate.
        """
        name, held = workload.name, self.held
        is_drained = name not in held and drain_code(self._state, workload) is not None
        admitted = admitted_workload(
            self._state, name, self._settings, self.now_ms, is_drained=is_drained
        )
        size = self.sizes.of(admitted.queue, admitted.usage)
        if size:
            admitted = replace(admitted, size=size)
        until_ms = None
        if admitted.is_protected:
            until_ms = admitted.reserved_ms + self._settings.options.min_run_time_ms
        if admitted.is_evicted:
            is_candidate = self._settings.keeps_promises or self._active(workload.queue, rules)
        else:
            is_candidate = name not in held and self._active(workload.queue, rules)
        return Reading(AdmittedEntry(admitted, is_candidate), until_ms)

    def _active(self, queue: QueueName, rules: ClusterQueue) -> bool:
        found = self._is_active.get(queue)
        if found is None:
            found = self._is_active[queue] = is_active(self._state, rules)
        return found


class CohortTree:
    """The quota, the admitted and the pending workloads of one tree."""

    def __init__(
        self,
        state: ClusterState,
        names: list[QueueName],
        reader: WorkloadReader,
        settings: KueueSettings,
    ) -> None:
        """Read all workloads of the queues *names*, which are one tree, parents first."""
        self.rules = rules_of(state, names)
        self.queues = {name: PendingQueue((), rules, None) for name, rules in self.rules.items()}
        self.waited_for: dict[QueueName, PendingQueue] = {}  # those with pending workloads
        self.promises: dict[WorkloadName, Promise] = {}  # to workloads that preempt
        self._state = state
        self._settings = settings
        self.sizes = reader.sizes
        self.until_ms: dict[WorkloadName, int] = {}  # when time alone may change an entry
        self._preempting: dict[QueueName, dict[WorkloadName, PendingEntry]] = {}
        self._inadmissible: dict[QueueName, dict[WorkloadName, Reason]] = {}
        admitted = []
        for queue, rules in self.rules.items():
            for name in state.queued(queue):
                entry = self._note(name, reader.read(state.workloads[name], rules))
                if isinstance(entry, AdmittedEntry):
                    admitted += [entry.workload] if entry.is_candidate else []
                elif entry is not None:
                    self._add_waiting(name, entry)
        parents = {name: state.queues[name].parent for name in names}
        tree = quota_tree(state, names, self.rules)
        self.snapshot = Snapshot(tree, parents, self.rules, admitted)
        self.decided_on = self.snapshot
        if settings.keeps_promises:
            self.decided_on = without_evicted(self.snapshot)

    def _note(self, name: WorkloadName, reading: Reading | None) -> WorkloadEntry | None:
        """Return what was read of a workload, and note until when it holds."""
        if reading is None:
            return None
        if reading.until_ms is not None:
            self.until_ms[name] = reading.until_ms
        return reading.entry

    def _add_waiting(self, name: WorkloadName, entry: PendingEntry | InadmissibleEntry) -> None:
        if isinstance(entry, InadmissibleEntry):
            self._inadmissible.setdefault(entry.queue, {})[name] = entry.reason
            return
        queue = entry.pending.queue
        self.queues[queue].add(entry.pending)
        self.waited_for[queue] = self.queues[queue]
        if entry.is_preempting:
            self._preempting.setdefault(queue, {})[name] = entry

    def begin(self, local_usage: LocalQueueUsage | None) -> None:
        """Go to the first workload of each queue, because a plan begins.

        A workload that waits for evicted ones is the head of its queue.
        """
        self.snapshot.local_usage = self.decided_on.local_usage = local_usage
        self.promises = {}
        for name, queue in self.waited_for.items():
            first = None
            if name in self._preempting:
                entry = min(self._preempting[name].values(), key=_seniority)
                first = entry.pending.name
                if entry.promise is not None:
                    self.promises[first] = entry.promise
            if local_usage is not None and local_usage.orders_by_usage(name):
                pending, rules = queue.workloads(), self.rules[name]
                queue = UsageOrderedQueue(pending, rules, first, local_usage)
                self.queues[name] = self.waited_for[name] = queue
            elif first is not None or not queue.is_set_aside:
                queue.restart(first)

    def preempting_queues(self) -> list[PendingQueue]:
        """Return the queues whose head waits for evicted workloads, in the order of the tree."""
        if not self._preempting:
            return []
        return [queue for queue in self.queues.values() if queue.preempting is not None]

    def inadmissible(self) -> Iterator[LeftPending]:
        """Yield the workloads that may not queue, in the order of their queues."""
        for queue in self.rules:
            reasons = self._inadmissible.get(queue)
            if reasons:
                usage = self.snapshot.local_usage
                for name in pending_order(self._state, queue, self._settings, usage):
                    if name in reasons:
                        yield left_pending(self._state.workloads[name], reasons[name])


def _seniority(entry: PendingEntry) -> tuple[int, int, WorkloadName]:
    pending = entry.pending
    return -pending.priority, pending.queued_ms, pending.name
