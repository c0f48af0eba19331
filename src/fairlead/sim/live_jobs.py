"""The jobs that are alive in a simulation: what a plan means for them, and when they will be done.

Everything that happens to a job goes through here: into the state, into its progress, and to the
listener.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import WorkloadAdded, WorkloadFinished, WorkloadLeaving, WorkloadStopped
from fairlead.model.executor import apply_decision
from fairlead.model.plan import Decision, Evict, Move, Start
from fairlead.model.remember import forget_promises
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.sim.as_workload import WorkloadMaker
from fairlead.sim.event_queue import EventQueue, Rank
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
        grace_ms = self._rules.grace_ms
        for decision in changes:
            match decision:
                case Start():
                    apply_decision(self._state, decision, now_ms)
                    self._started(now_ms, decision)
                case Evict():
                    apply_decision(self._state, decision, now_ms)
                    self._told(now_ms, decision, decision.pods, "evicted")
                case Move() if grace_ms:
                    # It cannot begin there while it still is here; the next cycles see to it.
                    pods = tuple(origin.pod for origin in decision.origins)
                    self._state.apply(WorkloadLeaving(workload=decision.workload, pods=pods))
                    self._told(now_ms, decision, pods, "moved")
                case Move():
                    self._moved(now_ms, decision)
                case _:
                    apply_decision(self._state, decision, now_ms)
        forget_promises(self._state, changes, now_ms)

    def lose_node(self, now_ms: int, node: str) -> None:
        """Stop the pods on *node*, and with them what remains of gangs that need them."""
        for name, run in list(self._state.runs.items()):
            there = [pod for pod, placed in run.pods.items() if placed.node == node]
            if not there:
                continue
            progress = self._progress[name]
            left = len(run.pods) - len(there)
            lost = tuple(there) if left >= progress.job.min_pods else tuple(run.pods)
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

    def _started(self, now_ms: int, decision: Start | Move) -> None:
        progress = self._progress[decision.workload]
        is_new = progress.running == 0
        self.running += is_new
        progress.start(now_ms, len(decision.placements))
        self._listener(
            Started(
                at_ms=now_ms,
                job=progress.job,
                pods=len(decision.placements),
                running=progress.running,
                reason=decision.reason,
            )
        )
        self._foretell(now_ms, decision.workload, progress)
        self._on_change(now_ms, self._state.workloads[decision.workload].queue)
        if is_new:
            self.on_started(now_ms, progress.job)

    def _told(
        self, now_ms: int, decision: Evict | Move, pods: tuple[PodId, ...], cause: Cause
    ) -> None:
        name = decision.workload
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

    def _moved(self, now_ms: int, decision: Move) -> None:
        """Let pods begin anew elsewhere at once. Rule sets that move pods know no flavors."""
        pods = tuple(origin.pod for origin in decision.origins)
        self._state.apply(WorkloadLeaving(workload=decision.workload, pods=pods))
        self._told(now_ms, decision, pods, "moved")
        start = Start(
            workload=decision.workload,
            placements=decision.placements,
            charged=(),
            reason=decision.reason,
        )
        apply_decision(self._state, start, now_ms)
        self._started(now_ms, start)

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
