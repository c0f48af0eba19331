"""What each queue is entitled to under KAI's rules.

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
    usage_e9: tuple[int, ...]


class KaiShares:
    """Fair shares of every queue that is connected to the root, and the arithmetic behind them."""

    def __init__(self, state: ClusterState, total: Amounts, k: Fraction):
        """Divide *total* (on the quota axes) among the queues of *state*.

        Without usage in the state, *k* has no effect. Cost: that of one division of the tree.
        """
        self.total = total
        self.k = k if state.usage else NO_USAGE
        self._state = state
        self._units = whole_units(state)
        self._names = state.tree_order()
        self._tree = DivisionTree.from_queues(share_queues(state, self._names))
        self._fair = fair_shares(self._tree, total, units=self._units, k=self.k)

    def rows(self) -> list[KaiShare]:
        """Return the numbers of every queue, parents before children, siblings by name."""
        return [kai_share(self._state, name, self._fair[name]) for name in self._names]

    def division(self, queue: QueueName, axis: int) -> SiblingDivision:
        """Return every step of the division that gave *queue* its share on *axis*."""
        parent = self._state.queues[queue].parent
        amount = self.total[axis] if parent is None else self._fair[parent][axis]
        return sibling_division(
            self._tree, parent, amount, axis=axis, unit=self._units[axis], k=self.k
        )


def share_queues(state: ClusterState, names: Sequence[QueueName]) -> list[ShareQueue]:
    """Return the queues *names*, all that take part, as input of the division."""
    columns = [
        common_scale([state.queues[name].weights[at] for name in names])
        for at in range(len(state.axes))
    ]
    weights = zip(*columns, strict=True)
    return [_share_queue(state, name, own) for name, own in zip(names, weights, strict=True)]


def _claims(state: ClusterState, name: QueueName, weights: Sequence[int]) -> tuple[Claim, ...]:
    """Return what a queue claims on each axis, with its *weights* on a scale common to all."""
    queue = state.queues[name]
    rows = zip(
        queue.guaranteed,
        queue.ceiling,
        weights,
        state.requested(name),
        usage_of(state, name),
        strict=True,
    )
    return tuple(
        [
            Claim(guaranteed=g, ceiling=c, weight=w, requested=r, usage_e9=u)
            for g, c, w, r, u in rows
        ]
    )


def usage_of(state: ClusterState, name: QueueName) -> tuple[int, ...]:
    """Return the past usage of a queue, in billionths; 0 where none is known."""
    return state.usage.get(name, state.axes.zero)


def kai_share(
    state: ClusterState, name: QueueName, fair: Amounts, requested: Amounts | None = None
) -> KaiShare:
    """Return the numbers of a queue with its fair share.

    *requested* is what is allocated to it or pending in it; None: it is read from *state*.
    """
    queue = state.queues[name]
    return KaiShare(
        queue=name,
        requested=state.requested(name) if requested is None else requested,
        fair_share=fair,
        allocatable=tuple(map(allocatable, queue.guaranteed, queue.ceiling, fair)),
        usage_e9=usage_of(state, name),
    )


def whole_units(state: ClusterState) -> tuple[int, ...]:
    """Return the step in which shares are handed out, for every axis."""
    return tuple([whole_unit(axis) for axis in state.axes.axes])


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


def _share_queue(state: ClusterState, name: QueueName, weights: Sequence[int]) -> ShareQueue:
    queue = state.queues[name]
    return ShareQueue(
        name=name,
        parent=queue.parent,
        priority=queue.priority,
        created_ms=queue.created_ms,
        claims=_claims(state, name, weights),
    )
