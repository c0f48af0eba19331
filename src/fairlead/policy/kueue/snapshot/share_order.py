"""The children of each cohort in the order in which they lose workloads, kept between searches.

A search charges its preemptor and takes workloads away, but all of that is undone. So the order at
rest is kept here, for each candidate filter, and a search only looks at what it changes itself.
What changed for good, because a workload was admitted or left, is corrected when next looked at.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads, CandidateFilter
from fairlead.policy.kueue.workloads import AdmittedWorkload

Tie: TypeAlias = tuple[bool, bool, int, float, int, str]
ShareKey: TypeAlias = tuple[bool, float, bool, Tie, QueueName]
"""Sorts the largest share first, then cohorts, and then by what decides between equals."""


def cohort_entry(rank: Rank, name: QueueName) -> ShareKey:
    """Return where a cohort stands among its siblings."""
    weightless, share = rank
    return not weightless, -share, False, (False, False, 0, 0.0, 0, name), name


def queue_entry(rank: Rank, name: QueueName, first: AdmittedWorkload, *, is_own: bool) -> ShareKey:
    """Return where a ClusterQueue stands that would lose *first*; of equals the own one is last."""
    weightless, share = rank
    is_staying, priority, size, newest, first_name = first.key()
    tie = is_staying, is_own, priority, size, newest, first_name
    return not weightless, -share, True, tie, name


class ShareOrder:
    """The order at rest, of all cohorts that were looked at so far."""

    def __init__(
        self,
        tree: QuotaTree,
        parents: Mapping[QueueName, QueueName | None],
        children: Mapping[QueueName, Sequence[QueueName]],
        admitted: Mapping[QueueName, AdmittedWorkloads],
    ) -> None:
        """Look at nothing yet; *tree* and *admitted*, which has the leaves, may change later."""
        self._tree = tree
        self._parents = parents
        self._children = children
        self._admitted = admitted
        self._siblings: dict[QueueName, dict[CandidateFilter, _Siblings]] = {}
        self._without: dict[QueueName, dict[tuple[QueueName, CandidateFilter], Rank]] = {}
        self._changed: set[QueueName] = set()  # since `refresh`, whatever the tree says

    def refresh(self) -> None:
        """Follow what changed; to be called at rest, before a search changes anything.

        Cost: the nodes that were charged since, times the filters known at their parents.
        """
        changed, self._changed = self._changed, set()
        changed.update(map(QueueName, self._tree.changes()))
        parents, above = self._parents, set(changed)
        for name in changed:
            parent = parents[name]
            if parent is not None:
                for siblings in self._siblings.get(parent, {}).values():
                    siblings.stale.add(name)
            # Nodes above may not notice now, but would notice less or more later.
            while parent is not None and parent not in above:
                above.add(parent)
                parent = parents[parent]
        for name in above:
            self._without.pop(name, None)

    def changed(self, queue: QueueName) -> None:
        """Note that other workloads of *queue* are admitted, though perhaps with the same usage."""
        self._changed.add(queue)

    def below(
        self,
        cohort: QueueName,
        candidate_filter: CandidateFilter,
        besides: Collection[QueueName] = (),
    ) -> list[ShareKey]:
        """Return the entries below *cohort*, in their order; not to be changed.

        All that are below must be at rest but *besides*, whose entries may be outdated. Cost: the
        children, the first time; then those that changed since.
        """
        known = self._siblings.setdefault(cohort, {})
        siblings = known.get(candidate_filter)
        if siblings is None:
            siblings = known[candidate_filter] = _Siblings(self._children.get(cohort, ()))
        if siblings.stale:
            late = siblings.stale.intersection(besides)
            for name in siblings.stale - late:
                siblings.put(name, self._entry(name, candidate_filter))
            siblings.stale = late
        return siblings.entries

    def rank_without_one(
        self, side: QueueName, queue: QueueName, candidate_filter: CandidateFilter
    ) -> Rank:
        """Return the highest rank of *side* without one candidate of *queue*.

        Nothing below *side* may have changed since `refresh`. Cost: O(1); the first time, and after
        a change, a look at each usage that occurs.
        """
        known = self._without.setdefault(side, {})
        rank = known.get((queue, candidate_filter))
        if rank is None:
            tree, usages = self._tree, self._admitted[queue].matching(candidate_filter).usages
            rank = max(tree.rank_without(side, queue, usage) for usage in usages)
            known[queue, candidate_filter] = rank
        return rank

    def _entry(self, name: QueueName, candidate_filter: CandidateFilter) -> ShareKey | None:
        """Return where a node stands; None if it has no candidates."""
        tree = self._tree
        rank = tree.rank(name)
        # A borrower may have the least rank too, where there is nothing to lend.
        if rank == LEAST_RANK and not tree.is_borrowing(name):
            return None
        workloads = self._admitted.get(name)
        if workloads is None:
            return cohort_entry(rank, name)
        if not tree.borrows_any(name, candidate_filter.need):
            return None
        matching = workloads.matching(candidate_filter).workloads
        return queue_entry(rank, name, matching[0], is_own=False) if matching else None


class _Siblings:
    """The entries of one cohort for one filter, and which of them are outdated."""

    __slots__ = ("_by_name", "entries", "stale")

    def __init__(self, names: Iterable[QueueName]) -> None:
        self.entries: list[ShareKey] = []
        self.stale = set(names)
        self._by_name: dict[QueueName, ShareKey] = {}

    def put(self, name: QueueName, entry: ShareKey | None) -> None:
        """Replace the entry of a child."""
        old = self._by_name.pop(name, None)
        if old is not None:
            del self.entries[bisect_left(self.entries, old)]
        if entry is not None:
            insort(self.entries, entry)
            self._by_name[name] = entry
