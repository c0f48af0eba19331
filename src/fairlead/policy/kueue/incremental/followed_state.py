"""A state that a policy follows through its changes, so that a plan costs what changed.

Only where what happens to one who waits can be told from few facts: fair sharing is on without
options of ours but those that end by the clock, and every queue is open, lets others pass, reclaims
from anybody and has one flavor of each resource. Elsewhere, and where somebody must leave without a
claim, every plan is made anew.
"""

from heapq import heappop, heappush

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.incremental.quick_rounds import QuickRounds
from fairlead.policy.kueue.incremental.quick_turns import QuickTurns
from fairlead.policy.kueue.incremental.tree_view import Known, PendingEntry, TrackedTree
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
    is_plain = (
        settings.fair_sharing
        and settings.admission_fair_sharing is None
        and not settings.feature_gates
        and not settings.options.ends_loops
    )
    if not is_plain or any(each.drained for each in state.catalogue.local_queues.values()):
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
        self._moment: int | None = None  # up to which the changes were read
        self._demands = DemandReader(state, settings)
        self._door = Admissibility(state, now_ms=0)
        self._restraints = PreemptionRestraints(state, settings, now_ms=0)
        self._views = [
            TrackedTree(empty_snapshot(state, names), state.axes, settings)
            for names in trees_of(state)
            if self.is_possible
        ]
        self._by_queue = {name: view for view in self._views for name in view.lines}
        self._seen_in: dict[WorkloadName, TrackedTree] = {}
        self._held_back: set[WorkloadName] = set()  # by the clock, from queueing up or from asking
        self._told_off: set[WorkloadName] = set()  # by their owners, though they have quota
        self._shrinking: set[WorkloadName] = set()  # who may be admitted in part
        self._later: list[tuple[int, WorkloadName]] = []  # a heap: when to look at whom again
        self._later_at: dict[WorkloadName, int] = {}  # the last of these times for each

    @property
    def time_dependent(self) -> bool:
        """Whether somebody may queue up, or be asked to give way, later and not yet."""
        return bool(self._held_back or self._settings.options.min_run_time_ms)

    @property
    def holds_until_ms(self) -> int | None:
        """When the clock may matter next; None: not as things stand."""
        return self._later[0][0] if self._later else None

    def serves(self, state: ClusterState, now_ms: int) -> bool:
        """Return whether it is this state that is followed, up to now, and all changes are known.

        What ended by the clock is not known any more for a time before that.
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
            return None  # who uses quota and is not asked is not followed
        if self._told_off or (self._shrinking and self._settings.keeps_promises):
            return None
        decisions: list[Decision] = []
        for view in self._views:
            view.settle_promises()
            if view.is_at_rest() or (at_most_starts is not None and at_most_starts <= 0):
                continue
            eq_class = QuickTurns if self._settings.keeps_promises else QuickRounds
            rounds = eq_class(view, self._state.axes, self._settings, self._restraints)
            rounds.pods_left_to_start = at_most_starts
            decisions += TreeDecisions(self._state, rounds).decisions()
            at_most_starts = rounds.pods_left_to_start
        return decisions

    def _catch_up(self, now_ms: int) -> None:
        state = self._state
        names = set(state.workloads if self._moment is None else state.touched.since(self._moment))
        for view in self._views:
            names |= view.decided
            view.decided.clear()
        while self._later and self._later[0][0] <= now_ms:
            at_ms, name = heappop(self._later)
            names.add(name)
            if self._later_at.get(name) == at_ms:
                del self._later_at[name]
        self._moment = state.touched.moment
        self._door.now_ms = self._restraints.now_ms = now_ms
        for name in sorted(names):
            self._read(name, now_ms)

    def _read(self, name: WorkloadName, now_ms: int) -> None:
        self._held_back.discard(name)
        self._told_off.discard(name)
        self._shrinking.discard(name)
        workload = self._state.workloads.get(name)
        before = self._seen_in.pop(name, None)
        view = None if workload is None else self._by_queue.get(workload.queue)
        if before is not None and before is not view:
            before.read(name, None)
        if workload is not None and view is not None:
            view.read(name, self._known(workload, now_ms))
            self._seen_in[name] = view

    def _known(self, workload: Workload, now_ms: int) -> Known | None:
        """Return what *workload* is now in its tree; None if it may not even queue up."""
        name = workload.name
        if name in self._state.runs:
            if not workload.active and workload.obstacle is None:
                self._told_off.add(name)
            admitted = admitted_workload(
                self._state, name, self._settings, now_ms, is_drained=False
            )
            if admitted.is_protected:
                until_ms = admitted.reserved_ms + self._settings.options.min_run_time_ms
                self._renominate(name, until_ms)
            return admitted
        refusal = self._door.inadmissible_reason(workload)
        if refusal is not None and refusal.remaining_ms is not None:
            self._hold_back(name, now_ms + refusal.remaining_ms)
        if refusal is not None or not workload.pod_count():
            return None
        pending = self._demands.pending(workload, self._rules(workload.queue))
        if pending.may_shrink():
            self._shrinking.add(name)
        preemption_delay = self._restraints.preemption_delay(pending)
        if preemption_delay is not None:
            self._hold_back(name, preemption_delay.until_ms)
            pending = replace(pending, restraint=NOT_YET_SHARING)
        return PendingEntry(
            pending, is_preempting(self._state, name), promise_to(self._state, name)
        )

    def _hold_back(self, name: WorkloadName, until_ms: int) -> None:
        self._held_back.add(name)
        self._renominate(name, until_ms)

    def _renominate(self, name: WorkloadName, at_ms: int) -> None:
        if self._later_at.get(name) != at_ms:
            self._later_at[name] = at_ms
            heappush(self._later, (at_ms, name))

    def _rules(self, queue: QueueName) -> ClusterQueue:
        return self._by_queue[queue].snapshot.rules[queue]
