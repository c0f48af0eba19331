"""The engine on a virtual clock.

The policy is asked in cycles, as on a live cluster: when something changed, but not more often than
the rules say, or at a fixed period. Its decisions are carried out, and everything that happens is
reported to a listener. Nothing is remembered of finished jobs, so memory is bounded by live work.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeAlias

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName
from fairlead.model.collector import rare_collections
from fairlead.model.events import NodeAdded, NodeRemoved
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy
from fairlead.sim.engine.event_queue import EventOrder, EventQueue
from fairlead.sim.engine.events import CapacityChanged
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.live_jobs import Listener, LiveJobs
from fairlead.sim.engine.past_use import PastUse
from fairlead.sim.engine.simulation_rules import NodeChange, SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker

LONGEST_YEARS: Final = 300
LONGEST_MS: Final = LONGEST_YEARS * 365 * 86_400_000
"""The longest run without a duration; a duration is not longer either."""

PATIENCE_MS: Final = 7 * 86_400_000
"""Where nothing runs or comes, time alone changes a decision within hours, or never."""

Watcher: TypeAlias = Callable[[int, int, Collection[QueueName]], None]
"""Is called before time passes: from when until when the state stays as it is, and which queues may
hold or request something else than at the last call."""


class Work(Protocol):
    """Where jobs come from."""

    def jobs(self) -> Iterator[Job]:
        """Yield jobs in the order in which they are submitted."""

    def on_started(self, job: Job, at_ms: int) -> Iterable[Job]:
        """Return what is submitted because *job* has started."""

    def on_finished(self, job: Job, at_ms: int) -> Iterable[Job]:
        """Return what is submitted because *job* is done."""


class Simulation:
    """One run of one policy over some work."""

    def __init__(
        self,
        state: ClusterState,
        policy: Policy,
        maker: WorkloadMaker,
        work: Work,
        rules: SimulationRules,
        listener: Listener,
        *,
        past_use: PastUse | None = None,
        node_changes: Sequence[NodeChange] = (),
        watcher: Watcher | None = None,
    ) -> None:
        """Begin at the start, with *state* as it is then; it is changed as time goes by."""
        self.state = state
        self.now_ms = rules.start_ms
        self.cycles = 0
        self._policy = policy
        self._work = work
        self._rules = rules
        self._listener = listener
        self._past_use = past_use
        self._watcher = watcher
        self._events = EventQueue()
        self._jobs = LiveJobs(
            state, maker, rules, self._events, listener, self._changed, self._ordered
        )
        self._jobs.on_started = lambda at_ms, job: self._submit_all(work.on_started(job, at_ms))
        self._jobs.on_finished = lambda at_ms, job: self._submit_all(work.on_finished(job, at_ms))
        self._may_cycle_ms = rules.start_ms  # when one may be held, as far as the last one decides
        self._cycle_at_ms: int | None = None  # when the next one is due; None: not known
        self._changed_ms = rules.start_ms  # when something last happened to jobs or nodes
        self._changed_queues: dict[QueueName, None] = {}  # since the watcher was called
        self._is_settled = False  # whether a cycle changed nothing, and nothing happened since
        self._to_come = 0  # submissions and changes of the cluster
        self._arrivals = work.jobs()
        self._begin(node_changes)

    def run(self, may_go_on: Callable[[], bool] = lambda: True) -> bool:
        """Let time pass until the end, or until nothing more can happen.

        *may_go_on* is asked each time before time passes; returns whether it always said yes. Else
        the time until the next thing has passed too, so that all is as if it were to end there.
        """
        with rare_collections():
            return self._pass_time(may_go_on)

    def _pass_time(self, may_go_on: Callable[[], bool]) -> bool:
        until_ms = self._rules.until_ms
        while (next_ms := self._next_ms()) is not None:
            if next_ms > self.now_ms:
                if until_ms is None:
                    self._check_length(next_ms)
                if self._watcher is not None:
                    self._watcher(self.now_ms, next_ms, self._changed_queues)
                    self._changed_queues.clear()
                is_stopped = next_ms != until_ms and not may_go_on()
                self.now_ms = next_ms
                if is_stopped:
                    return False
            if next_ms == until_ms:
                break
            self._events.step()
        return True

    def _check_length(self, next_ms: int) -> None:
        """Raise `SimulationError` if a run without a duration goes on for too long."""
        if next_ms > self._rules.start_ms + LONGEST_MS:
            raise SimulationError(
                f"not all is done {LONGEST_YEARS} years after the start; add a duration, or let "
                "jobs run for a shorter time"
            )

    def _next_ms(self) -> int | None:
        """Return when something happens, or when it ends; None: nothing more can happen."""
        next_ms, until_ms = self._events.next_ms(), self._rules.until_ms
        if until_ms is None:
            return None if self._is_over() else next_ms
        return until_ms if next_ms is None or next_ms > until_ms else next_ms

    def _is_over(self) -> bool:
        """Return whether nothing runs and nothing will come: pending jobs would wait for ever."""
        if self._to_come or self._jobs.running or self._jobs.awaited:
            return False
        if self._cycle_at_ms is None or self.now_ms - self._changed_ms > PATIENCE_MS:
            return True
        # Of cycles at a fixed period there is always a next one, whatever the last one found.
        is_settled = self._is_settled or not self.state.has_waiting()
        return self._rules.every_ms is not None and is_settled

    def _begin(self, node_changes: Sequence[NodeChange]) -> None:
        start_ms = self._rules.start_ms
        self._report_capacity(start_ms)
        for change in node_changes:
            self._to_come += 1
            self._events.push(change.at_ms, EventOrder.CLUSTER, self._change_nodes, change)
        if self._past_use is not None:
            self._past_use.begin(start_ms)
            self._events.push(start_ms, EventOrder.USAGE, self._publish_usage, None)
        if self._rules.every_ms is not None:
            self._hold_cycle_at(start_ms)
        self._await_arrival()

    def _await_arrival(self) -> None:
        job = next(self._arrivals, None)
        if job is not None:
            self._expect(job, self._arrive)

    def _arrive(self, now_ms: int, job: Job) -> None:
        self._submit(now_ms, job)
        self._await_arrival()

    def _submit_all(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self._expect(job, self._submit)

    def _expect(self, job: Job, call: Callable[[int, Job], None]) -> None:
        if self._rules.until_ms is None and job.submit_ms > self._rules.start_ms + LONGEST_MS:
            raise SimulationError(
                f"job {job.name} would come more than {LONGEST_YEARS} years after the start; "
                "add a duration, or let jobs come more often"
            )
        self._to_come += 1
        self._events.push(job.submit_ms, EventOrder.SUBMIT, call, job)

    def _submit(self, now_ms: int, job: Job) -> None:
        self._to_come -= 1
        self._jobs.submit(now_ms, job)

    def _change_nodes(self, now_ms: int, change: NodeChange) -> None:
        self._changed_ms = now_ms
        self._to_come -= 1
        for name in change.lost:
            self._jobs.lose_node(now_ms, name)
            self.state.apply(NodeRemoved(name))
        for node in change.added:
            self.state.apply(NodeAdded(node))
        self._report_capacity(now_ms)
        if self._past_use is not None:
            self._past_use.write_capacity(now_ms)
        self._wake(now_ms)

    def _report_capacity(self, now_ms: int) -> None:
        capacity = dict(zip(self.state.resources, self.state.capacity, strict=True))
        self._listener(CapacityChanged(at_ms=now_ms, capacity=capacity))

    def _changed(self, now_ms: int, queue: QueueName) -> None:
        """Take notice that *queue* holds or requests other amounts, or has pods evicted."""
        self._changed_ms = now_ms
        self._ordered(now_ms, queue)

    def _ordered(self, now_ms: int, queue: QueueName) -> None:
        """Take notice of another room for *queue*, though nothing happened to its jobs."""
        self._changed_queues[queue] = None
        if self._past_use is not None:
            self._past_use.write(now_ms, queue)
        self._wake(now_ms)

    def _publish_usage(self, now_ms: int, _: None) -> None:
        assert self._past_use is not None
        self._past_use.publish(now_ms)
        self._events.push(
            now_ms + self._past_use.every_ms, EventOrder.USAGE, self._publish_usage, None
        )
        if self.state.has_waiting():
            self._wake(now_ms)

    def _wake(self, now_ms: int) -> None:
        """Let there be a cycle soon, because something changed."""
        self._is_settled = False
        if self._rules.every_ms is None:
            at_ms = self._may_cycle_ms if now_ms < self._may_cycle_ms else now_ms
            if at_ms != self._cycle_at_ms:  # as it is for all but the first since the last cycle
                self._hold_cycle_at(at_ms)

    def _hold_cycle_at(self, at_ms: int) -> None:
        if self._cycle_at_ms is None or at_ms < self._cycle_at_ms:
            self._cycle_at_ms = at_ms
            self._events.push(at_ms, EventOrder.CYCLE, self._cycle, None)

    def _cycle(self, now_ms: int, _: None) -> None:
        if now_ms != self._cycle_at_ms:
            return  # an earlier one was held in its place
        self._cycle_at_ms = None
        self._may_cycle_ms = now_ms + self._rules.at_most_every_ms
        self.cycles += 1
        held = self._jobs.holds(now_ms)
        plan = self._policy.plan(self.state, now_ms, held=held, explain=False)
        self._jobs.carry_out(now_ms, plan.decisions)
        for memory in plan.memories:
            self.state.apply(memory)
        may_differ_later = plan.time_dependent and self.state.has_waiting()
        self._is_settled = not plan.decisions and not may_differ_later
        if self._rules.every_ms is not None:
            self._hold_cycle_at(now_ms + self._rules.every_ms)
        elif plan.decisions:
            self._wake(now_ms)
        elif may_differ_later:
            self._hold_cycle_at(self._look_again_at_ms(plan))
        release_ms = self._jobs.next_release_ms(now_ms)
        if release_ms is not None and self._rules.every_ms is None:
            self._hold_cycle_at(max(release_ms, self._may_cycle_ms))

    def _look_again_at_ms(self, plan: Plan) -> int:
        """Return when time alone may change the plan, or else when to plan again to find out."""
        if plan.valid_until_ms is None:
            return plan.taken_ms + self._rules.look_again_ms
        return max(plan.valid_until_ms, plan.taken_ms + self._rules.at_most_every_ms)
