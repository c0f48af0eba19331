"""The jobs that are alive in a simulation: what a plan means for them, and when they will be done.

Everything that happens to a job goes through here: into the state, into its progress, and to the
listener.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import WorkloadAdded, WorkloadFinished, WorkloadLeaving, WorkloadStopped
from fairlead.model.executor import (
    PATIENCE_MS,
    Executor,
    apply_decision,
    promised_places,
    redeem,
)
from fairlead.model.holds import Holds
from fairlead.model.order import Order, PromisedPlace
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Wait
from fairlead.model.remember import forget_promises
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.sim.as_workload import WorkloadMaker
from fairlead.sim.event_queue import EventQueue, Rank
from fairlead.sim.faults import DrawnFates
from fairlead.sim.happenings import (
    Cause,
    Finished,
    Happening,
    Started,
    Stopped,
    Submitted,
    ToldToLeave,
)
from fairlead.sim.job import Job
from fairlead.sim.job_progress import JobProgress
from fairlead.sim.simulation_rules import SimulationRules

Listener: TypeAlias = Callable[[Happening], None]
_Told: TypeAlias = tuple[WorkloadName, list[tuple[PodId, int]], Cause]
"""Which pods of whom, each with when it had started."""
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
    ) -> None:
        """Begin with nobody. *on_change* is told whose queue holds or wants something else."""
        self._state = state
        self._maker = maker
        self._rules = rules
        self._events = events
        self._listener = listener
        self._on_change = on_change
        self._progress: dict[WorkloadName, JobProgress] = {}
        self.on_started: Callable[[int, Job], None] = _nothing
        self.on_finished: Callable[[int, Job], None] = _nothing
        self.running = 0  # jobs that have a place
        self.awaited = 0  # orders that were late or lost, and of which that is not known yet
        patience_ms = rules.faults.patience_ms if rules.faults else PATIENCE_MS
        self._executor = Executor(state, patience_ms=patience_ms)
        self._fates = DrawnFates(rules.faults) if rules.faults else None

    def submit(self, now_ms: int, job: Job) -> None:
        """Let *job* come and wait. Raises SimulationError for one that nobody can run.

        Who comes through a LocalQueue is told as a job of the ClusterQueue behind it.
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
        """Do what a plan says but its waits: let pods start, tell others to leave."""
        for decision in changes:
            if self._fates is None:
                self._do(now_ms, decision)
            else:
                self._ask_for(now_ms, decision, self._fates)
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
                self._told(now_ms, decision, decision.pods)
            case Move():
                promised = promised_places(self._state, decision)
                pods = tuple([origin.pod for origin in decision.origins])
                self._state.apply(WorkloadLeaving(workload=decision.workload, pods=pods))
                self._told(now_ms, decision, pods)
                if not self._rules.grace_ms:
                    self._do(now_ms, self._start_of(decision, promised, pods))
            case Reserve() | Wait():
                apply_decision(self._state, decision, now_ms)
            case _:
                assert_never(decision)

    def _ask_for(self, now_ms: int, decision: Decision, fates: DrawnFates) -> None:
        """Ask a cluster with faults for what a decision says; some pods may be left out."""
        order = self._executor.order(decision, now_ms)
        if order is None:
            return
        for fate, pods in fates.of(order).items():
            match fate:
                case "done":
                    self._done(now_ms, order, pods)
                case "refused":
                    self._went_wrong(now_ms, order, pods)
                case "late":
                    at_ms = now_ms + fates.delay_ms(order.verb)
                    self._await(at_ms, self._done_late, (order, pods))
                case "lost":
                    self._await(order.until_ms, self._found_lost, (order, pods))
                case _:
                    assert_never(fate)

    def _await(self, at_ms: int, call: Callable[[int, _Asked], None], asked: _Asked) -> None:
        self.awaited += 1
        self._events.push(at_ms, Rank.STOP, call, asked)

    def _done_late(self, now_ms: int, asked: _Asked) -> None:
        self.awaited -= 1
        self._done(now_ms, *asked)

    def _found_lost(self, now_ms: int, asked: _Asked) -> None:
        self.awaited -= 1
        self._went_wrong(now_ms, *asked)

    def _done(self, now_ms: int, order: Order, pods: Sequence[PodId]) -> None:
        """Let an order take effect for those of *pods* that are still as it left them."""
        decision = order.decision
        if isinstance(decision, Start):
            bound = self._executor.confirmed(order, now_ms, pods)
            if bound:
                self._started(now_ms, decision, len(bound))
            return
        told = self._executor.succeeded(order, pods)
        if not told:
            return
        self._told(now_ms, decision, told)
        if isinstance(decision, Move) and not self._rules.grace_ms and self._fates is not None:
            places = [each for each in decision.placements if each.pod in told]
            moved = msgspec.structs.replace(decision, placements=tuple(places))
            start = self._start_of(decision, promised_places(self._state, moved), told)
            self._ask_for(now_ms, start, self._fates)

    def _went_wrong(self, now_ms: int, order: Order, pods: Sequence[PodId]) -> None:
        if self._executor.failed(order, now_ms, pods):
            self._on_change(now_ms, self._state.workloads[order.workload].queue)

    def _start_of(
        self, move: Move, promised: Sequence[PromisedPlace], returned: Sequence[PodId]
    ) -> Start:
        """Return the start of pods that moved. Rule sets that move pods know no flavors."""
        return Start(
            workload=move.workload,
            placements=redeem(self._state, move.workload, promised, returned),
            charged=(),
            reason=move.reason,
        )

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
            leaving = sum(run.pods[pod].phase == "leaving" for pod in lost)
            told = ToldToLeave(
                at_ms=now_ms,
                job=progress.job,
                pods=len(lost),
                cause="node-lost",
                beneficiary=None,
                reason=None,
            )
            self._listener(told)
            progress.tell_to_leave(now_ms, len(lost) - leaving)
            self._stop(now_ms, name, lost, "node-lost")

    def _without_binding(
        self, name: WorkloadName, run: Run, pods: tuple[PodId, ...]
    ) -> tuple[PodId, ...]:
        """Take the places of those of *pods* away that have not begun; return the others."""
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
        self._foretell(now_ms, decision.workload, progress)
        self._on_change(now_ms, self._state.workloads[decision.workload].queue)
        if is_new:
            self.on_started(now_ms, progress.job)

    def _told(self, now_ms: int, decision: Evict | Move, pods: tuple[PodId, ...]) -> None:
        name = decision.workload
        cause: Cause = "moved" if isinstance(decision, Move) else "evicted"
        progress = self._progress[name]
        told = ToldToLeave(
            at_ms=now_ms,
            job=progress.job,
            pods=len(pods),
            cause=cause,
            beneficiary=decision.beneficiary,
            reason=decision.reason,
        )
        self._listener(told)
        progress.tell_to_leave(now_ms, len(pods))
        self._foretell(now_ms, name, progress)
        if self._rules.grace_ms:
            self._on_change(now_ms, self._state.workloads[name].queue)
            placed = self._state.runs[name].pods
            since = [(pod, placed[pod].started_ms) for pod in pods]
            at_ms = now_ms + self._rules.grace_ms
            self._events.push(at_ms, Rank.STOP, self._stop_told, (name, since, cause))
        else:
            self._stop(now_ms, name, pods, cause)

    def _stop_told(self, now_ms: int, told: _Told) -> None:
        """Stop those of the pods that were told to leave that have not stopped otherwise."""
        name, since, cause = told
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
        self._foretell(now_ms, name, progress)
        self._on_change(now_ms, self._state.workloads[name].queue)

    def _foretell(self, now_ms: int, name: WorkloadName, progress: JobProgress) -> None:
        end_ms = progress.end_ms(now_ms)
        if end_ms is not None:
            self._events.push(end_ms, Rank.FINISH, self._finish, (name, progress, progress.epoch))

    def _finish(self, now_ms: int, foretold: tuple[WorkloadName, JobProgress, int]) -> None:
        name, progress, epoch = foretold
        if progress.epoch != epoch:
            return  # pods came or went since
        queue = self._state.workloads[name].queue
        pods = progress.running
        progress.finish(now_ms)
        self.running -= 1
        self._state.apply(WorkloadFinished(name))
        del self._progress[name]
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
