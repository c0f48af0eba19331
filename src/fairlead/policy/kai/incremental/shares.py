"""What queues are entitled to, kept and updated where a state changed.

A cluster is divided in every cycle, and in most of them one queue requests something else than in
the last one. So the division is kept, and computed again where its numbers changed.
"""

from collections.abc import Set
from fractions import Fraction

from fairlead.fairness.division_tree import DivisionTree
from fairlead.fairness.kept_shares import KeptShares
from fairlead.model.accounting.journal import ChangeLog
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import (
    NO_USAGE,
    KaiShare,
    kai_share,
    share_queues,
    usage_of,
    whole_units,
)
from fairlead.policy.kai.ordering.queue_order import QueueNumbers, queue_numbers
from fairlead.policy.kai.ordering.tournament import Draw


class ChangedQueues:
    """The queues of workloads that changed, in the order of their latest changes."""

    def __init__(self, state: ClusterState) -> None:
        """Track *state*. Nothing is read yet."""
        self._state = state
        self._log = ChangeLog[QueueName]()
        self._read_at: int | None = None  # None: nothing was read
        self._queue_of: dict[WorkloadName, QueueName] = {}

    def log(self) -> ChangeLog[QueueName]:
        """Return the log as of now; the ancestors of the queues in it changed as well.

        Law: in a queue that is not in it, and has none below that is, no job came, left, got a
        place or lost one; unless the queues themselves changed. Cost: the workloads that changed.
        """
        touched = self._state.touched
        if self._read_at is None or not touched.remembers(self._read_at):
            self._begin()
        elif touched.moment != self._read_at:
            for name in touched.since(self._read_at):
                self._change(name)
        self._read_at = touched.moment
        return self._log

    def _begin(self) -> None:
        workloads = self._state.workloads
        self._queue_of = {name: workload.queue for name, workload in workloads.items()}
        for queue in self._state.queues:
            self._log.touch(queue)

    def _change(self, name: WorkloadName) -> None:
        before, now = self._queue_of.get(name), self._state.workloads.get(name)
        if before is not None:
            self._log.touch(before)
        if now is None:
            self._queue_of.pop(name, None)
        elif now.queue != before:
            self._log.touch(now.queue)
            self._queue_of[name] = now.queue


class IncrementalShares:
    """The division of a cluster as of the last `catch_up`."""

    def __init__(self, state: ClusterState, k: Fraction) -> None:
        """Track *state*. Without usage in it, *k* has no effect. Nothing is divided yet."""
        self.shares: dict[QueueName, KaiShare] = {}
        """The share of each queue that is connected to the root, parents before children."""
        self.numbers: dict[QueueName, QueueNumbers] = {}
        """What the queue order compares, in the same order."""
        self.leaves: Set[QueueName] = frozenset()
        """The queues that may have jobs, in the same order."""
        self.draw = Draw(state, ())
        """Which of them meet in a tournament."""
        self.changes = ChangedQueues(state)
        """Which of them hold or request something else than before."""
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

        Law: all is as if it were divided for the first time. Cost: the changed queues, and on every
        level the siblings of those that request something else.
        """
        state = self._state
        if state.layout.moment != self._layout:
            self._begin()
        total, is_same_usage = state.total(), state.usage is self._usage
        requested = self._changed_requests()
        is_as_large = total == self._total
        if not requested and is_as_large and is_same_usage:
            return  # as when a job starts: what it holds now, it requested before
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
        """Read the queues as if for the first time."""
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
        self.draw = Draw(state, names)
        self.shares.clear()
        self.numbers.clear()
        self.leaves = {name: None for name in names if not state.children(name)}.keys()

    def _changed_requests(self) -> dict[str, Amounts]:
        """Return the queues that request something else than before, and what each requests now."""
        state = self._state
        usage, before = state.usage, self._usage
        self._usage = usage
        asking: dict[str, Amounts] = {}
        for name in self._changed_names() if usage is before else self._sums:
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

    def _changed_names(self) -> list[QueueName]:
        """Return the queues in which something changed, parents before children."""
        log, path = self.changes.log(), self._state.path
        names = {above for leaf in log.since(self._seen) for above in path(leaf)}
        self._seen = log.moment
        return sorted(names & self._sums.keys(), key=self._places.__getitem__)

    def _sums_of(self, name: QueueName) -> list[int]:
        sums = self._state.sums[name]
        return sums.allocated + sums.pending
