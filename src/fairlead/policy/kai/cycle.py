"""One cycle of KAI's rules, on a state that is on trial.

The fair shares are those of the beginning and stay; what queues hold moves with every job that
starts. Whoever wants to know why something came out as it did can listen to the turns.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import WorkloadDisplaced
from fairlead.model.node_books import PodKey
from fairlead.model.plan import Decision, FailedClaim, Reason, Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.policy.kai.capped_line import CappedLine
from fairlead.policy.kai.claim_reasons import reason_to_gain, reasons_to_lose
from fairlead.policy.kai.claim_refusals import why_failed, why_not_admitted
from fairlead.policy.kai.claims import Claim, ClaimAction
from fairlead.policy.kai.cycle_record import Act, CycleRecord
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.job_signature import FailedClaims
from fairlead.policy.kai.pending_jobs import NOBODY, PendingJobs
from fairlead.policy.kai.queue_order import queue_numbers
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kai.stale_gangs import awaits_staleness, stale_gangs
from fairlead.policy.kai.start_job import JobStarter
from fairlead.policy.kai.victim_line import VictimLine
from fairlead.policy.kai.victim_pool import VictimPool
from fairlead.policy.kai.victim_search import VictimSearch

QUEUE_DOES_NOT_EXIST: Final = "QueueDoesNotExist"
QUEUE_HAS_CHILDREN: Final = "QueueHasChildren"
NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
SUSPENDED: Final = "Suspended"
BEYOND_QUEUE_DEPTH: Final = "BeyondQueueDepth"
ALLOCATE_IS_OFF: Final = "AllocateIsOff"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"
AS_REFUSED_BEFORE: Final = "AsRefusedBefore"

NO_CLAIMS: Final[Mapping[WorkloadName, tuple[PodId, ...]]] = MappingProxyType({})

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is told whose turn it is, while the state is as that job finds it."""

Alike: TypeAlias = tuple[QueueName, Amounts, bool, int]
"""All that decides whether a job may claim: queue, request, preemptible, priority."""


class KaiCycle:
    """The queues, the jobs that wait and the nodes, as one cycle sees them."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        finder: NodeFinder | None = None,
        held_back: Mapping[WorkloadName, Set[PodId]] = NOBODY,
        spared: Set[PodKey] = frozenset(),
    ) -> None:
        """Divide the cluster and line up what waits. The caller has put *state* on trial.

        A *finder* of that state, made with the same settings, can serve for many cycles. Pods that
        are *held_back* start nothing in this one, although they wait; those that are *spared* are
        not asked to give way.
        """
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        total = state.total()
        self.shares = {row.queue: row for row in KaiShares(state, total, settings.k).rows()}
        self.numbers = {name: queue_numbers(state, row, total) for name, row in self.shares.items()}
        self.record = CycleRecord(state)
        promised = [queue.reclaim_min_runtime_ms for queue in state.queues.values()]
        self._promises_run_time = settings.reclaim_min_runtime_ms > 0 or any(promised)
        self._gangs: dict[WorkloadName, Gang] = {}
        self._held_back = held_back
        self._spared = spared
        self._evicted = {name: set(pods) for name, pods in held_back.items()}
        self.looked_at_the_clock = False  # at another time it might come out otherwise
        self._refusals: dict[Alike, FailedClaim] = {}
        self._pool = self._victim_pool()
        self.leaves = {name: None for name in self.numbers if not state.children(name)}.keys()
        self.jobs, self.race = self._line_up(self._depth("allocate"))
        self.finder = node_finder(state, settings) if finder is None else finder

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""
        return self.jobs.gang(job)

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""
        return self.finder.gpu_later()

    def promises_run_time(self) -> bool:
        """Return whether anybody may run for a time before others reclaim its place."""
        return self._promises_run_time

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those who hold something in *queue* and could give way."""
        return self._pool.lowest_priority(queue)

    def decisions(self, listener: Listener | None = None) -> list[Decision]:
        """Return what becomes of every job; what it comes to is in the state.

        First those that have no turn at all, then action by action, turn by turn.
        """
        for name, reason in _misplaced(self.state, self.leaves):
            self.record.wait(name, reason)
        for name in self.jobs.unready:
            self.record.wait(name, _unready(self.state, name, self.gang(name)))
        for name in self._held_back:
            queue = self.state.workloads[name].queue
            self.record.wait(name, Reason(code=WOULD_BE_EVICTED, queue=queue))
        if "allocate" not in self.settings.actions:
            for name in self.jobs.names():
                queue = self.state.workloads[name].queue
                self.record.wait(name, Reason(code=ALLOCATE_IS_OFF, queue=queue))
        for action in self.settings.actions:
            match action:
                case "allocate":
                    self._allocate(listener)
                case "consolidation" | "reclaim" | "preempt":
                    self._claim(action)
                case "stalegangeviction":
                    self._evict_stale_gangs()
        return self.record.decisions()

    def _allocate(self, listener: Listener | None) -> None:
        """Give idle room to jobs, each turn to the first job of the queue that is next.

        It starts, or has its room reserved, or is told why it waits; then the order is looked at
        anew, because the queue holds more than before. A job that got its minimum is put back for
        more, one pod at a time. Cost: for each turn the depth of the tree, a few comparisons per
        level, and the search for nodes.
        """
        jobs, race = self.jobs, self.race
        starter = JobStarter(self.state, self.finder, self.now_ms)
        while (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if listener is not None:
                listener(job)
            pods = jobs.next_pods(job)
            self.record.touch(job)
            outcome = starter.start(job, jobs.gang(job), pods, jobs.request(job))
            if outcome.is_placed:
                self.record.act(Act(outcome.reason), [(job, pod) for pod in pods])
                jobs.renew_first(queue)
            else:
                self.record.wait(job, outcome.reason)
                jobs.drop_first(queue)
            race.renew(queue)
        for name in jobs.beyond_depth:
            reason = Reason(code=BEYOND_QUEUE_DEPTH, queue=self.state.workloads[name].queue)
            self.record.wait(name, reason)

    def _claim(self, action: ClaimAction) -> None:
        """Let every job that waits claim once, in the order of service."""
        self._pool = self._victim_pool()  # the action before may have changed it all
        self._refusals.clear()
        jobs = self._waiting(self._depth(action))
        claims = [Claim(self, action, job, jobs.request(job)) for job in jobs.names()]
        if not any(claim.is_admitted() for claim in claims):
            for claim in claims:  # and nothing changes by which somebody could be
                self._refuse(claim)
            return
        self._failed = FailedClaims(
            self.state, across_queues=action == "consolidation", faithful=self.settings.faithful
        )
        race = QueueRace(self.state, self.numbers, jobs.next_request)
        while (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            claim = Claim(self, action, job, jobs.request(job))
            changed = self._meet(claim, jobs.next_pods(job))
            jobs.drop_first(queue)
            for each in {queue, *changed}:
                race.renew(each)

    def _meet(self, claim: Claim, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Meet a claim if that can be; returns the queues in which something changed."""
        if not claim.is_admitted():
            self._refuse(claim)
            return set()
        job, queue = claim.workload.name, claim.workload.queue
        if self._fits_already(claim, pods):
            changed = {queue}
        elif (like := self._failed_like(job, pods)) is not None:
            reason = Reason(code=AS_REFUSED_BEFORE, queue=queue, names=(like,))
            self.record.claim_failed(job, FailedClaim(action=claim.action, reason=reason))
            return set()
        else:
            changed = self._search(claim, pods)
        if not changed:
            self._failed.note_failure(job, pods)
            return set()
        self._failed.note_success()
        self._refusals.clear()
        for each in changed:
            self._pool.forget(each)
        return changed

    def _failed_like(self, job: WorkloadName, pods: tuple[PodId, ...]) -> WorkloadName | None:
        return self._failed.refused_like(job, pods) if self.settings.signatures else None

    def _refuse(self, claim: Claim) -> None:
        """Note why a job may not claim. Many are alike, and are told the same."""
        workload = claim.workload
        alike = (workload.queue, claim.request, workload.preemptible, workload.priority)
        failed = self._refusals.get(alike)
        if failed is None:
            reason = why_not_admitted(claim)
            assert reason is not None, "who is not admitted is told why"
            failed = self._refusals[alike] = FailedClaim(action=claim.action, reason=reason)
        self.record.claim_failed(workload.name, failed)

    def _fits_already(self, claim: Claim, pods: tuple[PodId, ...]) -> bool:
        """Give a claimant room for which nobody has to leave, if there is some by now.

        An earlier claim may have set more free than it took, or allocate did not look so deep. KAI
        searches for victims all the same.
        """
        if self.settings.faithful or "allocate" not in self.settings.actions:
            return False
        job = claim.workload.name
        self.record.touch(job)
        starter = JobStarter(self.state, self.finder, self.now_ms)
        reason = starter.start_if_it_fits(job, self.gang(job), pods, claim.request)
        if reason is None:
            return False
        self.record.act(Act(reason), [(job, pod) for pod in pods])
        return True

    def _search(self, claim: Claim, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Search for a place for *pods* of a job; returns the queues in which that changed.

        Those of the job and of all who had to move. Where there is no place, nothing changed.
        """
        state, job = self.state, claim.workload.name
        search = VictimSearch(
            state,
            self.finder,
            self._races,
            job,
            pods,
            now_ms=self.now_ms,
            faithful=self.settings.faithful,
            note=self.record.touch,
        )
        tried = search.run(lambda: self._line_of_victims(claim), claim.judge_for)
        self.looked_at_the_clock |= bool(claim.spared)
        if tried is None:
            candidates = sum(len(self._pool.line(queue)) for queue, _ in claim.allowed())
            failed = FailedClaim(action=claim.action, reason=why_failed(claim, candidates))
            self.record.claim_failed(job, failed)
            return set()
        for reason, victims in reasons_to_lose(claim, tried):
            self.record.act(Act(reason, job), victims)
        self.record.act(Act(reason_to_gain(claim, tried)), [(job, pod) for pod in pods])
        for name, pod in tried.lost:
            self._evicted.setdefault(name, set()).add(pod)
        touched = {name for name, _ in tried.lost | tried.moved | tried.joined}
        return {state.workloads[name].queue for name in (*touched, job)}

    def _line_of_victims(self, claim: Claim) -> VictimLine:
        most = self.settings.max_consolidation_victims
        if claim.action != "consolidation" or most is None:
            return VictimLine(self.state, self.numbers, self._pool, claim.allowed())
        if self.settings.faithful:
            most += 1  # KAI's counter lets one more pass
        return CappedLine(self.state, self.numbers, self._pool, claim.allowed(), most)

    def _evict_stale_gangs(self) -> None:
        grace_ms = self.settings.stale_grace_ms
        for name, pods, reason in list(stale_gangs(self.state, self.gang, self.now_ms, grace_ms)):
            self.record.touch(name)
            self.state.apply(WorkloadDisplaced(workload=name, pods=pods))
            self.record.act(Act(reason), [(name, pod) for pod in pods])
        self.looked_at_the_clock |= awaits_staleness(self.state, self.now_ms, grace_ms)

    def _victim_pool(self) -> VictimPool:
        """Return who may be asked to give way: KAI asks also those who came in this cycle."""
        settled = None if self.settings.faithful else self._is_settled
        return VictimPool(self.state, self.gang, settled)

    def _is_settled(self, pod: PodKey) -> bool:
        return pod in self._spared or self.record.is_settled(pod)

    def _races(
        self, claimant: WorkloadName, pods: tuple[PodId, ...]
    ) -> tuple[PendingJobs, QueueRace]:
        """Line up all that waits, with *pods* of the claimant as its next."""
        return self._line_up(None, {claimant: pods})

    def _line_up(
        self, depth: int | None, claims: Mapping[WorkloadName, tuple[PodId, ...]] = NO_CLAIMS
    ) -> tuple[PendingJobs, QueueRace]:
        jobs = self._waiting(depth, claims)
        return jobs, QueueRace(self.state, self.numbers, jobs.next_request)

    def _waiting(
        self, depth: int | None, claims: Mapping[WorkloadName, tuple[PodId, ...]] = NO_CLAIMS
    ) -> PendingJobs:
        """Return all that waits in leaves; *claims* are what some would start next."""
        jobs = PendingJobs(self.state, depth, self._gangs, self._evicted)
        for name, pods in claims.items():
            jobs.claim(name, pods)
        for leaf in self.leaves:
            jobs.add_queue(leaf)
        return jobs

    def _depth(self, action: str) -> int | None:
        return dict(self.settings.queue_depth).get(action)


def node_finder(state: ClusterState, settings: KaiSettings) -> NodeFinder:
    """Return what finds nodes in *state* as *settings* say, through all its changes."""
    index = NodeIndex(
        state,
        spread_gpus=settings.gpu_placement == "spread",
        spread_cpus=settings.cpu_placement == "spread",
    )
    on_devices = settings.device_placement or settings.gpu_placement
    rule = DeviceRule(spread=on_devices == "spread", wait_to_pack=settings.faithful)
    return NodeFinder(state, index, rule)


def _misplaced(
    state: ClusterState, leaves: Set[QueueName]
) -> Iterator[tuple[WorkloadName, Reason]]:
    """Yield the jobs that no queue can run: theirs is not there, or not a leaf."""
    for queue in state.waited_for():
        if queue in leaves:
            continue
        reason = _why_no_leaf(state, queue)
        for name in state.waiting(queue):
            yield name, reason


def _why_no_leaf(state: ClusterState, queue: QueueName) -> Reason:
    path = state.path(queue)
    missing = state.queues[path[-1]].parent if path else queue
    if missing is not None:
        return Reason(code=QUEUE_DOES_NOT_EXIST, queue=missing)
    return Reason(code=QUEUE_HAS_CHILDREN, queue=queue)


def _unready(state: ClusterState, name: WorkloadName, gang: Gang) -> Reason:
    """Return why a job in a leaf has nothing to start: it is held back, or pods are missing.

    Pods with a gate are there. Only where they would not do either, pods are missing.
    """
    workload = state.workloads[name]
    if not workload.active:
        return Reason(code=SUSPENDED, queue=workload.queue)
    gated = _gated_pods(workload, gang)
    there = [(group, n + gated[group.name]) for group, n in gang.incomplete(state.runs.get(name))]
    missing = tuple(
        Tally(
            count=count,
            of=group.minimum,
            things=f"pods that {group.name or 'the job'} needs",
            what="are there",
        )
        for group, count in there
        if count < group.minimum
    )
    held_back = Tally(
        count=gated.total(), of=workload.pod_count(), things="pods", what="have a scheduling gate"
    )
    if missing:
        tallies = (*missing, held_back) if gated else missing
        return Reason(code=NOT_READY, queue=workload.queue, tallies=tallies)
    return Reason(code=SCHEDULING_GATED, queue=workload.queue, tallies=(held_back,))


def _gated_pods(workload: Workload, gang: Gang) -> Counter[str]:
    """Return how many pods of each group of *gang*, by its name, have a scheduling gate."""
    names = {group.name for group in gang.groups}
    gated: Counter[str] = Counter()
    for each in workload.pod_sets:
        if each.gated:
            gated[each.sub_group if each.sub_group in names else ""] += each.count
    return gated
