"""One division as one of the siblings sees it: who is shown, and how names and amounts read."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from fairlead.explain.amount_text import amount_text
from fairlead.explain.leftover_ranking import leftover_rankings
from fairlead.explain.siblings_shown import siblings_shown
from fairlead.fairness.division_tree import SiblingDivision
from fairlead.model.axes import Axis, QueueName
from fairlead.model.state import ClusterState


class DivisionViewpoint:
    """A division, the sibling that is asked about, and the siblings that are shown with it."""

    def __init__(self, state: ClusterState, at: int, division: SiblingDivision, queue: QueueName):
        """Take the *division* of the axis at *at*, with *queue* among its siblings."""
        self.axis: Axis = state.axes.axes[at]
        self.division = division
        self.queue = queue
        self.own = division.siblings.index(queue)
        self.priority = state.queues[queue].priority
        self.weights: Sequence[Decimal] = [
            state.queues[QueueName(name)].weights[at] for name in division.siblings
        ]
        self.rankings = leftover_rankings(division.steps)
        self.shown = siblings_shown(division.shares, self.own, self.rankings)

    @property
    def own_share(self) -> str:
        """The share of the sibling that is asked about."""
        return self.text(self.division.shares[self.own])

    def name(self, at: int) -> str:
        """Return the name of a sibling, with a mark at the one that is asked about."""
        return self.division.siblings[at] + (" *" if at == self.own else "")

    def text(self, amount: int | None) -> str:
        """Return an amount as people read it."""
        return amount_text(self.axis, amount)

    def table(
        self,
        head: tuple[str, ...],
        rows: Mapping[int, tuple[str, ...]],
        gets: Mapping[int, int],
    ) -> tuple[tuple[str, ...], ...]:
        """Return a table of the siblings that are shown, in the order of *rows*.

        A last row counts the others and sums up what they got, so that sums can be checked.
        """
        table = [head, *(row for at, row in rows.items() if at in self.shown)]
        hidden = [at for at in rows if at not in self.shown]
        if hidden:
            rest = ["" for _ in head]
            rest[0] = f"({len(hidden)} more)"
            rest[head.index("GETS")] = self.text(sum(gets[at] for at in hidden))
            table.append(tuple(rest))
        return tuple(table)
