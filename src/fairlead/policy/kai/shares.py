"""What each queue is entitled to under KAI's rules, from the cluster's state.

The division itself is arithmetic of `fairness.division`; this module says what of the state goes
into it, and what follows for each queue: how much it may hold, and how full its share is.
"""

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import (
    DivisionTree,
    ShareQueue,
    SiblingDivision,
    fair_shares,
    sibling_division,
)
from fairlead.fairness.division_weights import common_scale
from fairlead.model.axes import Amounts, Axis, Limits, QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState

NO_USAGE = Fraction(0)


class KaiShare(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue, an entry per quota axis."""

    queue: QueueName
    requested: Amounts
    fair_share: Amounts
    allocatable: Limits  # the most it may hold; None: no limit
    saturation: tuple[Fraction | None, ...]  # allocated / fair share; None: infinite
    usage_e9: tuple[int, ...]


class KaiShares:
    """Fair shares of every queue that hangs on the top level, and the arithmetic behind them."""

    def __init__(self, state: ClusterState, total: Amounts, k: Fraction):
        """Divide *total* (on the quota axes) among the queues of *state*.

        Without usage in the state, *k* has no effect. Cost: that of one division of the tree.
        """
        self.total = total
        self.k = k if state.usage else NO_USAGE
        self._state = state
        self._units = tuple(whole_unit(axis) for axis in state.axes.axes)
        self._names = state.tree_order()
        self._requested = {name: state.requested(name) for name in self._names}
        self._tree = DivisionTree.from_queues(self._share_queues())
        self._fair = fair_shares(self._tree, total, units=self._units, k=self.k)

    def rows(self) -> list[KaiShare]:
        """Return the numbers of every queue, parents before children, siblings by name."""
        return [self._row(name) for name in self._names]

    def division(self, queue: QueueName, axis: int) -> SiblingDivision:
        """Return every step of the division that gave *queue* its share on *axis*."""
        parent = self._state.queues[queue].parent
        amount = self.total[axis] if parent is None else self._fair[parent][axis]
        return sibling_division(
            self._tree, parent, amount, axis=axis, unit=self._units[axis], k=self.k
        )

    def _share_queues(self) -> list[ShareQueue]:
        state = self._state
        columns = [
            common_scale([state.queues[name].weights[at] for name in self._names])
            for at in range(len(state.axes))
        ]
        weights = zip(*columns, strict=True)
        return [
            self._share_queue(name, own) for name, own in zip(self._names, weights, strict=True)
        ]

    def _share_queue(self, name: QueueName, weights: Sequence[int]) -> ShareQueue:
        queue = self._state.queues[name]
        rows = zip(
            queue.guaranteed,
            queue.ceiling,
            weights,
            self._requested[name],
            self._usage(name),
            strict=True,
        )
        return ShareQueue(
            name=name,
            parent=queue.parent,
            priority=queue.priority,
            created_ms=queue.created_ms,
            claims=tuple(
                Claim(guaranteed=g, ceiling=c, weight=w, requested=r, usage_e9=u)
                for g, c, w, r, u in rows
            ),
        )

    def _usage(self, name: QueueName) -> tuple[int, ...]:
        return self._state.usage.get(name, self._state.axes.zero)

    def _row(self, name: QueueName) -> KaiShare:
        queue = self._state.queues[name]
        fair = self._fair[name]
        allocated = self._state.sums[name].allocated
        return KaiShare(
            queue=name,
            requested=self._requested[name],
            fair_share=fair,
            allocatable=tuple(map(allocatable, queue.guaranteed, queue.ceiling, fair)),
            saturation=tuple(map(saturation, allocated, fair)),
            usage_e9=self._usage(name),
        )


def whole_unit(axis: Axis) -> int:
    """Return the step in which shares of *axis* are handed out: a device, a millicore, a byte."""
    return 1 if axis.resource == "cpu" else scale_of(axis.resource)


def allocatable(guaranteed: int | None, ceiling: int | None, fair_share: int) -> int | None:
    """Return the most a queue may hold; an unlimited guarantee leaves only the ceiling."""
    if guaranteed is None:
        return ceiling
    entitled = max(guaranteed, fair_share)
    return entitled if ceiling is None else min(ceiling, entitled)


def saturation(allocated: int, fair_share: int) -> Fraction | None:
    """Return how full a share is; None is infinite: something is held where nothing is due."""
    if fair_share == 0:
        return None if allocated > 0 else Fraction(0)
    return Fraction(allocated, fair_share)
