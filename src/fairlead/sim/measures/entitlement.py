"""What each queue is entitled to at every moment, by one yardstick for all rule sets.

The cluster is divided without regard to past use: guarantees first, the rest by weight among the
queues that request more, and no queue gets more than it requests or may hold. Under rules without
weights all queues weigh the same. So the same work can be compared under different rules; what a
rule set itself calls a fair share is another number. Entitlement changes only with requests and
capacity, so it is known at all times, at a cost that grows with what changed.

A share is divided exactly and rounded down to a base unit, such as a thousandth of a GPU: a third
of 16 GPUs is 5.333 for each of three queues. To hand out what rounding leaves, in whole GPUs or in
base units, would favour one of several equal queues for as long as they wait.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

import msgspec

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import DivisionTree, ShareQueue
from fairlead.fairness.division_weights import common_scale
from fairlead.fairness.kept_shares import KeptShares
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.state import ClusterState


class EntitlementChange(msgspec.Struct, frozen=True, kw_only=True):
    """What queues are entitled to and ask for, on the resources that are measured, in their order.

    What is given for a queue holds until the next change. An inner queue for which nothing
    was given yet has what its children have together; a leaf has nothing. Demand is what a
    queue holds and what it waits for.
    """

    at_ms: int
    entitled: dict[str, Amounts] = {}
    demand: dict[str, Amounts] = {}
    fair_share: dict[str, Amounts] = {}
    usage_e9: dict[str, Amounts] = {}  # part of the cluster's capacity, in thousand millionths


class EntitlementFollower:
    """Follows one state, whose queues stay the same, on its resources."""

    def __init__(self, state: ClusterState) -> None:
        """Divide the state as it is now.

        A resource is counted on one quota axis, or on one for each flavor.
        """
        self._state = state
        flavors = dict.fromkeys(axis.flavor for axis in state.axes.axes)
        found = [
            [state.axes.index(resource, flavor) for flavor in flavors]
            for resource in state.resources
        ]
        self._axes = [[at for at in each if at is not None] for each in found]
        self._charged = [(place, at) for place, axes in enumerate(self._axes) for at in axes]
        self._owned = self._guaranteed_at_the_top()
        self._capacity = list(state.capacity)
        self._total = self._total_now()
        names = state.tree_order()
        self._paths: dict[QueueName, list[QueueName]] = {}  # of those that were asked for
        self._demand = {name: self._demand_of(name) for name in names}
        tree = DivisionTree.from_queues(self._share_queues(names))
        units = [1] * len(state.resources)
        self._shares = KeptShares(tree, self._total, units=units, leftovers=False)

    def everything(self, now_ms: int) -> EntitlementChange:
        """Return the entitlement and the demand of every queue, by the last change."""
        return EntitlementChange(
            at_ms=now_ms,
            entitled=self._shares.shares(),
            demand={str(name): each for name, each in self._demand.items()},
        )

    def has_other_capacity(self) -> bool:
        """Return whether the nodes have something else than they had at the last change."""
        return self._state.capacity != self._capacity

    def change(self, now_ms: int, queues: Iterable[QueueName]) -> EntitlementChange:
        """Return what changed since the last time, where only *queues* hold or request others.

        Cost: their depth in the tree, and that of dividing again where it matters.
        """
        demand: dict[str, Amounts] = {}
        for queue in queues:
            path = self._paths.get(queue)
            if path is None:
                path = self._paths[queue] = self._state.path(queue)
            for name in path:
                demand_now = self._demand_of(name)
                if demand_now == self._demand.get(
                    name, demand_now
                ):  # a queue outside of the tree is not known
                    # Queues above may have changed by other queues, which are listed too.
                    break
                self._demand[name] = demand[name] = demand_now
        if self.has_other_capacity():
            self._capacity = list(self._state.capacity)
            self._total = self._total_now()
        elif not demand:
            return EntitlementChange(at_ms=now_ms)  # as where waiting jobs started
        entitled = self._shares.change(demand, self._total)
        return EntitlementChange(at_ms=now_ms, entitled=entitled, demand=demand)

    def _share_queues(self, names: Sequence[QueueName]) -> list[ShareQueue]:
        queues = self._state.queues
        columns = [
            common_scale([queues[name].weights[axes[0]] if axes else Decimal(1) for name in names])
            for axes in self._axes
        ]
        weights = zip(*columns, strict=True)
        return [
            ShareQueue(
                name=name,
                parent=queues[name].parent,
                priority=queues[name].priority,
                created_ms=queues[name].created_ms,
                claims=tuple(
                    Claim(
                        guaranteed=due, ceiling=most, weight=weight, requested=request, usage_e9=0
                    )
                    for due, most, weight, request in zip(
                        self._summed(queues[name].guaranteed),
                        self._summed(queues[name].ceiling),
                        own,
                        self._demand[name],
                        strict=True,
                    )
                ),
            )
            for name, own in zip(names, weights, strict=True)
        ]

    def _demand_of(self, name: QueueName) -> Amounts:
        sums = self._state.sums[name]
        allocated, leaving = sums.allocated, sums.leaving
        demand_now = sums.pending.copy()
        for place, at in self._charged:
            demand_now[place] += allocated[at] + leaving[at]
        return tuple(demand_now)

    def _summed(self, limits: Limits) -> Limits:
        """Return limits on resources; no limit on one flavor is none on the resource."""
        return tuple(_sum([limits[at] for at in axes]) for axes in self._axes)

    def _guaranteed_at_the_top(self) -> Amounts:
        tops = self._state.children(None)
        rows = [self._summed(self._state.queues[name].guaranteed) for name in tops]
        return tuple(sum(row[place] or 0 for row in rows) for place in range(len(self._axes)))

    def _total_now(self) -> Amounts:
        """Return what the nodes have; of what they do not list, what is guaranteed at the top."""
        pairs = zip(self._state.capacity, self._owned, strict=True)
        return tuple([there or due for there, due in pairs])


def _sum(limits: Sequence[int | None]) -> int | None:
    """Return the sum; a resource that is on no axis has no limit."""
    if not limits or None in limits:
        return None
    return sum(each or 0 for each in limits)
