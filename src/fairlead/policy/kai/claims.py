"""Who may take a place from whom: consolidation, reclaim and preemption.

The three differ in which jobs may claim, who may be asked to give way, and what must hold in the
end. *Consolidation* moves preemptible pods so that fragments become whole; nobody may lose a place.
*Reclaim* restores the fair share of a queue at the cost of others. *Preemption* lets more important
jobs of a queue go before its less important ones.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Literal, Protocol, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.gates import over_quota
from fairlead.policy.kai.min_runtime import (
    GroupPods,
    eviction_stands,
    is_protected,
    may_be_victim,
    preempt_min_runtime_ms,
    reclaim_min_runtime_ms,
)
from fairlead.policy.kai.reclaim_gate import may_reclaim
from fairlead.policy.kai.reclaim_judge import Reclaimer, ReclaimJudge, allocated_now
from fairlead.policy.kai.reclaim_losses import Loss, losses_of
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShare
from fairlead.policy.kai.victim_line import Allows, charge_of
from fairlead.policy.kai.victim_pool import Candidate
from fairlead.policy.kai.victim_search import Judge, Tried

ClaimAction: TypeAlias = Literal["consolidation", "reclaim", "preempt"]


class ClaimWorld(Protocol):
    """What the rules of a claim look at."""

    state: ClusterState
    settings: KaiSettings
    now_ms: int
    shares: dict[QueueName, KaiShare]

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that hold jobs."""

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""

    def promises_run_time(self) -> bool:
        """Return whether anybody may run for a time before others reclaim its place."""

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those who hold something in *queue* and could give way."""


class Claim:
    """One job's claim under one action, while the state is as the search found it."""

    def __init__(
        self, world: ClaimWorld, action: ClaimAction, job: WorkloadName, request: Amounts
    ) -> None:
        """Let *job* claim *request*, on the quota axes."""
        self._world = world
        self._action = action
        self._workload = world.state.workloads[job]
        self._request = request
        self._path = world.state.path(self._workload.queue)
        self._protected: dict[WorkloadName, list[GroupPods]] = {}  # as the search found them

    def is_admitted(self) -> bool:
        """Return whether the job may claim anything under this action."""
        world, workload = self._world, self._workload
        match self._action:
            case "consolidation":
                return workload.preemptible and self._gpus() <= world.gpu_later()
            case "reclaim":
                share = world.shares[workload.queue]
                return may_reclaim(
                    world.state, share, self._request, preemptible=workload.preemptible
                )
            case "preempt":
                lowest = world.lowest_priority(workload.queue)
                if lowest is None or lowest >= workload.priority:
                    return False
                if workload.preemptible:
                    return True
                return over_quota(world.state, self._path, self._request) is None

    def allowed(self) -> Iterator[tuple[QueueName, Allows]]:
        """Yield the leaves whose jobs may be asked to give way, and which of them may.

        Cost: a look at each leaf; what is asked of a job is asked when its turn comes.
        """
        own = self._workload.queue
        if self._action == "preempt":
            yield own, self._preempts
            return
        for leaf in self._world.leaves:
            if self._action == "consolidation":
                yield leaf, self._is_another
            elif leaf != own:
                yield leaf, self._reclaims_from(leaf)

    def judge_for(self, pods: Sequence[PodId]) -> Judge:
        """Return the judge of what is done for the first *pods* of the claimant."""
        if self._action == "consolidation":
            return lambda tried: not tried.lost
        if self._action == "preempt":
            return self._keeps_protected
        state, workload = self._world.state, self._workload
        reclaimer = Reclaimer(
            queue=workload.queue,
            request=charge_of(state, workload.name, pods),
            preemptible=workload.preemptible,
        )
        judge = ReclaimJudge(
            state,
            self._world.shares,
            reclaimer,
            allocated=allocated_now(state),
            multiplier=self._world.settings.reclaimer_multiplier,
        )
        return lambda tried: (
            judge.judge(self._losses(tried)).stands and self._keeps_protected(tried)
        )

    def _is_another(self, candidate: Candidate) -> bool:
        return candidate.job != self._workload.name

    def _preempts(self, candidate: Candidate) -> bool:
        if self._world.state.workloads[candidate.job].priority >= self._workload.priority:
            return False
        world = self._world
        lasting_ms = preempt_min_runtime_ms(world.state.queues, self._path, world.settings)
        return lasting_ms == 0 or self._may_be_asked(candidate.job, lasting_ms)

    def _reclaims_from(self, leaf: QueueName) -> Allows:
        world = self._world
        if not world.promises_run_time():
            return _anybody
        path = world.state.path(leaf)
        lasting_ms = reclaim_min_runtime_ms(world.state.queues, path, self._path, world.settings)
        if lasting_ms == 0:
            return _anybody
        return lambda candidate: self._may_be_asked(candidate.job, lasting_ms)

    def _may_be_asked(self, victim: WorkloadName, lasting_ms: int) -> bool:
        """Return whether a job of a queue that promises to let it run so long may be asked."""
        run = self._world.state.runs[victim]
        protected = is_protected(run.started_ms(), lasting_ms, self._world.now_ms)
        groups = self._groups(victim)
        if protected:
            self._protected[victim] = groups
        return may_be_victim(groups, protected=protected)

    def _groups(self, job: WorkloadName) -> list[GroupPods]:
        run = self._world.state.runs[job]
        live = {pod for pod, placed in run.pods.items() if placed.phase != "leaving"}
        return [
            GroupPods(
                count=len(group.pods),
                running=sum(pod in live for pod in group.pods),
                minimum=group.minimum,
            )
            for group in self._world.gang(job).groups
        ]

    def _keeps_protected(self, tried: Tried) -> bool:
        """Return whether protected elastic jobs keep their minimum, also those only considered."""
        grouped: dict[WorkloadName, set[PodId]] = {}
        for group in tried.grouped:
            if group.job in self._protected:
                grouped.setdefault(group.job, set()).update(group.pods)
        for job, pods in grouped.items():
            lost = [len(pods.intersection(g.pods)) for g in self._world.gang(job).groups]
            if not eviction_stands(self._protected[job], lost, protected=True):
                return False
        return True

    def _losses(self, tried: Tried) -> Iterable[Loss]:
        """Return what queues lose, job by job in the order in which they were added."""
        state = self._world.state
        evicted: dict[WorkloadName, list[Amounts]] = {}
        for group in tried.asked:
            own = evicted.setdefault(group.job, [])
            for pod in group.pods:
                if (group.job, pod) in tried.lost:
                    own.append(group.costs[pod])
        return [
            loss
            for job, charges in evicted.items()
            for loss in losses_of(
                state.workloads[job].queue, charges, self._world.gang(job).minimum()
            )
        ]

    def _gpus(self) -> int:
        at = self._world.state.axes.index("gpu")
        return 0 if at is None else self._request[at]


def _anybody(_candidate: Candidate) -> bool:
    return True
