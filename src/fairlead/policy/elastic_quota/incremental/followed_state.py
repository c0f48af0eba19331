"""A state that a policy follows through its changes, so that a plan costs what changed.

Only in our own mode: with quirks of the plugin, too much may be why a pod waits. Every plan is made
anew there, and where quotas hang on one another.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.incremental.outlook import Outlook
from fairlead.policy.elastic_quota.incremental.quick_cycle import QuickCycle
from fairlead.policy.elastic_quota.incremental.room_count import RoomCount
from fairlead.policy.elastic_quota.incremental.waiting_line import WaitingLine, kind_of
from fairlead.policy.elastic_quota.incremental.wants import wants_of
from fairlead.policy.elastic_quota.planning_context import Desk, NodeKnowledge
from fairlead.policy.elastic_quota.quota.quota_books import QuotaBooks
from fairlead.policy.elastic_quota.quota.readiness import readiness
from fairlead.policy.elastic_quota.scheduling.cut_plan import may_be_cut, until_cut
from fairlead.policy.elastic_quota.scheduling.cycle import Cycle, why_not_to_be_tried
from fairlead.policy.elastic_quota.scheduling.newcomers import Newcomers
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class FollowedState:
    """What a policy remembers of one state."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Begin to follow *state*, if that is possible. Cost: all that there is, once."""
        self.is_possible: Final = settings.quirks == PluginQuirks() and all(
            each.parent is None for each in state.queues.values()
        )
        self.looked_at_the_clock = False
        self.is_cut = False
        self.spared: frozenset[WorkloadName] = frozenset()
        self._state = state
        self._settings = settings
        self._layout = state.layout.moment
        self._moment: int | None = None  # up to which the changes were read
        self._queue_of: dict[WorkloadName, QueueName] = {}
        if self.is_possible:
            self._knowledge = NodeKnowledge(state, settings)
            self._refusals = Refusals()
            self._books = QuotaBooks(state, self._knowledge.charges, settings.quirks)
            self._line = WaitingLine()
            self._outlook = Outlook(
                self._line, self._books, self._knowledge.holders, RoomCount(state)
            )

    def serves(self, state: ClusterState) -> bool:
        """Return whether it is this state that is followed, and all its changes are known."""
        if state is not self._state or state.layout.moment != self._layout:
            return False
        return self._moment is None or state.touched.remembers(self._moment)

    def changes(self, now_ms: int, at_most_starts: int | None = None) -> list[Decision]:
        """Return the decisions of a plan that are no waits; the state is left as it was."""
        self._catch_up()
        newcomers = Newcomers(self._state)
        while True:
            decisions = self._try(now_ms, newcomers, at_most_starts)
            if newcomers.are_settled(decisions):
                break
        self.spared = frozenset(newcomers.spared)
        return decisions

    def _try(self, now_ms: int, newcomers: Newcomers, at_most_starts: int | None) -> list[Decision]:
        self._refusals.next_plan()
        desk = Desk(
            self._state, self._settings, now_ms, self._knowledge, newcomers.spared, self._books
        )
        cycle = Cycle(desk, self._refusals, newcomers.held_back)
        quick = QuickCycle(desk, cycle, self._line, self._outlook, newcomers.held_back)
        if at_most_starts is not None and not may_be_cut(desk, at_most_starts):
            at_most_starts = None
        mark = desk.mark()
        try:
            decisions, self.is_cut = until_cut(cycle, quick.decisions(), at_most_starts)
            return decisions
        finally:
            desk.roll_back(mark)
            self.looked_at_the_clock = desk.looked_at_the_clock

    def _catch_up(self) -> None:
        state = self._state
        names: Sequence[WorkloadName]
        if self._moment is None:
            names = list(state.workloads)
        else:
            names = state.touched.since(self._moment)
        self._moment = state.touched.moment
        stirred: dict[QueueName, None] = {}
        for name in names:
            queue = self._queue_of.pop(name, None)
            if queue is not None:
                stirred[queue] = None
            self._line.drop(name)
            workload = state.workloads.get(name)
            if workload is not None:
                self._queue_of[name] = workload.queue
                stirred[workload.queue] = None
                self._read(workload)
        for queue in stirred:
            if queue in state.queues:
                self._books.read_again(queue, state.sums[queue])

    def _read(self, workload: Workload) -> None:
        """Let a workload wait in line, if it does and may be tried."""
        state = self._state
        run = state.runs.get(workload.name)
        if run is not None and len(run.pods) == workload.pod_count():
            return
        if workload.name in state.holds.workloads:
            return
        ready = readiness(state, workload)
        queue = workload.queue if workload.queue in state.queues else None
        if why_not_to_be_tried(workload, ready, queue) is not None:
            return
        if workload.name in state.promised:
            self._line.put(workload, None)
            return
        wants = wants_of(state, self._knowledge.charges, workload, ready)
        self._line.put(workload, kind_of(workload, queue, ready, wants))
