"""The queues, the jobs that wait and the nodes, as one cycle sees them.

The fair shares are those of the beginning and stay; what queues hold moves with every job that
starts or gives way.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Final

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.record import CycleRecord
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.pending_queues import ClassSummary, JobsByClass
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.incremental.state import IncrementalSources
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.job_class import JobClass
from fairlead.policy.kai.jobs.start_job import JobStarter
from fairlead.policy.kai.ordering.pending_jobs import NOBODY, PendingJobs
from fairlead.policy.kai.ordering.queue_order import QueueNumbers
from fairlead.policy.kai.ordering.tournament import Draw, Offer, QueueTournament
from fairlead.policy.kai.pruning.evictable_per_node import EvictableOnNode
from fairlead.policy.kai.pruning.moves import MoveBound
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import EligibleCandidates, OrderedCandidate

NO_CLAIMS: Final[Mapping[WorkloadName, tuple[PodId, ...]]] = MappingProxyType({})


class CycleContext:
    """What the actions of a cycle share: the division, the record, and who waits."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        sources: IncrementalSources | None,
        held_back: Mapping[WorkloadName, Set[PodId]],
        *,
        explain: bool,
    ) -> None:
        """Divide the cluster, if anybody waits. The caller has put *state* on trial."""
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        self.explain = explain  # those who wait
        self.is_idle = not state.has_waiting()  # nobody waits, so nobody asks for a share
        self._sources = IncrementalSources(state, settings) if sources is None else sources
        self.finder = self._sources.finder
        self.pool = self._sources.pool
        self.stale_gangs = self._sources.stale_gangs
        self.pod_terms = self._sources.pod_terms
        self.infeasible = self._sources.infeasible
        self._sources.begin_cycle()
        self._division = self._sources.shares
        self._is_divided = not self.is_idle
        if self._is_divided:
            self._division.catch_up()
        self.record = CycleRecord(state)
        self.away = {name: set(pods) for name, pods in held_back.items()}  # pods that do not wait
        self.held = _without_place(state, state.holds.workloads)  # pods that do not either
        self._lined_up: tuple[int, PendingJobs] | None = None

    @property
    def shares(self) -> dict[QueueName, KaiShare]:
        """What each queue that hangs on the top level is entitled to."""
        return self._divided().shares

    @property
    def numbers(self) -> dict[QueueName, QueueNumbers]:
        """What the order of service looks at, parents before children."""
        return self._divided().numbers

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that may have jobs."""
        return self._divided().leaves

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""
        return self._sources.gang(job)

    def starter(self) -> JobStarter:
        """Return what starts jobs while room only shrinks."""
        return JobStarter(self.state, self.finder, self.now_ms, explain=self.explain)

    def tell_wait(self, job: WorkloadName, reason: Reason) -> None:
        """Note why *job* waits, if anybody wants to know."""
        if self.explain:
            self.record.wait(job, reason)

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""
        return self.finder.gpu_later()

    def waiting(
        self, action: str | None, claims: Mapping[WorkloadName, tuple[PodId, ...]] = NO_CLAIMS
    ) -> PendingJobs:
        """Return what waits in leaves, as deep as *action* looks; None: all.

        *claims* are what some would start next, whatever else they want.
        """
        depth = None if action is None else self._depth(action)
        if depth is None:
            return self._all_waiting().branch(claims, ())
        jobs = self._line_up(depth)
        for name, pods in claims.items():
            jobs.attempt(name, pods)
        return jobs

    def waiting_in(self, action: str, classes: Iterable[JobClass]) -> PendingJobs:
        """Return what waits in leaves in which somebody is of one of *classes*, maybe in others, too.

        As deep as *action* looks, and while all wait as when they were tallied for it. Cost: these
        leaves alone, where no pod is on its way out.
        """
        if self.away:  # what a job would start then, and so its kind, may be another
            return self.waiting(action)
        queues = self._sources.lines.queues_of(classes)
        jobs = self._pending(self._depth(action))
        jobs.add_queues({queue: None for queue in queues if queue in self.leaves}.keys())
        return jobs

    def tally(self, action: str) -> Mapping[JobClass, ClassSummary]:
        """Return how many wait in leaves of which kind, as deep as *action* looks.

        Cost: who changed, where everybody who waits is looked at; else a look at each queue.
        """
        lines = self._sources.lines
        if self.away or self._depth(action) is not None or not lines.all().keys() <= self.leaves:
            return self.waiting(action).tally()
        return lines.tally()

    def has_priority_above(self, priority: int) -> bool:
        """Return whether a job has a higher one of which a pod has no place, wherever it waits."""
        lines, workloads = self._sources.lines, self.state.workloads
        lines.all()
        return any(workloads[each.job].priority > priority for each in lines.tally().values())

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that kind would cost its queue."""
        return self._sources.lines.request(job_class)

    def may_any_reclaim(self) -> bool:
        """Return whether the gate of reclaim lets anybody pass, as far as that is plain."""
        classes, lines = self._sources.reclaim_kinds, self._sources.lines
        return bool(self.away) or classes.are_any_open(self._divided(), lines)

    def reclaiming_classes(self) -> Iterator[tuple[JobClass, ClassSummary]]:
        """Yield the kinds that may reclaim, queue by queue, each with one who is of it."""
        sources, shares = self._sources, self._divided().shares
        lines = sources.lines
        for queue, line in sources.reclaim_kinds.open_lines(lines):
            for job_class in sources.reclaim_kinds.of(shares[queue], line.classes, lines.request):
                keys = line.classes[job_class]
                job = keys[0][-1]
                yield job_class, ClassSummary(len(keys), job, line.places[job].pods)

    def classes_that_may_reclaim(self, queue: QueueName, classes: JobsByClass) -> list[JobClass]:
        """Return which of *classes* may reclaim in a queue."""
        return self._sources.reclaim_kinds.of(self.shares[queue], classes, self.request)

    def pending_for(
        self, claims: Mapping[WorkloadName, tuple[PodId, ...]], others: Iterable[WorkloadName]
    ) -> tuple[PendingJobs, QueueTournament]:
        """Line up some jobs as if nobody else waited; *claims* are what these would start next.

        Cost: those jobs, and the queues above them with their siblings.
        """
        state = self.state
        jobs = self._pending(None)
        for name, pods in claims.items():
            jobs.attempt(name, pods)
        names = {*claims, *others}
        jobs.add_jobs(names)
        leaves = {state.workloads[name].queue for name in names}
        draw = Draw.of_leaves(state, leaves)
        return jobs, QueueTournament(state, draw, self.numbers, jobs.next_request, jobs.queues())

    def pending_only(self, names: Iterable[WorkloadName]) -> PendingJobs:
        """Line up some jobs as if nobody else waited. Cost: those jobs."""
        jobs = self._pending(None)
        jobs.add_jobs(names)
        return jobs

    def tournament_of_some(self, jobs: PendingJobs) -> QueueTournament:
        """Let the queues of some *jobs* meet where they stand among all, with nobody beside them.

        Cost: those queues, and the ones above them.
        """
        known = self._divided()
        offer, queues = jobs.next_request, jobs.queues()
        return QueueTournament(self.state, known.draw, known.numbers, offer, queues)

    def tournament(self, jobs: PendingJobs) -> QueueTournament:
        """Let the queues of *jobs* meet in the order of service."""
        known = self._division
        return self._sources.service.run(known.draw, known.numbers, jobs.next_request, jobs.lines())

    def eviction_tournament(
        self, offer: Offer, lines: Mapping[QueueName, object]
    ) -> QueueTournament:
        """Let leaves meet in the order of giving way; the same line offers the same."""
        known = self._divided()
        return self._sources.giving_way.run(known.draw, known.numbers, offer, lines)

    def move_bound(self, most: int | None, pool: EligibleCandidates) -> MoveBound:
        """Return what tells whether the first *most* of *pool* to give way can be moved at all."""
        first = self._sources.first_victims.first(most, self._divided(), pool)
        return self._sources.moves.bound(first)

    def evictable(
        self, lines: Iterable[tuple[QueueName, Sequence[OrderedCandidate]]]
    ) -> Mapping[str, EvictableOnNode]:
        """Return who of these *lines* of leaves has a pod on which node."""
        return self._sources.evictable.of(lines)

    def most_gpus_on_a_node(
        self, lines: Iterable[tuple[QueueName, Sequence[OrderedCandidate]]]
    ) -> int | None:
        """Return what all of *lines* hold of GPUs who are on one node, the most of any node."""
        return self._sources.evictable.most_gpus(lines)

    def _depth(self, action: str) -> int | None:
        depths = self.settings.queue_depth  # seldom any
        return dict(depths).get(action) if depths else None

    def _all_waiting(self) -> PendingJobs:
        """Return all that waits, for others to branch off; it is known until the state changes."""
        moment = self.state.moment
        if self._lined_up is None or self._lined_up[0] != moment:
            self._lined_up = moment, self._line_up(None)
        return self._lined_up[1]

    def _line_up(self, depth: int | None) -> PendingJobs:
        jobs = self._pending(depth)
        jobs.add_queues(self.leaves)
        return jobs

    def _pending(self, depth: int | None) -> PendingJobs:
        """Return nobody in line yet."""
        return PendingJobs(self.state, depth, self.gang, self.away, self._sources.lines, self.held)

    def _divided(self) -> IncrementalShares:
        if not self._is_divided:
            self._division.catch_up()
            self._is_divided = True
        return self._division


def _without_place(
    state: ClusterState, names: Set[WorkloadName]
) -> Mapping[WorkloadName, Set[PodId]]:
    """Return the pods that have no place of those of *names* that are there."""
    if not names:
        return NOBODY
    there = [state.workloads[name] for name in names if name in state.workloads]
    placed = {each.name: state.runs[each.name].pods for each in there if each.name in state.runs}
    return {each.name: {*each.pods()} - placed.get(each.name, {}).keys() for each in there}
