"""Which pending workloads need not be nominated again, because nothing changed that they wait for.

Most workloads of a full cluster wait, and most changes do not concern them. So each class that was
found inadmissible is parked with what would have to happen before it can be admitted:

- enough quota is available, be it with the workloads that a search took but that were too few; or
- a queue or cohort beside it borrows as much as its own side would with it, or more: only there can
  it preempt. It matters when such a side changes, and when the share of its own side falls.

A workload that may not preempt by fair sharing yet takes from no side, so for it only available
quota and its own queue count. Sides are the two children of a cohort through which preemptor and
candidate come. Seen from a side, all classes that come through it with the same usage are one
group. A change unparks the classes that it may concern. To nominate a workload in vain costs time,
to miss a change would be wrong: when in doubt, a class is unparked.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.flavors.assignment import Assignment
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass
from fairlead.policy.kueue.preemption.targets import FailedSearch
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Usage

_Awaited: TypeAlias = tuple[int, int, EquivalenceClass]


class _Group:
    """Classes that come through one side with the same usage, and its rank if it had that usage."""

    __slots__ = ("classes", "key", "number", "rank", "side", "took_any", "usage")

    def __init__(
        self,
        side: QueueName,
        usage: Usage,
        rank: Rank,
        key: Hashable,
        number: int,
        *,
        took_any: bool,
    ) -> None:
        self.side = side
        self.usage = usage
        self.rank = rank
        self.key = key
        self.number = number
        self.took_any = took_any
        self.classes: dict[EquivalenceClass, None] = {}


class _Parked:
    """Where a class is listed while it is parked."""

    __slots__ = ("enough", "groups", "number", "ranks", "took_any")

    def __init__(self, number: int, enough: tuple[int, int], found: FailedSearch) -> None:
        self.number = number
        self.enough = enough  # an axis, and how much must be available there
        self.ranks = found.ranks
        self.took_any = found.took_any
        self.groups: list[_Group] = []


class ParkedWorkloads:
    """The classes of one tree that are parked, and those that are not."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Begin without a class; *snapshot* changes later, and `changed` has to follow it."""
        self._unparked: dict[EquivalenceClass, None] = {}
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._parked: dict[EquivalenceClass, _Parked | None] = {}  # None: nothing will unpark it
        self._affected: dict[EquivalenceClass, None] = {}
        # Parked, and relying on what their queue retains of other axes:
        self._relying: dict[EquivalenceClass, None] = {}
        self._count = 0
        self._proceeding: list[EquivalenceClass] | None = None  # None: to be found out again
        self._paths_up: dict[tuple[QueueName, int], tuple[bool, bool]] = {}
        self._root = next(name for name, parent in snapshot.parents.items() if parent is None)
        self._ranks = {name: self._tree.rank(name) for name in snapshot.parents}
        self._by_queue: dict[QueueName, dict[EquivalenceClass, None]] = {}  # parked
        self._groups: dict[QueueName, dict[Hashable, _Group]] = {}  # by side
        self._below: dict[QueueName, list[tuple[Rank, int, _Group]]] = {}  # by cohort
        self._awaited: dict[int, list[_Awaited]] = {}  # by axis, the least first

    def is_parked(self, eq_class: EquivalenceClass) -> bool:
        """Return whether *eq_class* is inadmissible unless there is enough quota available."""
        return eq_class in self._parked and eq_class not in self._affected

    def is_inadmissible(self, eq_class: EquivalenceClass) -> bool:
        """Return whether *eq_class* is parked and does not fit either: it need not be nominated."""
        return self.is_parked(eq_class) and not self._fits(eq_class)

    def unpark(self, eq_class: EquivalenceClass) -> None:
        """Let *eq_class* be nominated again."""
        self.forget(eq_class)
        self._unparked[eq_class] = None

    def forget(self, eq_class: EquivalenceClass) -> None:
        """Let *eq_class* be neither parked nor unparked."""
        self._proceeding = None
        self._unparked.pop(eq_class, None)
        self._affected.pop(eq_class, None)
        self._relying.pop(eq_class, None)
        parked = self._parked.pop(eq_class, None)
        if parked is None:
            return
        self._stop_awaiting(parked)
        del self._by_queue[eq_class.queue][eq_class]
        for group in parked.groups:
            del group.classes[eq_class]
            if not group.classes:
                del self._groups[group.side][group.key]
                self._unlist(group)

    def park(
        self, eq_class: EquivalenceClass, nomination: Nomination, found: FailedSearch | None
    ) -> None:
        """Park *eq_class*, which can neither be admitted nor preempt, as things stand.

        *found* is how the search for victims failed, if there was one. Where it is hard to say how
        long that holds, the class is not parked.
        """
        self.forget(eq_class)
        eq_class.nomination = nomination
        assignment = nomination.assignment
        if nomination.pending.may_shrink():
            self._unparked[eq_class] = None  # with fewer pods it may need less than is watched
            return
        if assignment is None:  # more than there will ever be, or of nothing there is
            self._parked[eq_class] = None
            return
        if found is None or not self._may_be_parked(eq_class.queue, assignment, found):
            self._unparked[eq_class] = None
            return
        self._count += 1
        enough = self._enough_for(eq_class, found)
        parked = _Parked(self._count, enough, found)
        self._parked[eq_class] = parked
        if len(assignment.usage) > len(assignment.need):
            self._relying[eq_class] = None
        self._await(eq_class, parked)
        self._by_queue.setdefault(eq_class.queue, {})[eq_class] = None
        if nomination.pending.restraint.may_use_fair_sharing:
            self._group(eq_class, parked, assignment.usage, found)

    def _enough_for(self, eq_class: EquivalenceClass, found: FailedSearch) -> tuple[int, int]:
        """Return on which axis how much available quota is enough, beside what the search took.

        No queue has more available than the root.
        """
        axis, lacking = found.lacking[0]
        return axis, lacking + self._tree.available_on(eq_class.queue, axis)

    def _await(self, eq_class: EquivalenceClass, parked: _Parked) -> None:
        axis, needed = parked.enough
        insort(self._awaited.setdefault(axis, []), (needed, parked.number, eq_class))

    def _stop_awaiting(self, parked: _Parked) -> None:
        axis, needed = parked.enough
        awaited = self._awaited[axis]
        del awaited[bisect_left(awaited, (needed, parked.number))]

    def _group(
        self, eq_class: EquivalenceClass, parked: _Parked, usage: Usage, found: FailedSearch
    ) -> None:
        """List *eq_class* with the classes that come through the same sides."""
        for side, rank in zip(self._snapshot.path(eq_class.queue), found.ranks, strict=False):
            key: Hashable = (usage, eq_class) if found.took_any else usage
            group = self._groups.setdefault(side, {}).get(key)
            if group is None:
                group = _Group(side, usage, rank, key, self._count, took_any=found.took_any)
                self._groups[side][key] = group
                self._list(group)
            elif rank < group.rank:
                self._unlist(group)
                group.rank = rank
                self._list(group)
            group.classes[eq_class] = None
            parked.groups.append(group)
            usage = self._tree.prospect(side, usage).noticed

    def may_proceed(self) -> list[EquivalenceClass]:
        """Return the classes that may proceed: all that are not parked, and parked ones that fit.

        Not to be changed. Cost: the classes that changes concern since, and those that fit at the
        root; nothing if nothing changed since.
        """
        if self._proceeding is None:
            fitting = list(self._fitting_at_root())
            for eq_class, parked in fitting:
                if parked.took_any:
                    self._affected[eq_class] = None
            if self._affected:
                for eq_class in list(self._affected):
                    self.unpark(eq_class)
                fitting = list(self._fitting_at_root())
            self._proceeding = [
                eq_class
                for eq_class, parked in fitting
                if not parked.took_any and self._fits(eq_class)
            ]
            self._proceeding += self._unparked
        return self._proceeding

    def _fitting_at_root(self) -> Iterator[tuple[EquivalenceClass, _Parked]]:
        for axis, awaited in self._awaited.items():
            available = self._tree.available_on(self._root, axis)
            for needed, _, eq_class in awaited:
                if needed > available:
                    break
                parked = self._parked[eq_class]
                assert parked is not None, "listed by what it awaits"
                yield eq_class, parked

    def changed(self, queue: QueueName, priority: int, *, is_less: bool) -> None:
        """Follow an admitted workload of *queue* with *priority* that came, changed, or has left.

        *is_less*: it uses nothing any more. Cost: the classes that come through the queue, and
        those that it may concern.
        """
        self._proceeding = None
        for eq_class in self._by_queue.get(queue, ()):
            if self._is_affected(eq_class, priority):
                self._affected[eq_class] = None
        tree, ranks = self._tree, self._ranks
        for side, cohort in pairwise(self._snapshot.path(queue)):
            before, after = ranks[side], tree.rank(side)
            ranks[side] = after
            if not self._parked:
                continue
            groups = self._groups.get(side)
            if groups:
                self._unpark_through(side, cohort, groups.values(), is_less=is_less)
            self._unpark_beside(side, cohort, max(before, after))
            if self._relying and tree.is_exceeded(cohort):
                self._affected |= {
                    eq_class: None for eq_class in self._relying if self._may_lack_more(eq_class)
                }

    def _unpark_through(
        self, side: QueueName, cohort: QueueName, groups: Iterable[_Group], *, is_less: bool
    ) -> None:
        """Unpark the classes that come through *side* and may take more now that it has changed."""
        highest: Rank | None = None
        for group in groups:
            if group.took_any:
                self._affected |= group.classes
            elif is_less:
                if highest is None:
                    highest = self._highest_beside(side, cohort)
                if self._fall(group) <= highest:
                    self._affected |= group.classes

    def _fall(self, group: _Group) -> Rank:
        """Put a group where it belongs now that its side may rank lower; return its rank."""
        rank = self._tree.prospect(group.side, group.usage).rank
        if rank != group.rank:
            self._unlist(group)
            group.rank = rank
            self._list(group)
        return rank

    def _highest_beside(self, side: QueueName, cohort: QueueName) -> Rank:
        """Return the highest rank of the siblings of *side*."""
        ranks = self._ranks
        return max(
            [ranks[each] for each in self._snapshot.children[cohort] if each != side],
            default=LEAST_RANK,
        )

    def _is_affected(self, eq_class: EquivalenceClass, priority: int) -> bool:
        """Return whether *eq_class* may preempt in its queue, fits its quota, or lacks more."""
        assert eq_class.nomination is not None, "known of parked classes"
        assignment, queue = eq_class.nomination.assignment, eq_class.queue
        if assignment is None:
            return False
        within = self._snapshot.rules[queue].preemption.within_cluster_queue
        if within != "Never" and eq_class.first().priority > priority:
            return True
        if self._snapshot.covers(queue, assignment.usage, assignment.need):
            return True
        return eq_class in self._relying and self._may_lack_more(eq_class)

    def _may_lack_more(self, eq_class: EquivalenceClass) -> bool:
        """Return whether *eq_class* relies on quota that its queue may not have any more."""
        assert eq_class.nomination is not None, "known of parked classes"
        assignment = eq_class.nomination.assignment
        assert assignment is not None, "listed with flavors"
        others = [each for each in assignment.usage if each[0] not in assignment.need]
        return not all(self._is_retained(eq_class.queue, *each) for each in others)

    def _unpark_beside(self, side: QueueName, cohort: QueueName, highest: Rank) -> None:
        """Unpark the classes beside *side* that can take from it, or could before it changed."""
        now = self._ranks[side]
        may_be_preempted = now != LEAST_RANK or self._tree.is_borrowing(side)
        for rank, _, group in self._below.get(cohort, ()):
            if rank > highest:
                break
            if group.side != side and (group.took_any or (may_be_preempted and rank <= now)):
                self._affected |= group.classes

    def _list(self, group: _Group) -> None:
        cohort = self._snapshot.parents[group.side]
        assert cohort is not None, "a side is below a cohort"
        # No two below one cohort have the same number, so the groups are never compared.
        insort(self._below.setdefault(cohort, []), (group.rank, group.number, group))

    def _unlist(self, group: _Group) -> None:
        cohort = self._snapshot.parents[group.side]
        assert cohort is not None, "a side is below a cohort"
        groups = self._below[cohort]
        at = bisect_left(groups, (group.rank, group.number))
        assert groups[at][2] is group, group.side
        del groups[at]

    def _may_be_parked(self, queue: QueueName, assignment: Assignment, found: FailedSearch) -> bool:
        """Return whether all that may matter is watched.

        Not where shares do not count, where a node on the path retains some of what is lacking, or
        has a limit and victims were taken. Nor where more than one axis is lacking, or may come to
        be because the queue does not retain it: which candidates there are depends on these axes.
        """
        if found.within_nominal or not found.lacking or len(assignment.need) != 1:
            return False
        for axis, amount in assignment.usage:
            if axis in assignment.need:
                retains_nothing, has_no_limit = self._path_up(queue, axis)
                if not retains_nothing or (found.took_any and not has_no_limit):
                    return False
            elif not self._is_retained(queue, axis, amount):
                return False
        return True

    def _path_up(self, queue: QueueName, axis: int) -> tuple[bool, bool]:
        """Return whether no node below the root retains something, and none has a borrowing limit.

        As the tree was made, so it is found out once.
        """
        found = self._paths_up.get((queue, axis))
        if found is None:
            tree, path = self._tree, self._snapshot.path(queue)[:-1]
            retains_nothing = not any(tree.retained_on(name, axis) for name in path)
            has_no_limit = all(tree.borrow_limit_on(name, axis) is None for name in path)
            found = self._paths_up[queue, axis] = retains_nothing, has_no_limit
        return found

    def _is_retained(self, queue: QueueName, axis: int, amount: int) -> bool:
        """Return whether a queue has *amount* of what it retains, whatever others use.

        Not so where more is used above it than there is: then it may lack even that.
        """
        tree, above = self._tree, self._snapshot.parents[queue]
        has_own = tree.charged_on(queue, axis) + amount <= tree.retained_on(queue, axis)
        return has_own and (above is None or tree.available_on(above, axis) >= 0)

    def _fits(self, eq_class: EquivalenceClass) -> bool:
        assert eq_class.nomination is not None, "known of parked classes"
        assignment = eq_class.nomination.assignment
        return assignment is not None and self._snapshot.fits(eq_class.queue, assignment.usage)
