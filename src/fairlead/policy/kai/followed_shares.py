"""What queues are entitled to, followed through the changes of one state.

A cluster is divided anew in every cycle, and in most of them one queue asks for something else than
in the last one. So what was worked out is kept, and worked out again where its numbers changed.
"""

from collections.abc import Set
from fractions import Fraction

from fairlead.fairness.division_tree import DivisionTree
from fairlead.fairness.kept_shares import KeptShares
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.queue_order import QueueNumbers, queue_numbers
from fairlead.policy.kai.queue_race import RaceCourse
from fairlead.policy.kai.shares import (
    NO_USAGE,
    KaiShare,
    kai_share,
    share_queues,
    usage_of,
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
        self._sums: dict[QueueName, list[int]] = {}  # what was held, and what waited
        self._fair: dict[str, Amounts] = {}
        self._division = KeptShares(DivisionTree.from_queues(()), (), units=())

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
        requested = {str(name): state.requested(name) for name in asking}
        usages_e9 = {str(name): usage_of(state, name) for name in asking}
        entitled = self._division.change(requested, total, usages_e9=usages_e9, k=k)
        self._fair |= entitled
        changed = {*asking, *map(QueueName, entitled)}
        for name in changed if total == self._total else self._sums:  # whose order shows at first
            share = kai_share(state, name, self._fair[name])
            self.shares[name] = share
            self.numbers[name] = queue_numbers(state, share, total)
        self._total = total

    def _begin(self) -> None:
        """Look at the queues as if for the first time."""
        state = self._state
        names = state.tree_order()
        tree = DivisionTree.from_queues(share_queues(state, names))
        self._layout = state.layout.moment
        self._total = ()
        self._usage = state.usage
        self._sums = {name: self._sums_of(name) for name in names}
        self._division = KeptShares(tree, state.total(), units=whole_units(state))
        self._fair = self._division.shares()
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
