"""What is due to every queue at one moment, by one yardstick for all rule sets.

A cluster is divided as KAI divides it without history: guarantees first, the rest by weight among
those who want more, nobody more than it asks for or may have. Under rules that know no weights all
queues weigh the same. So it can be told what other rules make of the same work; what a rule set
itself calls a fair share is another number.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import DivisionTree, ShareQueue, fair_shares
from fairlead.fairness.division_weights import common_scale
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState
from fairlead.sim.measures.entitlement_sample import EntitlementSample

NO_HISTORY = Fraction(0)


class EntitlementSampler:
    """Divides one state again and again, on its resources."""

    def __init__(self, state: ClusterState) -> None:
        """Find out on which quota axes each resource is counted: one, or one for each flavor."""
        self._state = state
        flavors = dict.fromkeys(axis.flavor for axis in state.axes.axes)
        found = [
            [state.axes.index(resource, flavor) for flavor in flavors]
            for resource in state.resources
        ]
        self._axes = [[at for at in each if at is not None] for each in found]
        self._units = tuple(
            1 if resource == "cpu" else scale_of(resource) for resource in state.resources
        )

    def sample(self, now_ms: int) -> EntitlementSample:
        """Return what is due to every queue now, and what it wants. Cost: that of one division."""
        names = self._state.tree_order()
        demand = {name: self._demand(name) for name in names}
        tree = DivisionTree.from_queues(self._share_queues(names, demand))
        entitled = fair_shares(tree, self._total(), units=self._units, k=NO_HISTORY)
        return EntitlementSample(
            at_ms=now_ms,
            entitled={name: entitled[name] for name in names},
            demand={str(name): each for name, each in demand.items()},
        )

    def _share_queues(
        self, names: Sequence[QueueName], demand: dict[QueueName, Amounts]
    ) -> list[ShareQueue]:
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
                    Claim(guaranteed=due, ceiling=most, weight=weight, requested=want, usage_e9=0)
                    for due, most, weight, want in zip(
                        self._summed(queues[name].guaranteed),
                        self._summed(queues[name].ceiling),
                        own,
                        demand[name],
                        strict=True,
                    )
                ),
            )
            for name, own in zip(names, weights, strict=True)
        ]

    def _demand(self, name: QueueName) -> Amounts:
        sums = self._state.sums[name]
        held = [a + leaving for a, leaving in zip(sums.allocated, sums.leaving, strict=True)]
        return tuple(
            sum(held[at] for at in axes) + waits
            for axes, waits in zip(self._axes, sums.pending, strict=True)
        )

    def _summed(self, limits: Limits) -> Limits:
        """Return limits on resources; no limit on one flavor is none on the resource."""
        return tuple(_sum([limits[at] for at in axes]) for axes in self._axes)

    def _total(self) -> Amounts:
        """Return what the nodes have; of what they do not tell, what is guaranteed at the top."""
        top = [self._summed(self._state.queues[name].guaranteed) for name in self._top()]
        owned = [sum(each or 0 for each in column) for column in zip(*top, strict=True)]
        return tuple(
            there or due
            for there, due in zip(self._state.capacity, owned or self._state.capacity, strict=True)
        )

    def _top(self) -> list[QueueName]:
        return self._state.children(None)


def _sum(limits: Sequence[int | None]) -> int | None:
    """Return the sum; a resource that is on no axis has no limit."""
    if not limits or None in limits:
        return None
    return sum(each or 0 for each in limits)
