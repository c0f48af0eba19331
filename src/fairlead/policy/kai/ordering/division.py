"""The division of the cluster in one cycle: shares of queues and what their order compares."""

from collections.abc import Mapping, Set
from fractions import Fraction
from typing import Protocol

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare, KaiShares
from fairlead.policy.kai.ordering.queue_order import QueueNumbers, queue_numbers
from fairlead.policy.kai.ordering.tournament import Draw


class Division(Protocol):
    """What the rules ask about the queues. Shares are fixed; what a queue holds moves."""

    @property
    def shares(self) -> Mapping[QueueName, KaiShare]:
        """The share of each queue that is connected to the root, parents before children."""

    @property
    def numbers(self) -> Mapping[QueueName, QueueNumbers]:
        """What the queue order compares, in the same order."""

    @property
    def leaves(self) -> Set[QueueName]:
        """The queues that may have jobs, in the same order."""

    @property
    def draw(self) -> Draw:
        """Which queues meet in a tournament."""


class DivisionNow:
    """The division of a state, computed from scratch."""

    def __init__(self, state: ClusterState, k: Fraction) -> None:
        """Divide *state* as it is now. Without usage in it, *k* has no effect."""
        total = state.total()
        rows = KaiShares(state, total, k).rows()
        self.shares = {row.queue: row for row in rows}
        self.numbers = {row.queue: queue_numbers(state, row, total) for row in rows}
        self.leaves = {name: None for name in self.shares if not state.children(name)}.keys()
        self.draw = Draw(state, self.shares)
