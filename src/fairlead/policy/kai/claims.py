"""Who may take a place from whom: consolidation, reclaim and preemption.

The three differ in which jobs may claim, who may be asked to give way, and what must hold in the
end. *Consolidation* moves preemptible pods so that fragments become whole; nobody may lose a place.
*Reclaim* restores the fair share of a queue at the cost of others. *Preemption* lets more important
jobs of a queue go before its less important ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
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
from fairlead.policy.kai.reclaim_gate import reclaim_refusal
from fairlead.policy.kai.reclaim_judge import Reclaimer, ReclaimJudge, allocated_now
from fairlead.policy.kai.reclaim_losses import Loss, losses_of
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShare
from fairlead.policy.kai.victim_line import Candidate, charge_of
from fairlead.policy.kai.victim_search import Judge, Tried

ClaimAction: TypeAlias = Literal["consolidation", "reclaim", "preempt"]


class ClaimWorld(Protocol):
    """What the rules of a claim look at."""

    state: ClusterState
    settings: KaiSettings
    now_ms: int
    shares: dict[QueueName, KaiShare]

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""


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
        self._asked: dict[WorkloadName, tuple[list[GroupPods], bool]] = {}  # protected or not

    def is_admitted(self) -> bool:
        """Return whether the job may claim anything under this action."""
        world, workload = self._world, self._workload
        match self._action:
            case "consolidation":
                return workload.preemptible and self._gpus() <= world.gpu_later()
            case "reclaim":
                share = world.shares[workload.queue]
                allowed = reclaim_refusal(
                    world.state, share, self._request, preemptible=workload.preemptible
                )
                return allowed is None
            case "preempt":
                if workload.preemptible:
                    return True
                return over_quota(world.state, self._path, self._request) is None

    def candidates(self) -> Iterator[Candidate]:
        """Yield the jobs that may be asked to give way. Cost: a look at each job that runs."""
        state = self._world.state
        for name, run in state.runs.items():
            victim = state.workloads[name]
            if not self._is_open(victim):
                continue
            pods = [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]
            if pods and self._may_be_asked(victim):
                yield Candidate(
                    job=name,
                    pods=tuple(sorted(pods, key=victim.pod_name)),
                    gang=self._world.gang(name),
                )

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

    def _is_open(self, victim: Workload) -> bool:
        """Return whether the rules of the action let this one be asked at all."""
        if not victim.preemptible or victim.name == self._workload.name:
            return False
        match self._action:
            case "consolidation":
                return victim.queue in self._world.shares
            case "reclaim":
                return victim.queue != self._workload.queue and victim.queue in self._world.shares
            case "preempt":
                return (
                    victim.queue == self._workload.queue
                    and victim.priority < self._workload.priority
                )

    def _may_be_asked(self, victim: Workload) -> bool:
        if self._action == "consolidation":
            return True
        standing = (self._groups(victim.name), self._is_protected(victim))
        self._asked[victim.name] = standing
        groups, protected = standing
        return may_be_victim(groups, protected=protected)

    def _is_protected(self, victim: Workload) -> bool:
        world = self._world
        run = world.state.runs[victim.name]
        path = world.state.path(victim.queue)
        if self._action == "preempt":
            lasting_ms = preempt_min_runtime_ms(world.state.queues, path, world.settings)
        else:
            lasting_ms = reclaim_min_runtime_ms(
                world.state.queues, path, self._path, world.settings
            )
        return is_protected(run.started_ms(), lasting_ms, world.now_ms)

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
            grouped.setdefault(group.job, set()).update(group.pods)
        for job, pods in grouped.items():
            groups, protected = self._asked[job]
            lost = [len(pods.intersection(g.pods)) for g in self._world.gang(job).groups]
            if not eviction_stands(groups, lost, protected=protected):
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
                    own.append(charge_of(state, group.job, (pod,)))
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
