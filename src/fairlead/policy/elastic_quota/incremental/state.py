"""A state that a policy follows through its changes, so that a plan costs what changed.

Only in our own mode: with quirks of the plugin, too much may be why a pod waits. Every plan is made
anew there, and where quotas hang on one another.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.incremental.feasibility import Outlook, RoomCount
from fairlead.policy.elastic_quota.incremental.pending_groups import (
    KindLine,
    Turn,
    WaitingLine,
    kind_of,
    wants_of,
)
from fairlead.policy.elastic_quota.planning_context import Desk, NodeKnowledge
from fairlead.policy.elastic_quota.quota.pending_pod import readiness
from fairlead.policy.elastic_quota.quota.usage import QuotaBooks
from fairlead.policy.elastic_quota.scheduling.cycle import (
    Cycle,
    may_be_cut,
    until_cut,
    why_not_to_be_tried,
)
from fairlead.policy.elastic_quota.scheduling.immediate_eviction import Newcomers
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class QuickCycle:
    """Decides about those who wait in one state."""

    def __init__(
        self,
        desk: Desk,
        cycle: Cycle,
        line: WaitingLine,
        outlook: Outlook,
        held_back: Mapping[WorkloadName, WorkloadName],
    ) -> None:
        """Let *cycle* decide on *desk* about who is in *line*; who is *held_back* waits."""
        self._desk: Final = desk
        self._cycle: Final = cycle
        self._line: Final = line
        self._outlook: Final = outlook
        self._held_back: Final = held_back
        self._open: list[KindLine] = []
        self._left: dict[KindLine, KindLine] = {}  # lines without those who are held back

    def decisions(self) -> Iterator[Decision]:
        """Yield what a `Cycle` would but its waits, in the same order.

        Cost: each kind of wants, and a turn for each who may get something.
        """
        for turn in self._line.promised:
            self._cycle.take_in(self._workload(turn))
        self._look_around()
        last: Turn | None = None
        while (found := self._next(last)) is not None:
            last, line = found
            workload = self._workload(last)
            if workload.name in self._held_back:
                continue
            has_changed = False
            for each in self._cycle.turn(workload):
                if not isinstance(each, Wait):
                    has_changed = True
                    yield each
            if has_changed or line is None:
                self._look_around()
            elif self._is_like_its_kind(workload):
                self._open.remove(line)

    def _workload(self, turn: Turn) -> Workload:
        return self._desk.state.workloads[WorkloadName(turn[-1])]

    def _look_around(self) -> None:
        """Find out who may get something, after something happened."""
        self._outlook.catch_up()
        groups = self._line.groups.values()
        self._open = [line for group in groups for line in self._outlook.open_lines(group)]

    def _next(self, last: Turn | None) -> tuple[Turn, KindLine | None] | None:
        """Return who has its turn after *last*, and its line; None: nobody has."""
        promised = self._line.promised
        at = 0 if last is None else bisect_right(promised, last)
        best: tuple[Turn, KindLine | None] | None = None
        if at < len(promised):
            best = (promised[at], None)
        for line in self._open:
            turn = self._without_held_back(line).after(last)
            if turn is not None and (best is None or turn < best[0]):
                best = (turn, line)
        return best

    def _without_held_back(self, line: KindLine) -> KindLine:
        """Return a line in which nobody is held back: of thousands who are alike, many may be."""
        if not self._held_back:
            return line
        left = self._left.get(line)
        if left is None:
            left = self._left[line] = KindLine(line.kind)
            left.turns.extend([turn for turn in line.turns if turn[-1] not in self._held_back])
        return left

    def _is_like_its_kind(self, workload: Workload) -> bool:
        """Return whether nobody looks at more of its pods than their kind tells."""
        desk = self._desk
        firsts = [pods[0] for pods in workload.pod_sets.ids_by_set if pods]
        askers = [desk.asker(workload, pod) for pod in firsts]
        return not any(map(desk.places.neighbours_matter, askers))


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
