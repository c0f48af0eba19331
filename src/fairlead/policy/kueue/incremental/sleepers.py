"""Who need not be looked at again, because nothing changed that it waits for.

Most workloads of a full cluster wait, and most of what happens does not concern them. So of each
kind that was refused it is kept what would have to happen before it can be met:

- there is room enough for it, be it with those who gave way but were too few; or
- a queue or cohort beside it borrows as much as its own side would with it, or more: only from
  there can it take anything. It matters when such a side changes, and when its own side falls.

Who may not ask by its share yet takes from no side, so for it only room and its own queue count.
Sides are the two children of a cohort through which claimant and holder come. A claim looks alike
from far away: all kinds that come through one side with the same use are one group there. A change
stirs those whom it may concern. Who is plainly refused again as things stand then sleeps on. To be
woken in vain costs time, to sleep through a change would be wrong: when in doubt, they wake.
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

_Room: TypeAlias = tuple[int, int, EquivalenceClass]


class _Group:
    """Kinds that come through one side with the same use, and its rank if they had it."""

    __slots__ = ("eq_classes", "key", "number", "rank", "side", "took_any", "usage")

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
        self.eq_classes: dict[EquivalenceClass, None] = {}


class _Sleeper:
    """Where a kind is listed while it sleeps."""

    __slots__ = ("groups", "number", "ranks", "room", "took_any")

    def __init__(self, number: int, room: tuple[int, int], found: FailedSearch) -> None:
        self.number = number
        self.room = room  # an axis, and how much has to be available there
        self.ranks = found.ranks
        self.took_any = found.took_any
        self.groups: list[_Group] = []


class ParkedWorkloads:
    """The kinds of one tree that sleep, and those that are awake."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Begin with nobody; *snapshot* changes later, and `changed` has to be told of it."""
        self._awake: dict[EquivalenceClass, None] = {}
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._asleep: dict[EquivalenceClass, _Sleeper | None] = {}  # None: nothing will wake it
        self._stirred: dict[EquivalenceClass, None] = {}
        self._relying: dict[
            EquivalenceClass, None
        ] = {}  # asleep, and count on their queue's own of other axes
        self._count = 0
        self._hopeful: list[EquivalenceClass] | None = (
            None  # as it was last told; None: it may be others now
        )
        self._ways_up: dict[tuple[QueueName, int], tuple[bool, bool]] = {}
        self._root = next(name for name, parent in snapshot.parents.items() if parent is None)
        self._ranks = {name: self._tree.rank(name) for name in snapshot.parents}
        self._at_home: dict[
            QueueName, dict[EquivalenceClass, None]
        ] = {}  # who sleeps, by its own queue
        self._groups: dict[QueueName, dict[Hashable, _Group]] = {}  # by side
        self._below: dict[QueueName, list[tuple[Rank, int, _Group]]] = {}  # by cohort
        self._rooms: dict[int, list[_Room]] = {}  # by axis, who needs least first

    def is_asleep(self, eq_class: EquivalenceClass) -> bool:
        """Return whether *kind* was refused and nothing changed that it waits for but room."""
        return eq_class in self._asleep and eq_class not in self._stirred

    def is_refused(self, eq_class: EquivalenceClass) -> bool:
        """Return whether *kind* is asleep and has no room either: it need not be nominated."""
        return self.is_asleep(eq_class) and not self._has_room(eq_class)

    def wake(self, eq_class: EquivalenceClass) -> None:
        """Let *kind* be looked at."""
        self.forget(eq_class)
        self._awake[eq_class] = None

    def forget(self, eq_class: EquivalenceClass) -> None:
        """Let *kind* be neither asleep nor awake."""
        self._hopeful = None
        self._awake.pop(eq_class, None)
        self._stirred.pop(eq_class, None)
        self._relying.pop(eq_class, None)
        sleeper = self._asleep.pop(eq_class, None)
        if sleeper is None:
            return
        self._give_up_room(sleeper)
        del self._at_home[eq_class.queue][eq_class]
        for group in sleeper.groups:
            del group.eq_classes[eq_class]
            if not group.eq_classes:
                del self._groups[group.side][group.key]
                self._unlist(group)

    def refuse(
        self, eq_class: EquivalenceClass, nomination: Nomination, found: FailedSearch | None
    ) -> None:
        """Take in that *kind* can be admitted neither at once nor by preemption, as things stand.

        *found* is how the search for others ended, if there was one that tells. It sleeps from now
        on, unless that is hard to say for how long.
        """
        self.forget(eq_class)
        eq_class.nomination = nomination
        assignment = nomination.assignment
        if nomination.pending.may_shrink():
            self._awake[eq_class] = None  # with fewer pods it may be met by less than is watched
            return
        if assignment is None:  # more than there will ever be, or nothing that is there
            self._asleep[eq_class] = None
            return
        if found is None or not self._may_sleep(eq_class.queue, assignment, found):
            self._awake[eq_class] = None
            return
        self._count += 1
        room = self._room_for(eq_class, found)
        sleeper = _Sleeper(self._count, room, found)
        self._asleep[eq_class] = sleeper
        if len(assignment.usage) > len(assignment.need):
            self._relying[eq_class] = None
        self._wait_for_room(eq_class, sleeper)
        self._at_home.setdefault(eq_class.queue, {})[eq_class] = None
        if nomination.pending.restraint.may_use_fair_sharing:
            self._group(eq_class, sleeper, assignment.usage, found)

    def _room_for(self, eq_class: EquivalenceClass, found: FailedSearch) -> tuple[int, int]:
        """Return on which axis how much room is enough, with those who gave way.

        Nobody has more room than the root.
        """
        axis, lacking = found.lacking[0]
        return axis, lacking + self._tree.available_on(eq_class.queue, axis)

    def _wait_for_room(self, eq_class: EquivalenceClass, sleeper: _Sleeper) -> None:
        axis, needed = sleeper.room
        insort(self._rooms.setdefault(axis, []), (needed, sleeper.number, eq_class))

    def _give_up_room(self, sleeper: _Sleeper) -> None:
        axis, needed = sleeper.room
        rooms = self._rooms[axis]
        del rooms[bisect_left(rooms, (needed, sleeper.number))]

    def _group(
        self, eq_class: EquivalenceClass, sleeper: _Sleeper, usage: Usage, found: FailedSearch
    ) -> None:
        """List *kind* with those that come through the same sides as it does."""
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
            group.eq_classes[eq_class] = None
            sleeper.groups.append(group)
            usage = self._tree.prospect(side, usage).noticed

    def hopeful(self) -> list[EquivalenceClass]:
        """Return who may be met as things stand: all who are awake, and who sleeps and has room.

        Not to be changed. Cost: those who were stirred since, and those for whom the root has room;
        nothing if nothing happened since.
        """
        if self._hopeful is None:
            roomy = list(self._with_room_at_root())
            for eq_class, sleeper in roomy:
                if sleeper.took_any:
                    self._stirred[eq_class] = None
            if self._stirred:
                for eq_class in list(self._stirred):
                    self.wake(eq_class)
                roomy = list(self._with_room_at_root())
            self._hopeful = [
                eq_class
                for eq_class, sleeper in roomy
                if not sleeper.took_any and self._has_room(eq_class)
            ]
            self._hopeful += self._awake
        return self._hopeful

    def _with_room_at_root(self) -> Iterator[tuple[EquivalenceClass, _Sleeper]]:
        for axis, rooms in self._rooms.items():
            available = self._tree.available_on(self._root, axis)
            for needed, _, eq_class in rooms:
                if needed > available:
                    break
                sleeper = self._asleep[eq_class]
                assert sleeper is not None, "who waits for nothing waits for no room"
                yield eq_class, sleeper

    def changed(self, queue: QueueName, priority: int, *, is_less: bool) -> None:
        """Take in that a holder of *queue* with *priority* came, is seen anew, or has left.

        *is_less*: it uses nothing any more. Cost: the kinds of claims that come through the queue,
        and those that can be met by it now.
        """
        self._hopeful = None
        for eq_class in self._at_home.get(queue, ()):
            if self._is_concerned(eq_class, priority):
                self._stirred[eq_class] = None
        tree, ranks = self._tree, self._ranks
        for side, cohort in pairwise(self._snapshot.path(queue)):
            before, after = ranks[side], tree.rank(side)
            ranks[side] = after
            if not self._asleep:
                continue
            groups = self._groups.get(side)
            if groups:
                self._stir_through(side, cohort, groups.values(), is_less=is_less)
            self._stir_beside(side, cohort, max(before, after))
            if self._relying and tree.is_exceeded(cohort):
                self._stirred |= {
                    eq_class: None for eq_class in self._relying if self._may_lack_more(eq_class)
                }

    def _stir_through(
        self, side: QueueName, cohort: QueueName, groups: Iterable[_Group], *, is_less: bool
    ) -> None:
        """Stir those who come through *side* and may take more now that it has changed."""
        highest: Rank | None = None
        for group in groups:
            if group.took_any:
                self._stirred |= group.eq_classes
            elif is_less:
                if highest is None:
                    highest = self._highest_beside(side, cohort)
                if self._fall(group) <= highest:
                    self._stirred |= group.eq_classes

    def _fall(self, group: _Group) -> Rank:
        """Let a group stand where it belongs now that its side may be lower, and return where."""
        rank = self._tree.prospect(group.side, group.usage).rank
        if rank != group.rank:
            self._unlist(group)
            group.rank = rank
            self._list(group)
        return rank

    def _highest_beside(self, side: QueueName, cohort: QueueName) -> Rank:
        """Return how high the highest stands of those beside *side*."""
        ranks = self._ranks
        return max(
            [ranks[each] for each in self._snapshot.children[cohort] if each != side],
            default=LEAST_RANK,
        )

    def _is_concerned(self, eq_class: EquivalenceClass, priority: int) -> bool:
        """Return whether *kind* may ask in its own queue now, has its own quota, or lacks more."""
        assert eq_class.nomination is not None, "known of those who sleep"
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
        """Return whether *kind* counts on what its queue may not have any more."""
        assert eq_class.nomination is not None, "known of those who sleep"
        assignment = eq_class.nomination.assignment
        assert assignment is not None, "who counts on something has flavors"
        others = [each for each in assignment.usage if each[0] not in assignment.need]
        return not all(self._is_own(eq_class.queue, *each) for each in others)

    def _stir_beside(self, side: QueueName, cohort: QueueName, highest: Rank) -> None:
        """Stir those beside *side* who can take from it, or could before it changed."""
        now = self._ranks[side]
        may_be_preempted = now != LEAST_RANK or self._tree.is_borrowing(side)
        for rank, _, group in self._below.get(cohort, ()):
            if rank > highest:
                break
            if group.side != side and (group.took_any or (may_be_preempted and rank <= now)):
                self._stirred |= group.eq_classes

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

    def _may_sleep(self, queue: QueueName, assignment: Assignment, found: FailedSearch) -> bool:
        """Return whether all that may matter is watched.

        Not where shares do not count, where a node on the way keeps some of what is lacking for its
        own, or has a limit and others were taken. Nor where more than one axis is lacking, or may
        come to be because it is not the queue's own: whom a claim may ask depends on which are.
        """
        if found.within_nominal or not found.lacking or len(assignment.need) != 1:
            return False
        for axis, amount in assignment.usage:
            if axis in assignment.need:
                keeps_nothing, has_no_limit = self._way_up(queue, axis)
                if not keeps_nothing or (found.took_any and not has_no_limit):
                    return False
            elif not self._is_own(queue, axis, amount):
                return False
        return True

    def _way_up(self, queue: QueueName, axis: int) -> tuple[bool, bool]:
        """Return whether no node below the root keeps something for its own, and none has a limit.

        As the tree was made, so it is found out once.
        """
        found = self._ways_up.get((queue, axis))
        if found is None:
            tree, path = self._tree, self._snapshot.path(queue)[:-1]
            keeps_nothing = not any(tree.retained_on(name, axis) for name in path)
            has_no_limit = all(tree.borrow_limit_on(name, axis) is None for name in path)
            found = self._ways_up[queue, axis] = keeps_nothing, has_no_limit
        return found

    def _is_own(self, queue: QueueName, axis: int, amount: int) -> bool:
        """Return whether a queue has *amount* of what it keeps for its own, whatever others do.

        Not so where more is used above it than there is: then it may lack even that.
        """
        tree, above = self._tree, self._snapshot.parents[queue]
        has_own = tree.charged_on(queue, axis) + amount <= tree.retained_on(queue, axis)
        return has_own and (above is None or tree.available_on(above, axis) >= 0)

    def _has_room(self, eq_class: EquivalenceClass) -> bool:
        assert eq_class.nomination is not None, "known of those who sleep"
        assignment = eq_class.nomination.assignment
        return assignment is not None and self._snapshot.fits(eq_class.queue, assignment.usage)
