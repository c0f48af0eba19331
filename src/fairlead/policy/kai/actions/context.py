"""What the actions of one cycle share: the division, the record, and the pending jobs.

Fair shares are those of the beginning of the cycle; what queues hold changes with every job that
starts or gives way.
"""

from collections.abc import Iterable, Mapping, Set

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.sources import Sources
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.jobs.cycle_record import CycleRecord
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.start_job import JobStarter
from fairlead.policy.kai.ordering.pending_jobs import NO_PODS, PendingJobs
from fairlead.policy.kai.ordering.pending_queues import ClassSummary
from fairlead.policy.kai.ordering.tournament import Division, Draw, QueueTournament
from fairlead.policy.kai.settings import KaiSettings


class CycleContext:
    """One cycle on a state that is on trial."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        sources: Sources,
        held_back: Mapping[WorkloadName, Set[PodId]],
        *,
        explain: bool,
    ) -> None:
        """Divide the cluster, if any job is pending. The caller has put *state* on trial."""
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        self.explain = explain  # reasons why jobs wait are recorded
        self.sources = sources
        self.finder = sources.finder
        self.is_idle = not state.has_waiting()  # no job is pending, so no share is needed
        sources.begin_cycle()
        self._division = None if self.is_idle else sources.division()
        self.record = CycleRecord(state)
        self.away = {name: set(pods) for name, pods in held_back.items()}
        """Pods without a place that are not pending: held back, or evicted in this cycle."""
        self._held = _pods_without_place(state, state.holds.workloads)

    @property
    def division(self) -> Division:
        """The division of the cluster in this cycle."""
        if self._division is None:
            self._division = self.sources.division()
        return self._division

    @property
    def shares(self) -> Mapping[QueueName, KaiShare]:
        """The share of each queue that is connected to the root."""
        return self.division.shares

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that may have jobs."""
        return self.division.leaves

    def gang(self, job: WorkloadName) -> Gang:
        """Return the gang of a job."""
        return Gang(self.state.workloads[job])

    def starter(self, *, explain: bool) -> JobStarter:
        """Return what starts jobs while room only shrinks."""
        return JobStarter(self.state, self.finder, self.now_ms, explain=explain)

    def note_wait(self, job: WorkloadName, reason: Reason) -> None:
        """Record why *job* waits, if the plan is to explain it."""
        if self.explain:
            self.record.wait(job, reason)

    def note_eviction(self, job: WorkloadName, pod: PodId) -> None:
        """Note that a pod was evicted: it is not pending in this cycle."""
        self.away.setdefault(job, set()).add(pod)

    def queue_depth(self, action: str) -> int | None:
        """Return how many jobs of each queue *action* looks at; None: all."""
        depths = self.settings.queue_depth  # seldom any
        return dict(depths).get(action) if depths else None

    def waiting(self, action: str) -> PendingJobs:
        """Return the pending jobs of leaves, as deep as *action* looks."""
        jobs = self._pending(self.queue_depth(action))
        jobs.add_queues(self.leaves)
        return jobs

    def summaries(self, action: str) -> Mapping[JobClass, ClassSummary]:
        """Return the classes of the pending jobs of leaves, as deep as *action* looks.

        Cost: the changed jobs, if all pending jobs are looked at; else a look at each queue.
        """
        pending = self.sources.pending
        is_cut = self.queue_depth(action) is not None
        if self.away or is_cut or not pending.queues().keys() <= self.leaves:
            return self.waiting(action).summaries()
        return pending.summaries()

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""
        return self.sources.pending.request(job_class)

    def turns_of(
        self, chosen: Mapping[WorkloadName, tuple[PodId, ...]], others: Iterable[WorkloadName]
    ) -> tuple[PendingJobs, QueueTournament]:
        """Return the turns of some jobs as if no other were pending.

        *chosen* are the next pods of some of them. Cost: those jobs, and the queues above them with
        their siblings.
        """
        state = self.state
        jobs = self._pending(None)
        for name, pods in chosen.items():
            jobs.choose(name, pods)
        names = {*chosen, *others}
        jobs.add_jobs(names)
        draw = Draw.of_leaves(state, {state.workloads[name].queue for name in names})
        numbers, queues = self.division.numbers, jobs.queues()
        return jobs, QueueTournament(state, draw, numbers, jobs.next_request, queues)

    def all_turns(
        self, chosen: Mapping[WorkloadName, tuple[PodId, ...]]
    ) -> tuple[PendingJobs, QueueTournament]:
        """Return the turns of all pending jobs; *chosen* are the next pods of some of them.

        Cost: all queues with a pending job.
        """
        jobs = self._pending(None)
        for name, pods in chosen.items():
            jobs.choose(name, pods)
        jobs.add_queues(self.leaves)
        return jobs, self.tournament(jobs)

    def pending_only(self, names: Iterable[WorkloadName]) -> PendingJobs:
        """Return some jobs as if no other were pending. Cost: those jobs."""
        jobs = self._pending(None)
        jobs.add_jobs(names)
        return jobs

    def tournament(self, jobs: PendingJobs) -> QueueTournament:
        """Let the queues of *jobs* meet to be served, at their places in the draw of all.

        Cost: those queues, and the ones above them.
        """
        division = self.division
        offer, queues = jobs.next_request, jobs.queues()
        return QueueTournament(self.state, division.draw, division.numbers, offer, queues)

    def _pending(self, depth: int | None) -> PendingJobs:
        """Return pending jobs without any job yet."""
        sources = self.sources
        return PendingJobs(self.state, depth, self.away, sources.pending, self._held)


def _pods_without_place(
    state: ClusterState, names: Set[WorkloadName]
) -> Mapping[WorkloadName, Set[PodId]]:
    """Return the pods without a place of those *names* that exist."""
    if not names:
        return NO_PODS
    there = [state.workloads[name] for name in names if name in state.workloads]
    placed = {each.name: state.runs[each.name].pods for each in there if each.name in state.runs}
    return {each.name: {*each.pods()} - placed.get(each.name, {}).keys() for each in there}
