"""Which pods of one node are evicted to make room for a pod.

All candidates on the node are removed, lowest priority first. If the pod then fits and breaks no
quota rule, they are reprieved one by one: first those that a disruption budget protects, then by
priority, highest first. A pod that cannot be reprieved is a victim.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from operator import add, sub
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.nodes.running_pods import DisruptionBudgets, RunningPod
from fairlead.policy.elastic_quota.quota.admission import QuotaCheck
from fairlead.policy.elastic_quota.quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage
from fairlead.policy.elastic_quota.settings import PluginQuirks

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


class VictimSelection:
    """Selects victims for one pod, node by node, under one rule."""

    def __init__(
        self,
        pending: PendingPod,
        check: QuotaCheck,
        quotas: QuotaUsage,
        budgets: DisruptionBudgets,
        nominations: Nominations,
        quirks: PluginQuirks,
        *,
        scope: CandidateScope,
        protects_min: bool,
        exempt: Set[WorkloadName] = frozenset(),
        held: Set[PodKey] = frozenset(),
    ) -> None:
        """Select among *scope*; with *protects_min* no quota falls below its min.

        Workloads in *exempt* and pods in *held* are no candidates.
        """
        self.pending: Final = pending
        self.check: Final = check
        self.scope: Final = scope
        self.protects_min: Final = protects_min
        self._quotas = quotas
        self._budgets = budgets
        self._nominations = nominations
        self._quirks = quirks
        self._exempt = exempt
        self._held = held
        self._may_lose_now: dict[tuple[QueueName, Amounts], bool] = {}
        self.needed: Final = [(at, need) for at, need in enumerate(pending.requests) if need > 0]

    def evaluate(self, view: NodeView) -> NodeOutcome:
        """Return the victims on a node, or why evictions there do not help."""
        trial = _NodeTrial(self, view)
        if not self._quirks.leaving_counts and trial.holds():
            return NodeOutcome(view.node, "no-victim-needed")
        taken = self.remove_all(trial)
        if not taken:
            return NodeOutcome(view.node, "no-victims")
        if not trial.fits():
            return NodeOutcome(view.node, "does-not-fit")
        if self._violates_quota_at_first(trial):
            return NodeOutcome(view.node, "quota")
        return self._reprieve(trial, taken)

    def is_candidate(self, candidate: RunningPod, used: Sequence[int] | None) -> bool:
        """Return whether a running pod may be evicted while its quota uses *used*.

        None: what the quota uses at present.
        """
        if candidate.key[0] in self._exempt or candidate.key in self._held:
            return False
        if self.scope == "own namespace":
            return (
                candidate.queue == self.pending.queue and candidate.priority < self.pending.priority
            )
        if self.scope == "without quota":
            return candidate.queue is None and candidate.priority < self.pending.priority
        queue = candidate.queue
        if queue is None or queue == self.pending.queue:
            return False
        if used is not None:
            return self._may_lose(queue, used, candidate.charge)
        kind = (queue, candidate.charge)
        known = self._may_lose_now.get(kind)
        if known is None:
            known = self._may_lose(queue, self.check.use.used[queue], candidate.charge)
            self._may_lose_now[kind] = known
        return known

    def _may_lose(self, queue: QueueName, used: Sequence[int], charge: Amounts) -> bool:
        """Return whether a quota that uses *used* may lose a pod of *charge*."""
        return self.borrows(queue, used, charge) and (
            not self.protects_min or self.keeps_min(queue, used, charge)
        )

    def borrows(self, queue: QueueName, used: Sequence[int], charge: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* borrows something that a pod of *charge* returns.

        It is over its min on an axis that is requested and that the pod uses. A quota that borrows
        something else owes nothing here. The plugin looks at every axis, whether the pod uses it or
        not.
        """
        least = self._quotas.guaranteed[queue]
        of_anybody = self._quirks.pool_all
        return any(
            used[at] > least[at] and (of_anybody or charge[at] > 0) for at in self.check.pool_axes
        )

    def keeps_min(self, queue: QueueName, used: Sequence[int], charge: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* keeps its min if it loses *charge*.

        That must hold with its own nominated pods, because replacing one of its own pods gives
        nothing up; and without them, because they may not start.
        """
        least = self._quotas.guaranteed[queue]
        with_promised = list(map(add, used, self._nominations.nominated_in(queue)))
        return keeps_min(used, charge, least) and keeps_min(with_promised, charge, least)

    def remove_all(self, trial: "_NodeTrial") -> list[RunningPod]:
        """Remove all candidates, lowest priority first."""
        taken = []
        for candidate in reversed(trial.view.running):
            if self.is_candidate(candidate, trial.lowered.get(candidate.queue)):
                trial.remove(candidate)
                taken.append(candidate)
        return taken

    def violates_quota(
        self, used: Sequence[int], pool: Sequence[int], in_quota: Amounts, in_pool: Amounts
    ) -> bool:
        """Return whether the pod breaks a quota rule at a usage of *used* and *pool*."""
        queue, check = self.pending.queue, self.check
        return queue is not None and (
            exceeds(used, in_quota, self._quotas.ceiling[queue], check.own_axes)
            or exceeds(pool, in_pool, self._quotas.pool, check.pool_axes)
        )

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

    def _violates_quota_at_first(self, trial: "_NodeTrial") -> bool:
        if self._quirks.bare_first_check:
            bare = self.pending.charge
            return trial.violates_quota(bare, bare)
        return trial.violates_quota(self.check.in_quota, self.check.in_pool)

    def _reprieve(self, trial: "_NodeTrial", taken: list[RunningPod]) -> NodeOutcome:
        node, check, quirks = trial.view.node, self.check, self._quirks
        taken.reverse()
        protected = self._budgets.protected(taken)
        victims: list[RunningPod] = []
        violations = 0
        for candidate in sorted(taken, key=lambda each: each not in protected):
            trial.restore(candidate)
            fits = trial.fits()
            if not fits:
                trial.remove(candidate)
            if trial.violates_quota(check.in_quota, check.in_pool):
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


class _NodeTrial:
    """A node, the quotas and the pool while some candidates are removed."""

    def __init__(self, preemption: VictimSelection, view: NodeView) -> None:
        self.view = view
        self.lowered: dict[QueueName | None, list[int]] = {}
        self.pool = list(preemption.check.use.pool)
        self._preemption = preemption
        self._free = list(view.free)
        self._off: dict[RunningPod, None] = {}

    def remove(self, candidate: RunningPod) -> None:
        self._free = list(map(add, self._free, candidate.requests))
        self._off[candidate] = None
        if candidate.queue is not None:
            self.pool = list(map(sub, self.pool, candidate.charge))
            used = (
                self.lowered.get(candidate.queue)
                or self._preemption.check.use.used[candidate.queue]
            )
            self.lowered[candidate.queue] = list(map(sub, used, candidate.charge))

    def restore(self, candidate: RunningPod) -> None:
        self._free = list(map(sub, self._free, candidate.requests))
        del self._off[candidate]
        if candidate.queue is not None:
            self.pool = list(map(add, self.pool, candidate.charge))
            used = self.lowered[candidate.queue]
            self.lowered[candidate.queue] = list(map(add, used, candidate.charge))

    def fits(self) -> bool:
        if not self._preemption.has_room(self._free):
            return False
        beyond_room = self.view.fits
        return beyond_room is None or beyond_room(tuple(self._off))

    def holds(self) -> bool:
        check = self._preemption.check
        return self.fits() and not self.violates_quota(check.in_quota, check.in_pool)

    def violates_quota(self, in_quota: Amounts, in_pool: Amounts) -> bool:
        queue = self._preemption.pending.queue
        if queue is None:
            return False
        used = self.lowered.get(queue) or self._preemption.check.use.used[queue]
        return self._preemption.violates_quota(used, self.pool, in_quota, in_pool)


def keeps_min(used: Sequence[int], charge: Sequence[int], least: Sequence[int]) -> bool:
    """Return whether a quota that loses *charge* falls below *least* on no axis.

    An axis that is below already does not count. Otherwise a namespace that leaves its min of one
    resource unused would keep what it borrows of another for ever.
    """
    rows = zip(used, charge, least, strict=True)
    return not any(using - amount < bound <= using for using, amount, bound in rows)


class QuotaAfterEviction:
    """The quota rules for one pod while some running pods, on whichever node, are gone."""

    def __init__(self, preemption: VictimSelection, removed: Iterable[RunningPod]) -> None:
        """Count the pods in *removed* as gone."""
        self._preemption = preemption
        self._queue = preemption.pending.queue
        use = preemption.check.use
        self._pool = list(use.pool)
        self._used = list(use.used[self._queue]) if self._queue is not None else []
        for candidate in removed:
            self._pool, self._used = self._changed(candidate, sub)

    def is_violated(self) -> bool:
        """Return whether the pod breaks a rule."""
        return self._violates(self._pool, self._used)

    def violated_with(self, candidate: RunningPod) -> bool:
        """Return whether it would if a pod were restored; if not, the pod is restored."""
        pool, used = self._changed(candidate, add)
        if self._violates(pool, used):
            return True
        self._pool, self._used = pool, used
        return False

    def _violates(self, pool: list[int], used: list[int]) -> bool:
        check = self._preemption.check
        return self._preemption.violates_quota(used, pool, check.in_quota, check.in_pool)

    def _changed(
        self, candidate: RunningPod, by: Callable[[int, int], int]
    ) -> tuple[list[int], list[int]]:
        pool, used = self._pool, self._used
        if candidate.queue is not None:
            pool = list(map(by, pool, candidate.charge))
            if candidate.queue == self._queue:
                used = list(map(by, used, candidate.charge))
        return pool, used
