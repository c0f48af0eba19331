"""Who may take a place from whom: consolidation, reclaim and preemption.

The three differ in which jobs may claim, who may be asked to give way, and what must hold in the
end. *Consolidation* moves preemptible pods so that fragments become whole; nobody may lose a place.
*Reclaim* restores the fair share of a queue at the cost of others. *Preemption* lets more important
jobs of a queue go before its less important ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.fair_share.capacity import over_quota
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.min_runtime import (
    GroupPods,
    eviction_stands,
    is_protected,
    may_be_victim,
    preempt_min_runtime_ms,
    reclaim_min_runtime_ms,
)
from fairlead.policy.kai.pruning.losses import LossBound
from fairlead.policy.kai.pruning.room import PlaceBalance
from fairlead.policy.kai.reclaimable.gate import may_reclaim
from fairlead.policy.kai.reclaimable.judge import (
    Loss,
    Reclaimer,
    ReclaimJudge,
    Verdict,
    in_pieces,
    losses_of,
)
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import Candidate, VictimGroup
from fairlead.policy.kai.victims.eviction_order import VictimFilter, charge_of
from fairlead.policy.kai.victims.solver import Judge, MayStand, Scenario

ActionName: TypeAlias = Literal["consolidation", "reclaim", "preempt"]


class Judgement(NamedTuple):
    """What the judge of reclaim said of the losses of a try."""

    judge: ReclaimJudge
    losses: Sequence[Loss]
    verdict: Verdict


class RefusedScenario(NamedTuple):
    """A try in which so many pods of the claimant had a place, and which may not stand.

    Without *judged*, because a protected job, or in consolidation anybody, would lose too much.
    """

    pods: int
    scenario: Scenario
    judged: Judgement | None


class AttemptContext(Protocol):
    """What the rules of a claim look at."""

    state: ClusterState
    settings: KaiSettings
    now_ms: int
    shares: dict[QueueName, KaiShare]
    explain: bool  # a claim failed: then every try is judged

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that hold jobs."""

    def might_lose(self) -> Set[QueueName]:
        """Return the leaves of which anybody at all might be asked to give something back."""

    def allocated(self) -> Mapping[QueueName, Amounts]:
        """Return what every queue holds now, apart from the state and whatever becomes of it."""

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""

    def promises_run_time(self) -> bool:
        """Return whether anybody may run for a time before others reclaim its place."""

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those who hold something in *queue* and could give way."""


class Attempt:
    """One job's claim under one action, while the state is as the search found it."""

    def __init__(
        self, world: AttemptContext, action: ActionName, job: WorkloadName, request: Amounts
    ) -> None:
        """Let *job* claim *request*, on the quota axes."""
        self.world = world
        self.action = action
        self.workload = world.state.workloads[job]
        self.request = request
        self.path = world.state.path(self.workload.queue)
        self.stood: Judgement | None = None  # what was said last of losses that may stand
        self.stopped: RefusedScenario | None = None  # the first one of those with the most pods
        self.asks_everybody = world.settings.faithful  # in a reclaim, also who holds what it may
        self.kept_by: Judgement | None = None  # why the first of those who are not asked is not
        self.spared: dict[WorkloadName, int] = {}  # who is protected, and for how long
        self.barred: set[WorkloadName] = set()  # those of them that cannot be asked at all
        self._protected: dict[WorkloadName, list[GroupPods]] = {}  # as the search found them

    def is_admitted(self) -> bool:
        """Return whether the job may claim anything under this action."""
        world, workload = self.world, self.workload
        match self.action:
            case "consolidation":
                return workload.preemptible and self._gpus() <= world.gpu_later()
            case "reclaim":
                share = world.shares[workload.queue]
                return may_reclaim(
                    world.state, share, self.request, preemptible=workload.preemptible
                )
            case "preempt":
                lowest = world.lowest_priority(workload.queue)
                if lowest is None or lowest >= workload.priority:
                    return False
                if workload.preemptible:
                    return True
                return over_quota(world.state, self.path, self.request) is None

    def allowed(self) -> Iterator[tuple[QueueName, VictimFilter]]:
        """Yield the leaves whose jobs may be asked to give way, and which of them may.

        Cost: a look at each leaf; what is asked of a job is asked when its turn comes.
        """
        own = self.workload.queue
        if self.action == "preempt":
            yield own, self._preempts
            return
        for leaf in self.world.might_lose() if self._asks_by_right() else self.world.leaves:
            if self.action == "consolidation":
                yield leaf, self._is_another
            elif leaf != own and self._may_lose(leaf):
                yield leaf, self._reclaims_from(leaf)

    def has_anybody_to_ask(self) -> bool:
        """Return whether there is a leaf whose jobs may be asked."""
        return next(self.allowed(), None) is not None

    def losers(self) -> Iterator[tuple[QueueName, VictimFilter]]:
        """Yield the leaves of which somebody may lose its place to a reclaim."""
        for leaf in self.world.might_lose():
            if leaf != self.workload.queue and self._judge.may_lose(leaf):
                yield leaf, self._reclaims_from(leaf)

    def lacking_gpus(self, pods: Sequence[PodId]) -> int:
        """Return how much of GPUs others lose at least for one of *pods*, in thousandths; 0: none.

        None is certain of pods that share devices: what waits may count for more than it takes.
        """
        gpu, world, sets = self.world.state.axes.index("gpu"), self.world, self.workload.pod_sets
        if gpu is None or any(sets.of(pod).gpu_share for pod in pods):
            return 0
        name, state = self.workload.name, world.state
        least = min([charge_of(state, name, (pod,))[gpu] for pod in pods])
        return max(0, least - world.gpu_later())

    def within_rights(self) -> Iterator[tuple[QueueName, VictimFilter]]:
        """Yield the other leaves, which are not asked because they hold what they may."""
        if self.action == "reclaim":
            for leaf in self.world.leaves:
                if leaf != self.workload.queue and not self._may_lose(leaf):
                    yield leaf, self._reclaims_from(leaf)

    def judge_of(self, candidate: Candidate) -> Judgement:
        """Return what the judge of reclaim says if *candidate* alone gives up what it would."""
        costs = [candidate.costs[pod] for pod in candidate.evicted_first()]
        queue = self.world.state.workloads[candidate.job].queue
        losses = losses_of(queue, costs, candidate.gang.minimum())
        return Judgement(self._judge, losses, self._judge.judge(losses))

    def _asks_by_right(self) -> bool:
        """Return whether only those are asked who hold more than they may."""
        return self.action == "reclaim" and not self.asks_everybody

    def _may_lose(self, leaf: QueueName) -> bool:
        return not self._asks_by_right() or self._judge.may_lose(leaf)

    @cached_property
    def _judge(self) -> ReclaimJudge:
        """The judge of what is lost for the whole request."""
        return self._judge_of_request(self.request)

    @cached_property
    def _allocated(self) -> Mapping[QueueName, Amounts]:
        """What queues held when the search began, which is when it first asks for a judge."""
        return self.world.allocated()

    def judge_for(self, pods: Sequence[PodId]) -> Judge:
        """Return the judge of what is done for the first *pods* of the claimant."""
        rule = self._reclaim_rule(pods) if self.action == "reclaim" else self._other_rule

        def judge(scenario: Scenario) -> bool:
            may_stand, judged = rule(scenario)
            if not may_stand and (self.stopped is None or self.stopped.pods < len(pods)):
                self.stopped = RefusedScenario(len(pods), scenario, judged)
            return may_stand

        return judge

    def bound_for(self, pods: Sequence[PodId], balance: PlaceBalance) -> MayStand:
        """Return what tells of tries for the first *pods* whether they may stand."""
        gpu, world = self.world.state.axes.index("gpu"), self.world
        if self.action == "consolidation" and not world.explain:
            return lambda asked: max(balance.short(len(pods), asked), default=0) <= 0
        sets = self.workload.pod_sets
        if self.action != "reclaim" or gpu is None or world.explain:
            return _anything
        if any(sets.of(pod).gpu_share for pod in pods):
            return _anything  # what waits may count for more than it takes in the end
        judge = self._judge_of_request(charge_of(world.state, self.workload.name, pods))
        idle, workloads = world.gpu_later(), world.state.workloads
        return LossBound(judge, gpu, idle, workloads, world.gang, balance, len(pods)).allows

    def pieces(
        self, scenario: Scenario
    ) -> list[tuple[WorkloadName, Sequence[tuple[PodId, Amounts]]]]:
        """Return what is lost at once, with its costs, in the order of judging.

        That is job by job in the order in which they were added. Pods with another place are not
        among them, where reclaim may consolidate.
        """
        return [
            (job, piece)
            for job, pods in self._evicted(scenario).items()
            for piece in in_pieces(pods, self.world.gang(job).minimum())
        ]

    def _evicted(self, scenario: Scenario) -> dict[WorkloadName, list[tuple[PodId, Amounts]]]:
        gone = scenario.lost
        if not self.world.settings.consolidating_reclaim:
            gone = scenario.lost | scenario.moved
        evicted: dict[WorkloadName, list[tuple[PodId, Amounts]]] = {}
        for group in scenario.asked:
            own = evicted.setdefault(group.job, [])
            own += [(pod, group.costs[pod]) for pod in group.pods if (group.job, pod) in gone]
        return evicted

    def _other_rule(self, scenario: Scenario) -> tuple[bool, None]:
        """Judge consolidation, in which nobody may lose a place, or preemption."""
        if self.action == "consolidation":
            return not scenario.lost, None
        return self._keeps_protected(scenario), None

    def _reclaim_rule(
        self, pods: Sequence[PodId]
    ) -> Callable[[Scenario], tuple[bool, Judgement | None]]:
        workload = self.workload
        judge = self._judge_of_request(charge_of(self.world.state, workload.name, pods))

        def rule(scenario: Scenario) -> tuple[bool, Judgement | None]:
            losses = self._losses(scenario)
            judged = Judgement(judge, losses, judge.judge(losses))
            if not judged.verdict.stands:
                return False, judged
            self.stood = judged
            return self._keeps_protected(scenario), None

        return rule

    def _judge_of_request(self, request: Amounts) -> ReclaimJudge:
        world, workload = self.world, self.workload
        return ReclaimJudge(
            world.state,
            world.shares,
            Reclaimer(queue=workload.queue, request=request, preemptible=workload.preemptible),
            allocated=self._allocated,
            multiplier=world.settings.reclaimer_multiplier,
        )

    def _is_another(self, candidate: Candidate) -> bool:
        return candidate.job != self.workload.name

    def _preempts(self, candidate: Candidate) -> bool:
        if self.world.state.workloads[candidate.job].priority >= self.workload.priority:
            return False
        world = self.world
        lasting_ms = preempt_min_runtime_ms(world.state.queues, self.path, world.settings)
        return lasting_ms == 0 or self._may_be_asked(candidate.job, lasting_ms)

    def _reclaims_from(self, leaf: QueueName) -> VictimFilter:
        world = self.world
        if not world.promises_run_time():
            return _anybody
        path = world.state.path(leaf)
        lasting_ms = reclaim_min_runtime_ms(world.state.queues, path, self.path, world.settings)
        if lasting_ms == 0:
            return _anybody
        return lambda candidate: self._may_be_asked(candidate.job, lasting_ms)

    def _may_be_asked(self, victim: WorkloadName, lasting_ms: int) -> bool:
        """Return whether a job of a queue that promises to let it run so long may be asked."""
        run = self.world.state.runs[victim]
        started_ms, now_ms = run.started_ms(), self.world.now_ms
        groups = self._groups(victim)
        if started_ms is None or not is_protected(started_ms, lasting_ms, now_ms):
            return True
        self._protected[victim] = groups
        self.spared[victim] = started_ms + lasting_ms - now_ms
        may_be_asked = may_be_victim(groups, protected=True)
        if not may_be_asked:
            self.barred.add(victim)
        return may_be_asked

    def _groups(self, job: WorkloadName) -> list[GroupPods]:
        run = self.world.state.runs[job]
        live = {pod for pod, placed in run.pods.items() if placed.phase != "leaving"}
        return [
            GroupPods(
                count=len(group.pods),
                running=sum(pod in live for pod in group.pods),
                minimum=group.minimum,
            )
            for group in self.world.gang(job).groups
        ]

    def _keeps_protected(self, scenario: Scenario) -> bool:
        """Return whether protected elastic jobs keep their minimum, also those only considered."""
        considered: dict[WorkloadName, set[PodId]] = {}
        for group in scenario.considered:
            if group.job in self._protected:
                considered.setdefault(group.job, set()).update(group.pods)
        for job, pods in considered.items():
            lost = [len(pods.intersection(g.pods)) for g in self.world.gang(job).groups]
            if not eviction_stands(self._protected[job], lost, protected=True):
                return False
        return True

    def _losses(self, scenario: Scenario) -> list[Loss]:
        workloads, gang = self.world.state.workloads, self.world.gang
        return [
            loss
            for job, pods in self._evicted(scenario).items()
            for loss in losses_of(
                workloads[job].queue, [cost for _, cost in pods], gang(job).minimum()
            )
        ]

    def _gpus(self) -> int:
        at = self.world.state.axes.index("gpu")
        return 0 if at is None else self.request[at]


def _anybody(_candidate: Candidate) -> bool:
    return True


def _anything(_asked: Sequence[VictimGroup]) -> bool:
    return True
