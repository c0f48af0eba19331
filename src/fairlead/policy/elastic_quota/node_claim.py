"""What it takes to make room for a pod on one node: who of those there has to give way.

Everybody on the node who may be asked is taken off, the least important first. If the pod then fits
and breaks no rule, they are put back one by one, those first that a disruption budget protects,
then the most important. Whoever cannot be put back is a victim.
"""

from collections.abc import Callable, Sequence, Set
from operator import add, sub
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.fairness.elastic_pool import exceeds
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.admission import Standing
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.budgets import Budgets
from fairlead.policy.elastic_quota.holders import Holder
from fairlead.policy.elastic_quota.node_outcome import NodeOutcome
from fairlead.policy.elastic_quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota_books import QuotaBooks
from fairlead.policy.elastic_quota.settings import PluginQuirks

Asked: TypeAlias = Literal["own namespace", "borrowers", "without quota"]
"""Among whom victims are looked for."""


class Ground(NamedTuple):
    """A node as far as it matters to one pod: who may be asked there, and what is free besides.

    *fits* tells whether the pod may be there beyond room, without the holders it is given; None
    where only room matters.
    """

    node: str
    holders: Sequence[Holder]  # the most important first
    free: Amounts  # less what others need who are nominated to it before the pod
    fits: Callable[[Sequence[Holder]], bool] | None = None


class NodeClaim:
    """Looks for victims of one pod, node by node, by one rule."""

    def __init__(
        self,
        asker: Asker,
        standing: Standing,
        books: QuotaBooks,
        budgets: Budgets,
        nominations: Nominations,
        quirks: PluginQuirks,
        *,
        asked: Asked,
        protects_min: bool,
        spared: Set[WorkloadName] = frozenset(),
        held: Set[PodKey] = frozenset(),
    ) -> None:
        """Look among *asked*; with *protects_min* no quota gives what takes it below its min.

        Nobody of the workloads in *spared* is asked, and none of the pods that are *held*.
        """
        self.asker: Final = asker
        self.standing: Final = standing
        self.asked: Final = asked
        self.protects_min: Final = protects_min
        self._books = books
        self._budgets = budgets
        self._nominations = nominations
        self._quirks = quirks
        self._spared = spared
        self._held = held
        self._gives_now: dict[tuple[QueueName, Amounts], bool] = {}
        self.needed: Final = [(at, need) for at, need in enumerate(asker.requests) if need > 0]

    def judge(self, ground: Ground) -> NodeOutcome:
        """Return who has to leave a node, or why nobody's leaving helps."""
        trial = _Trial(self, ground)
        if not self._quirks.leaving_counts and trial.holds():
            return NodeOutcome(ground.node, "no-victim-needed")
        taken = self.take_all(trial)
        if not taken:
            return NodeOutcome(ground.node, "no-victims")
        if not trial.fits():
            return NodeOutcome(ground.node, "does-not-fit")
        if self._breaks_rule_at_first(trial):
            return NodeOutcome(ground.node, "quota")
        return self._put_back(trial, taken)

    def may_give(self, holder: Holder, used: Sequence[int] | None) -> bool:
        """Return whether *holder* may be asked while its quota uses *used*.

        None: as much as it does at present.
        """
        if holder.key[0] in self._spared or holder.key in self._held:
            return False
        if self.asked == "own namespace":
            return holder.queue == self.asker.queue and holder.priority < self.asker.priority
        if self.asked == "without quota":
            return holder.queue is None and holder.priority < self.asker.priority
        queue = holder.queue
        if queue is None or queue == self.asker.queue:
            return False
        if used is not None:
            return self._gives(queue, used, holder.charge)
        kind = (queue, holder.charge)
        known = self._gives_now.get(kind)
        if known is None:
            known = self._gives(queue, self.standing.use.used[queue], holder.charge)
            self._gives_now[kind] = known
        return known

    def _gives(self, queue: QueueName, used: Sequence[int], charge: Amounts) -> bool:
        """Return whether a quota that uses *used* may be asked for a pod of *charge*."""
        return self.borrows(queue, used, charge) and (
            not self.protects_min or self.keeps_min(queue, used, charge)
        )

    def borrows(self, queue: QueueName, used: Sequence[int], charge: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* borrows, as a pod of *charge* can return.

        It is over its min in something that is asked for, and that the pod has. Who borrows
        something else owes nothing here. The plugin looks at everything, whoever has it.
        """
        least = self._books.guaranteed[queue]
        of_anybody = self._quirks.pool_all
        return any(
            used[at] > least[at] and (of_anybody or charge[at] > 0)
            for at in self.standing.pool_axes
        )

    def keeps_min(self, queue: QueueName, used: Sequence[int], charge: Sequence[int]) -> bool:
        """Return whether a quota that uses *used* falls below its min in nothing if it gives.

        That must be so with its own nominated pods, as who replaces a pod of its own has not given
        it up; and without them, as they may not come.
        """
        least = self._books.guaranteed[queue]
        with_promised = list(map(add, used, self._nominations.promised_to(queue)))
        return keeps_min(used, charge, least) and keeps_min(with_promised, charge, least)

    def take_all(self, trial: "_Trial") -> list[Holder]:
        """Take everybody off who may be asked, the least important first."""
        taken = []
        for holder in reversed(trial.ground.holders):
            if self.may_give(holder, trial.lowered.get(holder.queue)):
                trial.take_off(holder)
                taken.append(holder)
        return taken

    def breaks_rule(
        self, used: Sequence[int], pool: Sequence[int], in_quota: Amounts, everywhere: Amounts
    ) -> bool:
        """Return whether the pod breaks a rule where its quota uses *used*, and all *pool*."""
        queue, standing = self.asker.queue, self.standing
        return queue is not None and (
            exceeds(used, in_quota, self._books.ceiling[queue], standing.own_axes)
            or exceeds(pool, everywhere, self._books.pool, standing.pool_axes)
        )

    def pool_excess(self) -> list[tuple[int, int]]:
        """Return how much of the pool must be given back for a node to pass, by axis."""
        if self.asker.queue is None:
            return []
        standing = self.standing
        asked = self.asker.charge if self._quirks.bare_first_check else standing.everywhere
        over = [
            (at, standing.use.pool[at] + asked[at] - self._books.pool[at])
            for at in standing.pool_axes
        ]
        return [(at, excess) for at, excess in over if excess > 0]

    def has_room(self, free: Sequence[int]) -> bool:
        """Return whether *free* is enough for the pod; what it asks nothing of is not looked at."""
        return all(free[at] >= need for at, need in self.needed)

    def _breaks_rule_at_first(self, trial: "_Trial") -> bool:
        if self._quirks.bare_first_check:
            bare = self.asker.charge
            return trial.breaks_rule(bare, bare)
        return trial.breaks_rule(self.standing.in_quota, self.standing.everywhere)

    def _put_back(self, trial: "_Trial", taken: list[Holder]) -> NodeOutcome:
        node, standing, quirks = trial.ground.node, self.standing, self._quirks
        taken.reverse()
        protected = self._budgets.protected(taken)
        victims: list[Holder] = []
        violations = 0
        for holder in sorted(taken, key=lambda each: each not in protected):
            trial.put_back(holder)
            fits = trial.fits()
            if not fits:
                trial.take_off(holder)
            if trial.breaks_rule(standing.in_quota, standing.everywhere):
                if fits:
                    trial.take_off(holder)
                elif quirks.double_remove:
                    return NodeOutcome(node, "error")
            elif fits:
                continue
            victims.append(holder)
            if holder in protected and not (fits and quirks.pdb_undercount):
                violations += 1
        if not victims:
            return NodeOutcome(node, "no-victim-needed")
        return NodeOutcome(node, "victims", tuple(sorted(victims)), violations)


class _Trial:
    """A node, the quotas and the pool while some holders are taken off."""

    def __init__(self, claim: NodeClaim, ground: Ground) -> None:
        self.ground = ground
        self.lowered: dict[QueueName | None, list[int]] = {}
        self.pool = list(claim.standing.use.pool)
        self._claim = claim
        self._free = list(ground.free)
        self._off: dict[Holder, None] = {}

    def take_off(self, holder: Holder) -> None:
        self._free = list(map(add, self._free, holder.requests))
        self._off[holder] = None
        if holder.queue is not None:
            self.pool = list(map(sub, self.pool, holder.charge))
            used = self.lowered.get(holder.queue) or self._claim.standing.use.used[holder.queue]
            self.lowered[holder.queue] = list(map(sub, used, holder.charge))

    def put_back(self, holder: Holder) -> None:
        self._free = list(map(sub, self._free, holder.requests))
        del self._off[holder]
        if holder.queue is not None:
            self.pool = list(map(add, self.pool, holder.charge))
            used = self.lowered[holder.queue]
            self.lowered[holder.queue] = list(map(add, used, holder.charge))

    def fits(self) -> bool:
        if not self._claim.has_room(self._free):
            return False
        beyond_room = self.ground.fits
        return beyond_room is None or beyond_room(tuple(self._off))

    def holds(self) -> bool:
        standing = self._claim.standing
        return self.fits() and not self.breaks_rule(standing.in_quota, standing.everywhere)

    def breaks_rule(self, in_quota: Amounts, everywhere: Amounts) -> bool:
        queue = self._claim.asker.queue
        if queue is None:
            return False
        used = self.lowered.get(queue) or self._claim.standing.use.used[queue]
        return self._claim.breaks_rule(used, self.pool, in_quota, everywhere)


def keeps_min(used: Sequence[int], charge: Sequence[int], least: Sequence[int]) -> bool:
    """Return whether a quota that gives a pod falls below its *least* in nothing.

    Where it is below already it does not fall below. Otherwise who leaves its min of one resource
    unused would keep for ever what it borrows of another.
    """
    rows = zip(used, charge, least, strict=True)
    return not any(using - amount < bound <= using for using, amount, bound in rows)
