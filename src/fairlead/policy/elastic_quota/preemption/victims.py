"""Which pods of one node are evicted to make room for a pod.

All candidates on the node are removed, lowest priority first. If the pod then fits and breaks no
quota rule, they are reprieved one by one: first those that a disruption budget protects, then by
priority, highest first. A pod that cannot be reprieved is a victim.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import add, sub
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.admission import QuotaCheck
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.quota.usage import UsageTotals

Outcome: TypeAlias = Literal[
    "victims", "no-victim-needed", "no-victims", "does-not-fit", "quota", "error"
]
NodeCost: TypeAlias = tuple[int, int, int, int, int, str]

PRIORITY_OFFSET: Final = 2**31  # makes every priority positive, so that fewer victims cost less


class NodeOutcome(NamedTuple):
    """The outcome of one node; victims are listed with the highest priority first."""

    node: str
    outcome: Outcome
    victims: tuple[RunningPod, ...] = ()
    violations: int = 0

    def is_choice(self, expects_termination: bool) -> bool:
        """Return whether the pod may be nominated here.

        Without victims it may only if it *expects_termination* of pods that are there.
        """
        return self.outcome == "victims" or (
            expects_termination and self.outcome == "no-victim-needed"
        )

    @property
    def cost(self) -> NodeCost:
        """The cost by which nodes are compared, least first."""
        if not self.victims:
            return (0, -PRIORITY_OFFSET, 0, 0, 0, self.node)
        top = self.victims[0].priority
        return (
            self.violations,
            top,
            sum([each.priority + PRIORITY_OFFSET for each in self.victims]),
            len(self.victims),
            -min([each.started_ms for each in self.victims if each.priority == top]),
            self.node,
        )


CandidateScope: TypeAlias = Literal["own namespace", "borrowers", "without quota"]
"""Among which running pods victims are selected."""


class NodeView(NamedTuple):
    """What one pod sees of a node.

    *fits* says whether ports and affinity allow the pod once the given pods are gone; None: only
    capacity matters.
    """

    node: str
    running: Sequence[RunningPod]  # highest priority first
    free: Amounts  # after the nominated pods that are ahead of the pod
    fits: Callable[[Sequence[RunningPod]], bool] | None = None


class UsageTrial:
    """The usage of all quotas and of the pool while some running pods are gone."""

    def __init__(self, use: UsageTotals, removed: Iterable[RunningPod] = ()) -> None:
        """Count the pods in *removed* as gone from *use*."""
        self.pool: list[int] = list(use.pool)
        self.removed: dict[RunningPod, None] = {}
        self._used = use.used
        self._lowered: dict[QueueName, list[int]] = {}
        for candidate in removed:
            self.remove(candidate)

    def used(self, queue: QueueName) -> Sequence[int]:
        """Return what a quota uses."""
        return self._lowered.get(queue) or self._used[queue]

    def remove(self, candidate: RunningPod) -> None:
        """Count a pod as gone."""
        self._change(candidate, sub)
        self.removed[candidate] = None

    def restore(self, candidate: RunningPod) -> None:
        """Undo `remove`."""
        self._change(candidate, add)
        del self.removed[candidate]

    def _change(self, candidate: RunningPod, by: Callable[[int, int], int]) -> None:
        queue, charge = candidate.queue, candidate.charge
        if queue is not None:
            self.pool = list(map(by, self.pool, charge))
            self._lowered[queue] = list(map(by, self.used(queue), charge))


class NodeTrial(UsageTrial):
    """The same, with what is free on the one node of these pods."""

    def __init__(self, use: UsageTotals, view: NodeView) -> None:
        """Start with all pods there."""
        super().__init__(use)
        self.view: Final = view
        self.free: list[int] = list(view.free)

    def remove(self, candidate: RunningPod) -> None:
        """Count a pod as gone."""
        super().remove(candidate)
        self.free = list(map(add, self.free, candidate.requests))

    def restore(self, candidate: RunningPod) -> None:
        """Undo `remove`."""
        super().restore(candidate)
        self.free = list(map(sub, self.free, candidate.requests))


class VictimSelection:
    """Selects victims for one pod, or a gang as one, under one rule."""

    def __init__(
        self,
        context: PlanningContext,
        pending: PendingPod,
        check: QuotaCheck,
        scope: CandidateScope,
        *,
        protects_min: bool,
    ) -> None:
        """Select among *scope*; with *protects_min* no quota falls below its min."""
        self.pending: Final = pending
        self.check: Final = check
        self.scope: Final = scope
        self.protects_min: Final = protects_min
        self._quotas = context.quotas
        self._budgets = context.budgets
        self._nominations = context.nominations
        self._quirks = context.quirks
        self._exempt = context.exempt
        self._started = context.started
        self._held = context.state.holds.victims
        # Judging equal candidates once makes a gang's preemption 1.5 times as fast.
        self._may_lose_now: dict[tuple[QueueName, Amounts, bool], bool] = {}
        self.needed: Final = [(at, need) for at, need in enumerate(pending.requests) if need > 0]

    def evaluate(self, view: NodeView) -> NodeOutcome:
        """Return the victims on a node, or why evictions there do not help."""
        trial = NodeTrial(self.check.use, view)
        is_enough = not self._quirks.leaving_counts and self._fits(trial)
        if is_enough and not self.violates_quota(trial):
            return NodeOutcome(view.node, "no-victim-needed")
        for candidate in self._least_important_first(view.running):
            if self.is_candidate(candidate, trial):
                trial.remove(candidate)
        if not trial.removed:
            return NodeOutcome(view.node, "no-victims")
        if not self._fits(trial):
            return NodeOutcome(view.node, "does-not-fit")
        if self.violates_quota(trial, bare=self._quirks.bare_first_check):
            return NodeOutcome(view.node, "quota")
        return self._reprieve(trial)

    def is_candidate(self, candidate: RunningPod, trial: UsageTrial | None = None) -> bool:
        """Return whether a running pod may be evicted, alone or beside those of *trial*."""
        if candidate.key[0] in self._exempt or candidate.key in self._held:
            return False
        queue, pending = candidate.queue, self.pending
        if self.scope != "borrowers":
            return queue == pending.queue and candidate.priority < pending.priority
        if queue is None or queue == pending.queue:
            return False
        if trial is not None:
            return self._may_lose(candidate, trial)
        kind = (queue, candidate.charge, candidate.key in self._started.pods)
        known = self._may_lose_now.get(kind)
        if known is None:
            known = self._may_lose(candidate, UsageTrial(self.check.use))
            self._may_lose_now[kind] = known
        return known

    def usage_behind(self, candidate: RunningPod, trial: UsageTrial) -> Sequence[int]:
        """Return the usage by which it is judged whether the quota of *candidate* may lose it.

        A pod that ran before the plan is judged as if the plan had started no pod of its quota:
        what a quota was given a moment ago, it gives back before it loses anything else.
        """
        queue = candidate.queue
        assert queue is not None, "only a pod with a quota borrows"
        used, pods = trial.used(queue), self._started.pods
        if not pods or candidate.key in pods:
            return used
        started = self._started.charged(queue)
        for other in trial.removed:
            if other.queue == queue and other.key in pods:
                started = tuple(map(sub, started, other.charge))  # not in the usage any more
        return list(map(sub, used, started))

    def _least_important_first(self, running: Sequence[RunningPod]) -> Iterable[RunningPod]:
        """Return pods, listed by importance, in the order in which they are removed.

        Pods of equal priority and start are removed in the reverse of the order in which they are
        reprieved. The plugin removes them in the same order, because its sort takes each of two
        equal pods for less important than the other. That shows where a quota stops giving.
        """
        if not self._quirks.below_min:
            return reversed(running)
        return sorted(running, key=lambda each: (each.priority, -each.started_ms))

    def _may_lose(self, candidate: RunningPod, trial: UsageTrial) -> bool:
        """Return whether a quota may lose *candidate* beside the pods of *trial*."""
        assert candidate.queue is not None, "only a pod with a quota borrows"
        used = self.usage_behind(candidate, trial)
        return self.borrows(candidate, used) and (
            not self.protects_min or self.keeps_min(candidate.queue, used, candidate.charge)
        )

    def borrows(self, candidate: RunningPod, used: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* borrows something that *candidate* returns.

        It is over its min on an axis that is requested and that the pod uses. A quota that borrows
        something else owes nothing here. The plugin looks at every axis, whether the pod uses it or
        not.
        """
        assert candidate.queue is not None, "only a pod with a quota borrows"
        least, charge = self._quotas.guaranteed[candidate.queue], candidate.charge
        any_axis_counts = self._quirks.pool_all
        return any(
            used[at] > least[at] and (any_axis_counts or charge[at] > 0)
            for at in self.check.pool_axes
        )

    def keeps_min(self, queue: QueueName, used: Sequence[int], charge: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* keeps its min if it loses *charge*.

        That must hold with its own nominated pods, because replacing one of its own pods gives
        nothing up; and without them, because they may not start.
        """
        least = self._quotas.guaranteed[queue]
        with_promised = list(map(add, used, self._nominations.nominated_in(queue)))
        return keeps_min(used, charge, least) and keeps_min(with_promised, charge, least)

    def violates_quota(self, trial: UsageTrial, *, bare: bool = False) -> bool:
        """Return whether the pod breaks a quota rule; *bare*: nominated pods do not count."""
        queue, check = self.pending.queue, self.check
        if queue is None:
            return False
        in_quota, in_pool = check.in_quota, check.in_pool
        if bare:
            in_quota = in_pool = self.pending.charge
        ceiling, pool = self._quotas.ceiling[queue], self._quotas.pool
        return exceeds(trial.used(queue), in_quota, ceiling, check.own_axes) or exceeds(
            trial.pool, in_pool, pool, check.pool_axes
        )

    def violates_quota_without(self, removed: Iterable[RunningPod]) -> bool:
        """Return whether the pod breaks a quota rule once *removed* are gone."""
        return self.violates_quota(UsageTrial(self.check.use, removed))

    def pool_excess(self) -> list[tuple[int, int]]:
        """Return how much of the pool must be freed for a node to qualify, by axis."""
        if self.pending.queue is None:
            return []
        check = self.check
        scope = self.pending.charge if self._quirks.bare_first_check else check.in_pool
        over = [
            (at, check.use.pool[at] + scope[at] - self._quotas.pool[at]) for at in check.pool_axes
        ]
        return [(at, excess) for at, excess in over if excess > 0]

    def has_room(self, free: Sequence[int]) -> bool:
        """Return whether *free* is enough for the pod; an axis with a request of 0 is ignored."""
        return all(free[at] >= need for at, need in self.needed)

    def _fits(self, trial: NodeTrial) -> bool:
        if not self.has_room(trial.free):
            return False
        beyond_room = trial.view.fits
        return beyond_room is None or beyond_room(tuple(trial.removed))

    def _reprieve(self, trial: NodeTrial) -> NodeOutcome:
        node, quirks = trial.view.node, self._quirks
        taken = sorted(trial.removed)
        protected = self._budgets.protected(taken)
        victims: list[RunningPod] = []
        violations = 0
        for candidate in sorted(taken, key=lambda each: each not in protected):
            trial.restore(candidate)
            fits = self._fits(trial)
            if not fits:
                trial.remove(candidate)
            if self.violates_quota(trial):
                if fits:
                    trial.remove(candidate)
                elif quirks.double_remove:
                    return NodeOutcome(node, "error")
            elif fits:
                continue
            victims.append(candidate)
            if candidate in protected and not (fits and quirks.pdb_undercount):
                violations += 1
        if not victims:
            return NodeOutcome(node, "no-victim-needed")
        return NodeOutcome(node, "victims", tuple(sorted(victims)), violations)


def keeps_min(used: Sequence[int], charge: Sequence[int], least: Sequence[int]) -> bool:
    """Return whether a quota that loses *charge* falls below *least* on no axis.

    An axis that is below already does not count. Otherwise a namespace that leaves its min of one
    resource unused would keep what it borrows of another for ever.
    """
    rows = zip(used, charge, least, strict=True)
    return not any(using - amount < bound <= using for using, amount, bound in rows)
