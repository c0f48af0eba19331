"""How much the queues below one cohort give way to a claim that comes from beside the cohort.

As long as nobody of the claimant's side leaves, that depends on nothing outside the cohort: its
queues are asked in their own order, and it must not fall below where the claimant's side stands. So
it is found by a search of this cohort alone, and holds until something changes there.
"""

from collections.abc import Collection, Sequence

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.fair_order import FairOrder, never
from fairlead.policy.kueue.snapshot.admitted import Asking
from fairlead.policy.kueue.snapshot.share_order import Entry
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Holder, Usage


class CohortGift:
    """A search of one cohort for whoever it gives to a side that stands at a rank."""

    def __init__(self, snapshot: Snapshot, cohort: QueueName, asking: Asking, rank: Rank) -> None:
        """Ask nobody yet; *snapshot* is at rest, and *cohort* stands at *rank* or above."""
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._cohort = cohort
        self._asking = asking
        self._rank = rank
        self._taken: list[Holder] = []
        self._lines: dict[QueueName, list[Holder]] = {}

    def amount(self, axis: int, enough: int) -> int:
        """Return how much of *axis* it gives, or *enough* if that is less; all stays as it was.

        Law: that is what `FairSearch` takes there in vain, with both strategies.
        """
        freed = self._ask_all(axis, enough)
        if freed < enough:
            freed += self._ask_again(axis, enough - freed)
        for holder in self._taken:
            self._snapshot.charge(holder.queue, holder.usage)
        return freed

    def _ask_all(self, axis: int, enough: int) -> int:
        """Let those go without whom the cohort stands as high as it must."""
        order, freed = FairOrder(self._snapshot, [], self._of, self._standing, (), self._cohort), 0
        while freed < enough and (queue := order.next(never)) is not None:
            holder = self._first_to_go(order.line(queue), queue)
            if holder is None:
                order.drop(queue)
            else:
                freed += self._take(holder, axis)
                order.refresh(queue)
        return freed

    def _first_to_go(self, line: list[Holder], queue: QueueName) -> Holder | None:
        """Return the first who may go; those before it leave the line."""
        tree, standing, refused = self._tree, self._snapshot.standing, set[Usage]()
        if not self._taken:
            highest = standing.rank_without_one(self._cohort, queue, self._asking)
            if highest < self._rank:
                return None
        while line:
            holder = line.pop()
            if holder.usage in refused:
                continue
            if tree.rank_without(self._cohort, queue, holder.usage) >= self._rank:
                return holder
            refused.add(holder.usage)
        return None

    def _ask_again(self, axis: int, enough: int) -> int:
        """Let one more go of each queue while the cohort stands higher than it must."""
        gone = {holder.name for holder in self._taken}
        losing = {holder.queue for holder in self._taken}
        moved = {name for queue in losing for name in self._snapshot.path(queue)}

        def left(queue: QueueName) -> list[Holder]:
            return [each for each in self._of(queue) if each.name not in gone]

        order, freed = FairOrder(self._snapshot, [], left, self._standing, moved, self._cohort), 0
        while freed < enough and self._tree.rank(self._cohort) > self._rank:
            queue = order.next(never)
            if queue is None:
                break
            freed += self._take(order.line(queue)[-1], axis)
            order.drop(queue)
            order.refresh(queue)
        return freed

    def _of(self, queue: QueueName) -> list[Holder]:
        """Return who of *queue* may be asked, as it was when it was first asked about."""
        line = self._lines.get(queue)
        if line is None:
            line, asking = [], self._asking
            if self._tree.borrows_any(queue, asking.need):
                line = self._snapshot.line(queue).whom(asking).holders
            self._lines[queue] = line
        return line

    def _standing(self, cohort: QueueName, besides: Collection[QueueName]) -> Sequence[Entry]:
        return self._snapshot.standing.below(cohort, self._asking, besides)

    def _take(self, holder: Holder, axis: int) -> int:
        self._taken.append(holder)
        self._snapshot.discharge(holder.queue, holder.usage)
        return dict(holder.usage).get(axis, 0)
