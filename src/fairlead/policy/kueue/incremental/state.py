"""A state that a policy follows through its changes, so that a plan costs what changed.

Only where few facts decide what happens to a pending workload: fair sharing is on without our own
options but those that end by the clock, and every queue is active, has the strategy BestEffortFIFO,
reclaims from any workload and has one flavor of each resource. Elsewhere, and where a workload must
leave without being preempted, every plan is made anew.
"""

from heapq import heappop, heappush

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.cycle.turns import rounds_of
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.incremental.source import IncrementalSource
from fairlead.policy.kueue.incremental.tree import Known, PendingEntry, TrackedTree
from fairlead.policy.kueue.pending.admissibility import Admissibility, is_active
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.reasons.decisions import TreeDecisions
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import (
    admitted_workload,
    empty_snapshot,
    rules_of,
    trees_of,
)
from fairlead.policy.kueue.workloads import NOT_YET_SHARING, is_preempting, promise_to


def is_supported(state: ClusterState, settings: KueueSettings) -> bool:
    """Return whether changes of *state* can be followed under *settings*. Cost: its queues."""
    is_simple = (
        settings.fair_sharing
        and settings.admission_fair_sharing is None
        and not settings.feature_gates
        and not settings.options.ends_loops
    )
    if not is_simple or any(each.drained for each in state.catalogue.local_queues.values()):
        return False
    rules = rules_of(state, state.tree_order())
    return all(is_active(state, each) and _is_simple(each) for each in rules.values())


def _is_simple(rules: ClusterQueue) -> bool:
    return (
        rules.queueing_strategy == "BestEffortFIFO"
        and rules.preemption.reclaim_within_cohort == "Any"
        and rules.preemption.within_cluster_queue in ("Never", "LowerPriority")
        and all(len(group.flavors) == 1 for group in rules.resource_groups)
    )


class IncrementalState:
    """What a policy remembers of one state."""

    def __init__(self, state: ClusterState, settings: KueueSettings) -> None:
        """Begin to follow *state*, if that is possible. Cost: all that there is, once."""
        self.is_possible = is_supported(state, settings)
        self._state = state
        self._settings = settings
        self._layout = state.layout.moment
        self._moment: int | None = None  # up to which changes were read
        self._demands = DemandReader(state, settings)
        self._admissibility = Admissibility(state, now_ms=0)
        self._restraints = PreemptionRestraints(state, settings, now_ms=0)
        self._trees = [
            TrackedTree(empty_snapshot(state, names), state.axes, settings)
            for names in trees_of(state)
            if self.is_possible
        ]
        self._by_queue = {name: tree for tree in self._trees for name in tree.queues}
        self._tree_of: dict[WorkloadName, TrackedTree] = {}
        self._held_back: set[WorkloadName] = set()  # from queueing or preempting, for a time
        self._deactivated: set[WorkloadName] = set()  # by their owners, while admitted
        self._shrinking: set[WorkloadName] = set()  # may be admitted in part
        self._due: list[tuple[int, WorkloadName]] = []  # a heap: when to read which workload again
        self._due_at: dict[WorkloadName, int] = {}  # the last of these times for each

    @property
    def time_dependent(self) -> bool:
        """Whether a workload may queue, preempt, or be preempted later and not yet."""
        return bool(self._held_back or self._settings.options.min_run_time_ms)

    @property
    def valid_until_ms(self) -> int | None:
        """When the time may matter next; None: not as things stand."""
        return self._due[0][0] if self._due else None

    def serves(self, state: ClusterState, now_ms: int) -> bool:
        """Return whether it follows this state, up to now, and all changes are known.

        What ended at a time is not known any more for an earlier time.
        """
        if state is not self._state or state.layout.moment != self._layout:
            return False
        if now_ms < self._restraints.now_ms:
            return False
        return self._moment is None or state.touched.remembers(self._moment)

    def changes(self, now_ms: int, at_most_starts: int | None = None) -> list[Decision] | None:
        """Return what a plan changes, up to so many starts; None if it has to be made in full."""
        self._catch_up(now_ms)
        if self._state.holds.victims:
            return None  # admitted workloads that are no candidates are not followed
        if self._deactivated or (self._shrinking and self._settings.keeps_promises):
            return None
        decisions: list[Decision] = []
        for tree in self._trees:
            tree.settle_promises()
            if tree.is_at_rest() or (at_most_starts is not None and at_most_starts <= 0):
                continue
            source = IncrementalSource(tree, self._state.axes, self._settings)
            rounds = rounds_of(source, self._settings, self._restraints)
            rounds.pods_left_to_start = at_most_starts
            decisions += TreeDecisions(self._state, rounds).decisions()
            at_most_starts = rounds.pods_left_to_start
        return decisions

    def _catch_up(self, now_ms: int) -> None:
        state = self._state
        names = set(state.workloads if self._moment is None else state.touched.since(self._moment))
        for tree in self._trees:
            names |= tree.decided
            tree.decided.clear()
        while self._due and self._due[0][0] <= now_ms:
            at_ms, name = heappop(self._due)
            names.add(name)
            if self._due_at.get(name) == at_ms:
                del self._due_at[name]
        self._moment = state.touched.moment
        self._admissibility.now_ms = self._restraints.now_ms = now_ms
        for name in sorted(names):
            self._read(name, now_ms)

    def _read(self, name: WorkloadName, now_ms: int) -> None:
        self._held_back.discard(name)
        self._deactivated.discard(name)
        self._shrinking.discard(name)
        workload = self._state.workloads.get(name)
        before = self._tree_of.pop(name, None)
        tree = None if workload is None else self._by_queue.get(workload.queue)
        if before is not None and before is not tree:
            before.read(name, None)
        if workload is not None and tree is not None:
            tree.read(name, self._current(workload, now_ms))
            self._tree_of[name] = tree

    def _current(self, workload: Workload, now_ms: int) -> Known | None:
        """Return what *workload* is now in its tree; None if it may not queue."""
        name = workload.name
        if name in self._state.runs:
            if not workload.active and workload.obstacle is None:
                self._deactivated.add(name)
            admitted = admitted_workload(
                self._state, name, self._settings, now_ms, is_drained=False
            )
            if admitted.is_protected:
                until_ms = admitted.reserved_ms + self._settings.options.min_run_time_ms
                self._read_again(name, until_ms)
            return admitted
        reason = self._admissibility.inadmissible_reason(workload)
        if reason is not None and reason.remaining_ms is not None:
            self._hold_back(name, now_ms + reason.remaining_ms)
        if reason is not None or not workload.pod_count():
            return None
        pending = self._demands.pending(workload, self._rules(workload.queue))
        if pending.may_shrink():
            self._shrinking.add(name)
        delay = self._restraints.preemption_delay(pending)
        if delay is not None:
            self._hold_back(name, delay.until_ms)
            pending = replace(pending, restraint=NOT_YET_SHARING)
        return PendingEntry(
            pending, is_preempting(self._state, name), promise_to(self._state, name)
        )

    def _hold_back(self, name: WorkloadName, until_ms: int) -> None:
        self._held_back.add(name)
        self._read_again(name, until_ms)

    def _read_again(self, name: WorkloadName, at_ms: int) -> None:
        if self._due_at.get(name) != at_ms:
            self._due_at[name] = at_ms
            heappush(self._due, (at_ms, name))

    def _rules(self, queue: QueueName) -> ClusterQueue:
        return self._by_queue[queue].snapshot.rules[queue]
