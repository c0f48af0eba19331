"""What queues are entitled to, followed through the changes of one state.

A cluster is divided anew in every cycle, and in most of them one queue asks for something else than
in the last one. So what was worked out is kept, and worked out again where its numbers changed.
"""

from collections.abc import Set
from fractions import Fraction

from fairlead.fairness.division_tree import DivisionTree
from fairlead.fairness.kept_shares import KeptShares
from fairlead.model.accounting.journal import ChangeLog
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.changed_queues import ChangedQueues
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
        self.changes = ChangedQueues(state)
        """Which of them hold or ask for something else than before."""
        self.entitled = ChangeLog[QueueName]()
        """Which of them are due something else than before."""
        self._state = state
        self._k = k
        self._units = whole_units(state)
        self._layout: int | None = None  # the moment; None: nothing was divided
        self._total: Amounts = ()
        self._usage = state.usage
        self._sums: dict[QueueName, list[int]] = {}  # what was held, and what waited
        self._places: dict[QueueName, int] = {}  # parents before children
        self._seen = 0  # of the changes
        self._fair: dict[str, Amounts] = {}
        self._division = KeptShares(DivisionTree.from_queues(()), (), units=())

    def catch_up(self) -> None:
        """Divide the cluster as it is now.

        Law: all is as if it were divided for the first time. Cost: the queues in which something
        changed, and on every level the siblings of those that ask for something else.
        """
        state = self._state
        if state.layout.moment != self._layout:
            self._begin()
        total, is_same_usage = state.total(), state.usage is self._usage
        requested = self._who_asks_for_something_else()
        is_as_large = total == self._total
        if not requested and is_as_large and is_same_usage:
            return  # as when somebody starts: what it holds now, it asked for before
        usages_e9 = {name: usage_of(state, QueueName(name)) for name in requested}
        k = self._k if state.usage else NO_USAGE
        entitled = self._division.change(requested, total, usages_e9=usages_e9, k=k)
        self._fair |= entitled
        changed = {*requested, *entitled}
        for name in map(QueueName, changed) if is_as_large else self._sums:  # in order at first
            before = self.shares.get(name)
            asked = requested.get(name, None if before is None else before.requested)
            share = self.shares[name] = kai_share(state, name, self._fair[name], asked)
            if name in entitled or not is_as_large:
                self.numbers[name] = queue_numbers(state, share, total, self._units)
                self.entitled.touch(name)
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
        self._places = {name: place for place, name in enumerate(names)}
        self._seen = self.changes.log().moment
        self._division = KeptShares(tree, state.total(), units=self._units)
        self._fair = self._division.shares()
        self.course = RaceCourse(state, names)
        self.shares.clear()
        self.numbers.clear()
        self.leaves = {name: None for name in names if not state.children(name)}.keys()

    def _who_asks_for_something_else(self) -> dict[str, Amounts]:
        """Return the queues whose claims are others than before, and what each asks for now."""
        state = self._state
        usage, before = state.usage, self._usage
        self._usage = usage
        asking: dict[str, Amounts] = {}
        for name in self._who_may_differ() if usage is before else self._sums:
            sums, requested = self._sums_of(name), None
            if sums != self._sums[name]:
                self._sums[name] = sums
                requested = state.requested(name)
                known = self.shares.get(name)
                if known is not None and known.requested == requested:
                    requested = None
            if requested is None and usage is not before and usage.get(name) != before.get(name):
                requested = state.requested(name)
            if requested is not None:
                asking[name] = requested
        return asking

    def _who_may_differ(self) -> list[QueueName]:
        """Return the queues in which something changed, parents before children."""
        log, path = self.changes.log(), self._state.path
        names = {above for leaf in log.since(self._seen) for above in path(leaf)}
        self._seen = log.moment
        return sorted(names & self._sums.keys(), key=self._places.__getitem__)

    def _sums_of(self, name: QueueName) -> list[int]:
        sums = self._state.sums[name]
        return sums.allocated + sums.pending
