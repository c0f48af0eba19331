"""What one job may take from others under an action: consolidation, reclaim or preempt.

The three differ in which jobs may try, which candidates may be evicted, and which scenarios may
stand. *Consolidation* moves preemptible pods so that fragments become whole; no pod may lose its
place. *Reclaim* restores the fair share of a queue at the cost of others. *Preempt* lets jobs of a
queue replace its jobs of lower priority.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from operator import gt
from typing import Literal, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.fair_share.capacity import over_quota
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.min_runtime import (
    GroupPods,
    eviction_stands,
    is_protected,
    may_be_victim,
    preempt_min_runtime_ms,
    reclaim_min_runtime_ms,
)
from fairlead.policy.kai.ordering.tournament import Division, Draw
from fairlead.policy.kai.reclaimable import (
    Loss,
    Reclaimer,
    ReclaimJudge,
    Verdict,
    allocated_now,
    losses_of,
    lost_together,
    may_reclaim,
)
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import (
    Candidate,
    CandidateSource,
    EligibleCandidates,
    EvictionOrder,
    VictimFilter,
    charge_of,
)
from fairlead.policy.kai.victims.solver import Scenario, Validator

ActionName: TypeAlias = Literal["consolidation", "reclaim", "preempt"]


class Judgement(NamedTuple):
    """What the judge of reclaim said of the losses of a scenario."""

    judge: ReclaimJudge
    losses: Sequence[Loss]
    verdict: Verdict


class RefusedScenario(NamedTuple):
    """A scenario in which so many pods of the preemptor had a place, and which may not stand.

    Without a judgement it failed because a protected job, or in consolidation any job, would lose.
    """

    pods: int
    scenario: Scenario
    judgement: Judgement | None


class AttemptContext:
    """What attempts of one cycle look at."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        division: Division,
        candidates: CandidateSource,
        finder: NodeFinder,
    ) -> None:
        """Look at *state*, which is on trial, with the *division* of its cycle."""
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        self.division = division
        self.shares = division.shares
        self.leaves = division.leaves
        self.finder = finder
        self.candidates = candidates

    def gang(self, job: WorkloadName) -> Gang:
        """Return the gang of a job."""
        return Gang(self.state.workloads[job])

    def over_entitlement(self) -> Set[QueueName]:
        """Return the leaves with a queue on their path that is over its guarantee or share.

        Only these can lose anything to a reclaim. Cost: a look at each queue.
        """
        state, over = self.state, set()
        for name, share in self.shares.items():  # parents before children
            held, queue = state.sums[name].allocated, state.queues[name]
            if (
                queue.parent in over
                or _is_over(held, queue.guaranteed)
                or _is_over(held, share.allocatable)
            ):
                over.add(name)
        return {name: None for name in self.leaves if name in over}.keys()

    def gpu_later(self) -> int:
        """Return how many GPUs are or will be free in the cluster, in thousandths."""
        return self.finder.gpu_later()

    @cached_property
    def has_reclaim_min_runtime(self) -> bool:
        """Whether any job may be protected from reclaim by a minimum runtime."""
        promised = [queue.reclaim_min_runtime_ms for queue in self.state.queues.values()]
        return self.settings.reclaim_min_runtime_ms > 0 or any(promised)


class Attempt:
    """The attempt of one job under one action, while the state is as the search found it."""

    def __init__(
        self, context: AttemptContext, action: ActionName, job: WorkloadName, request: Amounts
    ) -> None:
        """Let *job* try to get *request*, on the quota axes."""
        self.context = context
        self.action = action
        self.workload = context.state.workloads[job]
        self.request = request
        self.path = context.state.path(self.workload.queue)
        self.accepted: Judgement | None = None  # the last one that allowed its losses
        self.refused: RefusedScenario | None = None  # the first one of those with the most pods
        self.includes_entitled = context.settings.faithful  # in a reclaim, see `filters`
        self.kept_by: Judgement | None = None  # why the first entitled candidate is not evicted
        self.protected: dict[WorkloadName, int] = {}  # by a minimum runtime, for how many ms
        self.fully_protected: set[WorkloadName] = (
            set()
        )  # those of them of which no pod can be evicted
        self._protected_groups: dict[WorkloadName, list[GroupPods]] = {}  # at the start

    def is_admitted(self) -> bool:
        """Return whether the job may take anything under this action."""
        context, workload = self.context, self.workload
        match self.action:
            case "consolidation":
                return workload.preemptible and self._gpus() <= context.gpu_later()
            case "reclaim":
                share = context.shares[workload.queue]
                return may_reclaim(
                    context.state, share, self.request, preemptible=workload.preemptible
                )
            case "preempt":
                lowest = context.candidates.lowest_priority(workload.queue)
                if lowest is None or lowest >= workload.priority:
                    return False
                if workload.preemptible:
                    return True
                return over_quota(context.state, self.path, self.request) is None

    def filters(self) -> Iterator[tuple[QueueName, VictimFilter]]:
        """Yield the leaves whose candidates may be evicted, each with the filter for them.

        In a reclaim these are the leaves that are over their entitlement. With `includes_entitled`
        the others are among them: their jobs can lose nothing, but may be moved. Cost: a look at
        each leaf; a filter looks at a job when its turn comes.
        """
        own = self.workload.queue
        if self.action == "preempt":
            yield own, self._preempts
            return
        is_by_right = self._needs_over_entitlement()
        for leaf in self.context.over_entitlement() if is_by_right else self.context.leaves:
            if self.action == "consolidation":
                yield leaf, self._is_another
            elif leaf != own and (not is_by_right or self.may_lose(leaf)):
                yield leaf, self._reclaim_filter(leaf)

    def has_candidate_queue(self) -> bool:
        """Return whether there is a leaf whose candidates may be evicted."""
        return next(self.filters(), None) is not None

    def eviction_order(self, candidates: EligibleCandidates, most: int | None) -> EvictionOrder:
        """Return in which order *candidates* are evicted for the job, at most so many jobs.

        Only the queues that may lose something meet, except in faithful mode.
        """
        state, division, filters = self.context.state, self.context.division, list(self.filters())
        draw = division.draw
        if not self.context.settings.faithful and len(filters) < len(division.leaves):
            draw = Draw.of_leaves(state, [leaf for leaf, _ in filters])
        return EvictionOrder(state, candidates, filters, draw, division.numbers, most)

    def judge_first_entitled(self, candidates: EligibleCandidates) -> Judgement | None:
        """Return what the judge of reclaim says if only the first entitled candidate is evicted.

        None: all candidates may be evicted.
        """
        if not self._needs_over_entitlement():
            return None
        state, division = self.context.state, self.context.division
        filters = [
            (leaf, self._reclaim_filter(leaf))
            for leaf in division.leaves
            if leaf != self.workload.queue and not self.may_lose(leaf)
        ]
        order = EvictionOrder(state, candidates, filters, division.draw, division.numbers)
        candidate = order.pop()
        if candidate is None:
            return None
        costs = [candidate.costs[pod] for pod in candidate.evicted_first()]
        queue = state.workloads[candidate.job].queue
        losses = losses_of(queue, costs, candidate.gang.minimum())
        return Judgement(self._judge, losses, self._judge.judge(losses))

    def may_lose(self, leaf: QueueName) -> bool:
        """Return whether *leaf* can lose anything to a reclaim of the whole request."""
        return self._judge.may_lose(leaf)

    def validator_for(self, pods: Sequence[PodId]) -> Validator:
        """Return what validates scenarios for the first *pods* of the preemptor."""
        rule = self._reclaim_rule(pods) if self.action == "reclaim" else self._other_rule

        def validate(scenario: Scenario) -> bool:
            may_stand, judgement = rule(scenario)
            if not may_stand and (self.refused is None or self.refused.pods < len(pods)):
                self.refused = RefusedScenario(len(pods), scenario, judgement)
            return may_stand

        return validate

    def losses(self, scenario: Scenario) -> list[tuple[WorkloadName, list[tuple[PodId, Amounts]]]]:
        """Return the pods that are lost at once, with their costs, in the order of judging.

        Jobs come in the order in which they were evicted. A moved pod is not lost, where reclaim
        may consolidate.
        """
        return [
            (job, piece)
            for job, pods in self._evicted(scenario).items()
            for piece in lost_together(pods, self.context.gang(job).minimum())
        ]

    def _needs_over_entitlement(self) -> bool:
        return self.action == "reclaim" and not self.includes_entitled

    @cached_property
    def _judge(self) -> ReclaimJudge:
        """The judge of what is lost for the whole request."""
        return self._judge_of(self.request)

    @cached_property
    def _allocated(self) -> Mapping[QueueName, Amounts]:
        """What queues held when the search began, which is when it first needs a judge."""
        return allocated_now(self.context.state)

    def _evicted(
        self, scenario: Scenario
    ) -> dict[WorkloadName, list[tuple[PodId, Amounts] | None]]:
        """Return the evicted pods of each job with their costs; None for one that is not lost."""
        gone = scenario.lost
        if not self.context.settings.consolidating_reclaim:
            gone = scenario.lost | scenario.moved
        found: dict[WorkloadName, list[tuple[PodId, Amounts] | None]] = {}
        for group in scenario.evicted:
            found.setdefault(group.job, []).extend(
                [
                    (pod, group.costs[pod]) if (group.job, pod) in gone else None
                    for pod in group.pods
                ]
            )
        return found

    def _other_rule(self, scenario: Scenario) -> tuple[bool, None]:
        """Judge consolidation, in which no pod may lose its place, or preemption."""
        if self.action == "consolidation":
            return not scenario.lost, None
        return self._keeps_protected(scenario), None

    def _reclaim_rule(
        self, pods: Sequence[PodId]
    ) -> Callable[[Scenario], tuple[bool, Judgement | None]]:
        judge = self._judge_of(charge_of(self.context.state, self.workload.name, pods))
        workloads, gang = self.context.state.workloads, self.context.gang

        def rule(scenario: Scenario) -> tuple[bool, Judgement | None]:
            losses = [
                loss
                for job, pods in self._evicted(scenario).items()
                for loss in losses_of(
                    workloads[job].queue, [each and each[1] for each in pods], gang(job).minimum()
                )
            ]
            judgement = Judgement(judge, losses, judge.judge(losses))
            if not judgement.verdict.stands:
                return False, judgement
            self.accepted = judgement
            return self._keeps_protected(scenario), None

        return rule

    def _judge_of(self, request: Amounts) -> ReclaimJudge:
        context, workload = self.context, self.workload
        return ReclaimJudge(
            context.state,
            context.shares,
            Reclaimer(queue=workload.queue, request=request, preemptible=workload.preemptible),
            allocated=self._allocated,
            multiplier=context.settings.reclaimer_multiplier,
        )

    def _is_another(self, candidate: Candidate) -> bool:
        return candidate.job != self.workload.name

    def _preempts(self, candidate: Candidate) -> bool:
        context = self.context
        if context.state.workloads[candidate.job].priority >= self.workload.priority:
            return False
        min_ms = preempt_min_runtime_ms(context.state.queues, self.path, context.settings)
        return min_ms == 0 or self._may_be_victim(candidate.job, min_ms)

    def _reclaim_filter(self, leaf: QueueName) -> VictimFilter:
        context = self.context
        if not context.has_reclaim_min_runtime:
            return _every_candidate
        path = context.state.path(leaf)
        min_ms = reclaim_min_runtime_ms(context.state.queues, path, self.path, context.settings)
        if min_ms == 0:
            return _every_candidate
        return lambda candidate: self._may_be_victim(candidate.job, min_ms)

    def _may_be_victim(self, victim: WorkloadName, min_runtime_ms: int) -> bool:
        """Return whether pods of a job with that minimum runtime may be evicted now."""
        run = self.context.state.runs[victim]
        started_ms, now_ms = run.started_ms(), self.context.now_ms
        groups = self._groups(victim)
        if started_ms is None or not is_protected(started_ms, min_runtime_ms, now_ms):
            return True
        self._protected_groups[victim] = groups
        self.protected[victim] = started_ms + min_runtime_ms - now_ms
        if may_be_victim(groups, protected=True):
            return True
        self.fully_protected.add(victim)
        return False

    def _groups(self, job: WorkloadName) -> list[GroupPods]:
        run = self.context.state.runs[job]
        live = {pod for pod, placed in run.pods.items() if placed.phase != "leaving"}
        return [
            GroupPods(
                count=len(group.pods),
                running=sum(pod in live for pod in group.pods),
                minimum=group.minimum,
            )
            for group in self.context.gang(job).groups
        ]

    def _keeps_protected(self, scenario: Scenario) -> bool:
        """Return whether protected elastic jobs keep their minimum, also if only considered."""
        considered: dict[WorkloadName, set[PodId]] = {}
        for group in scenario.considered:
            if group.job in self._protected_groups:
                considered.setdefault(group.job, set()).update(group.pods)
        for job, pods in considered.items():
            lost = [len(pods.intersection(g.pods)) for g in self.context.gang(job).groups]
            if not eviction_stands(self._protected_groups[job], lost, protected=True):
                return False
        return True

    def _gpus(self) -> int:
        """Return how many whole GPUs it needs, of which nodes have enough or not.

        A job with slices of GPUs is not judged by that: nodes count slices by themselves.
        """
        axes, resources = self.context.state.axes, self.context.state.resources
        slices = [at for at, name in enumerate(resources) if name in axes.worth]
        if any(each.requests[at] for each in self.workload.pod_sets for at in slices):
            return 0
        at = axes.index("gpu")
        return 0 if at is None else self.request[at]


def _every_candidate(_candidate: Candidate) -> bool:
    return True


def _is_over(held: Sequence[int], most: Limits) -> bool:
    """Return whether more is held of any resource than *most* allows; None: no limit."""
    bounds = [each if bound is None else bound for each, bound in zip(held, most, strict=True)]
    return any(map(gt, held, bounds))
