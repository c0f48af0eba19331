"""What queues are entitled to, followed through the changes of one state.

A cluster is divided anew in every cycle, and in most of them one queue asks for something else than
in the last one. So what was worked out is kept, and worked out again where its numbers changed.
"""

from collections.abc import Sequence, Set
from fractions import Fraction

from fairlead.fairness.division_tree import DivisionTree
from fairlead.fairness.standing_division import StandingDivision
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.queue_order import QueueNumbers, queue_numbers
from fairlead.policy.kai.queue_race import RaceCourse
from fairlead.policy.kai.shares import (
    NO_USAGE,
    KaiShare,
    claims_of,
    kai_share,
    share_queues,
    whole_units,
)


class FollowedShares:
    """The division of a cluster as it was when it was last asked for."""

    def __init__(self, state: ClusterState, k: Fraction) -> None:
        """Follow *state*. Without usage in it, *k* has no effect. Nothing is divided yet."""
        self.shares: dict[QueueName, KaiShare] = {}
        """What each queue that hangs on the top level is entitled to, parents before children."""
        self.numbers: dict[QueueName, QueueNumbers] = {}
        """What the order of service looks at, in the same order."""
        self.leaves: Set[QueueName] = frozenset()
        """The queues that may have jobs, in the same order."""
        self.course = RaceCourse(state, ())
        """Who of them meets whom in that order."""
        self._state = state
        self._k = k
        self._layout: int | None = None  # the moment; None: nothing was divided
        self._total: Amounts = ()
        self._usage = state.usage
        self._weights: dict[QueueName, Sequence[int]] = {}
        self._sums: dict[QueueName, list[int]] = {}  # what was held, and what waited
        self._tree = DivisionTree.from_queues(())
        self._division = StandingDivision(())

    def catch_up(self) -> None:
        """Divide the cluster as it is now.

        Law: all is as if it were divided for the first time. Cost: a glance at each queue, and on
        every level the siblings of those that ask for something else.
        """
        state = self._state
        if state.layout.moment != self._layout:
            self._begin()
        total, k = state.total(), self._k if state.usage else NO_USAGE
        asking = self._who_asks_for_something_else()
        if asking:
            self._tree = self._tree.with_claims(
                {str(name): claims_of(state, name, self._weights[name]) for name in asking}
            )
        entitled = map(QueueName, self._division.divide(self._tree, total, k))
        is_same = total == self._total
        for name in {*asking, *entitled} if is_same else self._sums:  # whose order shows at first
            self._work_out(name, total)
        self._total = total

    def _begin(self) -> None:
        """Look at the queues as if for the first time."""
        state = self._state
        names = state.tree_order()
        queues = share_queues(state, names)
        self._layout = state.layout.moment
        self._total = ()
        self._usage = state.usage
        self._weights = {
            name: [claim.weight for claim in queue.claims]
            for name, queue in zip(names, queues, strict=True)
        }
        self._sums = {name: self._sums_of(name) for name in names}
        self._tree = DivisionTree.from_queues(queues)
        self._division = StandingDivision(whole_units(state))
        self.course = RaceCourse(state, names)
        self.shares.clear()
        self.numbers.clear()
        self.leaves = {name: None for name in names if not state.children(name)}.keys()

    def _who_asks_for_something_else(self) -> list[QueueName]:
        """Return the queues whose claims may be others than before."""
        state, asking = self._state, []
        usage, before = state.usage, self._usage
        self._usage = usage
        for name, known in self._sums.items():
            sums = self._sums_of(name)
            if sums != known:
                self._sums[name] = sums
                asking.append(name)
            elif usage is not before and usage.get(name) != before.get(name):
                asking.append(name)
        return asking

    def _sums_of(self, name: QueueName) -> list[int]:
        sums = self._state.sums[name]
        return sums.allocated + sums.pending

    def _work_out(self, name: QueueName, total: Amounts) -> None:
        share = kai_share(self._state, name, self._division.shares[name])
        self.shares[name] = share
        self.numbers[name] = queue_numbers(self._state, share, total)
