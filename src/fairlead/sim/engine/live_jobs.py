"""The jobs that are alive in a simulation: what a plan means for them, and when they will be done.

Everything that happens to a job goes through here: into the state, into its progress, and to the
listener.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Placement,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStopped,
)
from fairlead.model.execution.executor import (
    OUTCOME_WITHIN_MS,
    Executor,
    Order,
    apply_decision,
    promised_places,
    redeem,
)
from fairlead.model.execution.remember import forget_promises
from fairlead.model.holds import Holds
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.sim.engine.event_queue import EventOrder, EventQueue
from fairlead.sim.engine.events import (
    Cause,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.faults import DrawnFates, Fate
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.job_progress import JobProgress
from fairlead.sim.engine.simulation_rules import SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker

Listener: TypeAlias = Callable[[SimulationEvent], None]
_EvictedPods: TypeAlias = tuple[WorkloadName, list[tuple[PodId, int]], Cause]
"""A workload, its evicted pods each with when it had started, and why they were evicted."""
_Asked: TypeAlias = tuple[Order, Sequence[PodId]]
"""An order, and the pods of it that are meant."""


class LiveJobs:
    """Jobs that have come and are not done."""

    def __init__(
        self,
        state: ClusterState,
        maker: WorkloadMaker,
        rules: SimulationRules,
        events: EventQueue,
        listener: Listener,
        on_change: Callable[[int, QueueName], None],
        on_order: Callable[[int, QueueName], None],
    ) -> None:
        """Begin without jobs. *on_change* gets a queue that holds or requests other amounts.

        *on_order* is called for orders that are not done yet, or were undone: nothing happened to
        jobs then, but the room has changed.
        """
        self._state = state
        self._maker = maker
        self._rules = rules
        self._events = events
        self._listener = listener
        self._on_change = on_change
        self._on_order = on_order
        self._progress: dict[WorkloadName, JobProgress] = {}
        self._evicted_pods: dict[WorkloadName, set[PodId]] = {}  # to leave, and not stopped yet
        self.on_started: Callable[[int, Job], None] = _nothing
        self.on_finished: Callable[[int, Job], None] = _nothing
        self.running = 0  # jobs that have a place
        self.awaited = 0  # orders that were late or lost, and of which that is not known yet
        patience_ms = rules.faults.patience_ms if rules.faults else OUTCOME_WITHIN_MS
        self._executor = Executor(state, patience_ms=patience_ms)
        self._fates = DrawnFates(rules.faults) if rules.faults else None

    def submit(self, now_ms: int, job: Job) -> None:
        """Let *job* come and wait. Raises SimulationError for one that cannot run.

        Events name the queue of the workload: a job may name another object that leads there.
        """
        workload = self._maker.workload(job)
        if workload.name in self._state.workloads:
            raise SimulationError(
                f"found a second job {job.name}, now of the source {job.kind or job.queue}, "
                "expected a name each; rename the source or the other job"
            )
        if job.queue != workload.queue:
            job = msgspec.structs.replace(job, queue=workload.queue)
        self._state.apply(WorkloadAdded(workload))
        self._progress[workload.name] = JobProgress(job, self._rules.delays)
        self._listener(Submitted(at_ms=now_ms, job=job))
        self._on_change(now_ms, workload.queue)

    def carry_out(self, now_ms: int, changes: Sequence[Decision]) -> None:
        """Carry out a plan but its waits: start pods, evict others."""
        if self._fates is None:
            for decision in changes:
                self._do(now_ms, decision)
        else:
            self._ask_for_all(now_ms, changes, self._fates)
        forget_promises(self._state, changes, now_ms)

    def holds(self, now_ms: int) -> Holds:
        """Return what the next plan is not to try, after orders that went wrong."""
        return self._executor.holds(now_ms)

    def next_release_ms(self, now_ms: int) -> int | None:
        """Return when time alone lets something be tried again that went wrong."""
        return self._executor.next_release_ms(now_ms)

    def _do(self, now_ms: int, decision: Decision) -> None:
        """Let a decision take effect at once, in a cluster without faults."""
        match decision:
            case Start():
                apply_decision(self._state, decision, now_ms)
                self._started(now_ms, decision, len(decision.placements))
            case Evict():
                apply_decision(self._state, decision, now_ms)
                self._evicted(now_ms, decision, decision.pods)
            case Move():
                promised = promised_places(self._state, decision)
                pods = tuple([origin.pod for origin in decision.origins])
                self._state.apply(WorkloadLeaving(workload=decision.workload, pods=pods))
                self._evicted(now_ms, decision, pods)
                if not self._rules.grace_ms:
                    places = redeem(self._state, decision.workload, promised, pods)
                    self._do(now_ms, self._start_of(decision, places))
            case Reserve() | Wait() | Unknown():
                apply_decision(self._state, decision, now_ms)
            case _:
                assert_never(decision)

    def _ask_for_all(self, now_ms: int, changes: Sequence[Decision], fates: DrawnFates) -> None:
        """Ask a cluster with faults for what a plan says.

        Pods that move begin elsewhere at once only if all of the plan is done: the room there may
        be that of pods that were to be evicted. Else they wait, and the next plan decides.
        """
        drawn = [self._draw(decision, fates) for decision in changes]
        is_whole = all(fate == "done" for each in drawn for fate in each)
        for decision, by_fate in zip(changes, drawn, strict=True):
            order = self._executor.order(decision, now_ms)
            if order is None:
                continue
            for fate, pods in by_fate.items():
                self._meet_fate(now_ms, order, pods, fate, fates)
            if isinstance(decision, Move) and is_whole and not self._rules.grace_ms:
                self._begin_elsewhere(now_ms, order)

    def _draw(self, decision: Decision, fates: DrawnFates) -> dict[Fate, list[PodId]]:
        match decision:
            case Start():
                pods = [place.pod for place in decision.placements]
                is_quota = all(place.node is None for place in decision.placements)
                return fates.of("bind", pods, is_quota=is_quota)
            case Evict() | Move():
                own = decision.pods if isinstance(decision, Evict) else decision.origins
                pods = [each.pod if isinstance(each, Placement) else each for each in own]
                run = self._state.runs.get(decision.workload)
                nodes = [run.pods[pod].node for pod in pods if run and pod in run.pods]
                return fates.of("evict", pods, is_quota=set(nodes) == {None})
            case Reserve() | Wait() | Unknown():
                return {}
            case _:
                assert_never(decision)

    def _meet_fate(
        self, now_ms: int, order: Order, pods: Sequence[PodId], fate: Fate, fates: DrawnFates
    ) -> None:
        match fate:
            case "done":
                self._done(now_ms, order, pods)
                return
            case "refused":
                self._went_wrong(now_ms, order, pods)
            case "late":
                self._await(now_ms + fates.delay_ms(order.verb), self._done_late, (order, pods))
            case "lost":
                self._await(order.until_ms, self._found_lost, (order, pods))
            case _:
                assert_never(fate)
        self._on_order(now_ms, self._state.workloads[order.workload].queue)

    def _begin_elsewhere(self, now_ms: int, order: Order) -> None:
        """Let pods that moved begin where that was promised to the next pods of their job."""
        places = redeem(self._state, order.workload, order.promised, order.pods())
        start = self._start_of(order.decision, places)
        again = self._executor.order(start, now_ms)
        assert again is not None, "a start is an order"
        self._done(now_ms, again, again.pods())

    def _await(self, at_ms: int, call: Callable[[int, _Asked], None], asked: _Asked) -> None:
        self.awaited += 1
        self._events.push(at_ms, EventOrder.STOP, call, asked)

    def _done_late(self, now_ms: int, asked: _Asked) -> None:
        self.awaited -= 1
        self._done(now_ms, *asked)

    def _found_lost(self, now_ms: int, asked: _Asked) -> None:
        self.awaited -= 1
        self._went_wrong(now_ms, *asked)

    def _done(self, now_ms: int, order: Order, pods: Sequence[PodId]) -> None:
        """Let an order take effect for the *pods* that have not changed since."""
        decision = order.decision
        if isinstance(decision, Start):
            bound = self._executor.confirmed(order, now_ms, pods)
            if bound:
                self._started(now_ms, decision, len(bound))
            return
        evicted = self._executor.succeeded(order, pods)
        if evicted:
            self._evicted(now_ms, decision, evicted)

    def _went_wrong(self, now_ms: int, order: Order, pods: Sequence[PodId]) -> None:
        if self._executor.failed(order, now_ms, pods):
            self._on_order(now_ms, self._state.workloads[order.workload].queue)

    def _start_of(self, moved: Start | Evict | Move, places: tuple[Placement, ...]) -> Start:
        """Return the start of pods that moved. Rule sets that move pods know no flavors."""
        return Start(workload=moved.workload, placements=places, charged=(), reason=moved.reason)

    def lose_node(self, now_ms: int, node: str) -> None:
        """Stop the pods on *node*, and with them what remains of gangs that need them."""
        for name, run in list(self._state.runs.items()):
            there = [pod for pod, placed in run.pods.items() if placed.node == node]
            if not there:
                continue
            progress = self._progress[name]
            left = len(run.pods) - len(there)
            lost = tuple(there) if left >= progress.job.min_pods else tuple(run.pods)
            lost = self._without_binding(name, run, lost)
            if not lost:
                continue
            evicted_before = self._evicted_pods.get(name, set())
            leaving = sum(pod in evicted_before for pod in lost)
            evicted = Evicted(
                at_ms=now_ms,
                job=progress.job,
                pods=len(lost),
                cause="node-lost",
                beneficiary=None,
                reason=None,
            )
            self._listener(evicted)
            progress.evict(now_ms, len(lost) - leaving)
            self._stop(now_ms, name, lost, "node-lost")

    def _without_binding(
        self, name: WorkloadName, run: Run, pods: tuple[PodId, ...]
    ) -> tuple[PodId, ...]:
        """Take away the places of *pods* that have not begun; return the others."""
        binding = tuple([pod for pod in pods if run.pods[pod].phase == "binding"])
        if binding:
            self._state.apply(WorkloadStopped(workload=name, pods=binding))
        return tuple([pod for pod in pods if pod not in binding]) if binding else pods

    def _started(self, now_ms: int, decision: Start, pods: int) -> None:
        progress = self._progress[decision.workload]
        is_new = progress.running == 0
        self.running += is_new
        progress.start(now_ms, pods)
        self._listener(
            Started(
                at_ms=now_ms,
                job=progress.job,
                pods=pods,
                running=progress.running,
                reason=decision.reason,
            )
        )
        self._schedule_finish(now_ms, decision.workload, progress)
        self._on_change(now_ms, self._state.workloads[decision.workload].queue)
        if is_new:
            self.on_started(now_ms, progress.job)

    def _evicted(self, now_ms: int, decision: Evict | Move, pods: tuple[PodId, ...]) -> None:
        name = decision.workload
        cause: Cause = "moved" if isinstance(decision, Move) else "evicted"
        progress = self._progress[name]
        evicted = Evicted(
            at_ms=now_ms,
            job=progress.job,
            pods=len(pods),
            cause=cause,
            beneficiary=decision.beneficiary,
            reason=decision.reason,
        )
        self._listener(evicted)
        self._evicted_pods.setdefault(name, set()).update(pods)
        progress.evict(now_ms, len(pods))
        self._schedule_finish(now_ms, name, progress)
        if self._rules.grace_ms:
            self._on_change(now_ms, self._state.workloads[name].queue)
            placed = self._state.runs[name].pods
            since = [(pod, placed[pod].started_ms) for pod in pods]
            at_ms = now_ms + self._rules.grace_ms
            self._events.push(at_ms, EventOrder.STOP, self._stop_evicted, (name, since, cause))
        else:
            self._stop(now_ms, name, pods, cause)

    def _stop_evicted(self, now_ms: int, evicted: _EvictedPods) -> None:
        """Stop the evicted pods that have not stopped otherwise."""
        name, since, cause = evicted
        run = self._state.runs.get(name)
        if run is None:
            return
        pods = tuple(
            pod
            for pod, started_ms in since
            if (placed := run.pods.get(pod)) is not None
            and placed.phase == "leaving"
            and placed.started_ms == started_ms
        )
        if pods:
            self._stop(now_ms, name, pods, cause)

    def _stop(self, now_ms: int, name: WorkloadName, pods: tuple[PodId, ...], cause: Cause) -> None:
        progress = self._progress[name]
        self._state.apply(WorkloadStopped(workload=name, pods=pods))
        self._evicted_pods.get(name, set()).difference_update(pods)
        lost_ms = progress.stop(now_ms, len(pods))
        self.running -= progress.running == 0
        self._listener(
            Stopped(
                at_ms=now_ms,
                job=progress.job,
                pods=len(pods),
                running=progress.running,
                cause=cause,
                lost_ms=lost_ms,
            )
        )
        self._schedule_finish(now_ms, name, progress)
        self._on_change(now_ms, self._state.workloads[name].queue)

    def _schedule_finish(self, now_ms: int, name: WorkloadName, progress: JobProgress) -> None:
        end_ms = progress.end_ms(now_ms)
        if end_ms is not None:
            self._events.push(
                end_ms, EventOrder.FINISH, self._finish, (name, progress, progress.epoch)
            )

    def _finish(self, now_ms: int, scheduled: tuple[WorkloadName, JobProgress, int]) -> None:
        name, progress, epoch = scheduled
        if progress.epoch != epoch:
            return  # pods came or went since
        queue = self._state.workloads[name].queue
        pods = progress.running
        progress.finish(now_ms)
        self.running -= 1
        self._state.apply(WorkloadFinished(name))
        del self._progress[name]
        self._evicted_pods.pop(name, None)
        assert progress.first_start_ms is not None, "a job was done before it began"
        self._listener(
            Finished(
                at_ms=now_ms,
                job=progress.job,
                pods=pods,
                first_start_ms=progress.first_start_ms,
                evictions=progress.evictions,
                held_ms=progress.held,
                lost_ms=progress.lost,
            )
        )
        self._on_change(now_ms, queue)
        self.on_finished(now_ms, progress.job)


def _nothing(now_ms: int, job: Job) -> None:
    """Take no notice."""
