"""Who need not be looked at again, because nothing changed that it waits for.

Most workloads of a full cluster wait, and most of what happens does not concern them. So of each
kind that was refused it is kept what would have to happen before it can be met:

- there is room enough for it, be it with those who gave way but were too few; or
- a queue or cohort beside it borrows as much as its own side would with it, or more: only from
  there can it take anything. It matters when such a side changes, and when its own side falls.

Sides are the two children of a cohort through which claimant and holder come. A claim looks alike
from far away: all kinds that come through one side with the same use are one group there. To be
woken in vain costs time, to sleep through a change would be wrong: when in doubt, they wake.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.failed_search import FailedSearch
from fairlead.policy.kueue.flavor_assignment import Assignment
from fairlead.policy.kueue.holder import Usage
from fairlead.policy.kueue.kind import Kind
from fairlead.policy.kueue.nomination import Nomination
from fairlead.policy.kueue.snapshot import Snapshot

_Room: TypeAlias = tuple[int, int, Kind]


class _Group:
    """Kinds that come through one side with the same use, and its rank if they had it."""

    __slots__ = ("key", "kinds", "number", "rank", "side", "took_any", "usage")

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
        self.kinds: dict[Kind, None] = {}


class _Sleeper:
    """Where a kind is listed while it sleeps."""

    __slots__ = ("groups", "number", "room", "took_any")

    def __init__(self, number: int, room: tuple[int, int] | None, *, took_any: bool) -> None:
        self.number = number
        self.room = room  # an axis, and how much has to be available there
        self.took_any = took_any
        self.groups: list[_Group] = []


class Sleepers:
    """The kinds of one tree that sleep, and those that are awake."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Begin with nobody; *snapshot* changes later, and `changed` has to be told of it."""
        self.awake: dict[Kind, None] = {}
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._asleep: dict[Kind, _Sleeper] = {}
        self._count = 0
        self._root = next(name for name, parent in snapshot.parents.items() if parent is None)
        self._ranks = {name: self._tree.rank(name) for name in snapshot.parents}
        self._groups: dict[QueueName, dict[Hashable, _Group]] = {}  # by side
        self._below: dict[QueueName, list[tuple[Rank, int, _Group]]] = {}  # by cohort
        self._rooms: dict[int, list[_Room]] = {}  # by axis, who needs least first

    def is_asleep(self, kind: Kind) -> bool:
        """Return whether *kind* was refused and nothing changed that it waits for but room."""
        return kind in self._asleep

    def wake(self, kind: Kind) -> None:
        """Let *kind* be looked at."""
        self.forget(kind)
        self.awake[kind] = None

    def forget(self, kind: Kind) -> None:
        """Let *kind* be neither asleep nor awake."""
        self.awake.pop(kind, None)
        sleeper = self._asleep.pop(kind, None)
        if sleeper is None:
            return
        if sleeper.room is not None:
            axis, needed = sleeper.room
            rooms = self._rooms[axis]
            del rooms[bisect_left(rooms, (needed, sleeper.number), key=_first_two)]
        for group in sleeper.groups:
            del group.kinds[kind]
            if not group.kinds:
                del self._groups[group.side][group.key]
                self._unlist(group)

    def refuse(self, kind: Kind, nomination: Nomination, found: FailedSearch | None) -> None:
        """Take in that *kind* can be admitted neither at once nor by preemption, as things stand.

        *found* is how the search for others ended, if there was one that tells. It sleeps from now
        on, unless that is hard to say for how long.
        """
        self.forget(kind)
        kind.nomination = nomination
        assignment = nomination.assignment
        if nomination.waiting.may_shrink():
            self.awake[kind] = None  # with fewer pods it may be met by less than is watched
            return
        self._count += 1
        if assignment is None:  # more than there will ever be, or nothing that is there
            self._asleep[kind] = _Sleeper(self._count, None, took_any=False)
            return
        if found is None or not self._may_sleep(kind.queue, assignment, found):
            self.awake[kind] = None
            return
        axis, lacking = found.lacking[0]
        # Nobody has more room than the root. So much of it was enough with those who were taken.
        needed = lacking + self._tree.available_on(kind.queue, axis)
        sleeper = _Sleeper(self._count, (axis, needed), took_any=found.took_any)
        self._asleep[kind] = sleeper
        insort(self._rooms.setdefault(axis, []), (needed, self._count, kind), key=_first_two)
        self._group(kind, sleeper, assignment.usage, found)

    def _group(self, kind: Kind, sleeper: _Sleeper, usage: Usage, found: FailedSearch) -> None:
        """List *kind* with those that come through the same sides as it does."""
        for side, rank in zip(self._snapshot.path(kind.queue), found.ranks, strict=False):
            key: Hashable = (usage, kind) if found.took_any else usage
            group = self._groups.setdefault(side, {}).get(key)
            if group is None:
                group = _Group(side, usage, rank, key, self._count, took_any=found.took_any)
                self._groups[side][key] = group
                self._list(group)
            elif rank < group.rank:
                self._unlist(group)
                group.rank = rank
                self._list(group)
            group.kinds[kind] = None
            sleeper.groups.append(group)
            usage = self._tree.prospect(side, usage).noticed

    def with_room(self) -> Iterator[Kind]:
        """Yield those who sleep and have room now, without anybody giving way."""
        for axis, rooms in self._rooms.items():
            available = self._tree.available_on(self._root, axis)
            stirred = []
            for needed, _, kind in rooms:
                if needed > available:
                    break
                stirred.append(kind)
            for kind in stirred:
                if self._asleep[kind].took_any:
                    self.wake(kind)
                elif self._has_room(kind):
                    yield kind

    def changed(self, queue: QueueName, priority: int, *, is_less: bool) -> None:
        """Take in that a holder of *queue* with *priority* came, was told to leave, or has left.

        *is_less*: it uses nothing any more. Cost: the kinds of claims that come through the queue,
        and those that can be met by it now.
        """
        path = self._snapshot.path(queue)
        for group in list(self._groups.get(queue, {}).values()):
            for kind in list(group.kinds):
                if self._is_concerned(kind, priority):
                    self.wake(kind)
        for side, cohort in pairwise(path):
            before, after = self._ranks[side], self._tree.rank(side)
            self._ranks[side] = after
            for group in list(self._groups.get(side, {}).values()):
                if group.took_any or (is_less and self._falls(group, cohort)):
                    self._wake_all(group)
            self._wake_beside(side, cohort, max(before, after))

    def _falls(self, group: _Group, cohort: QueueName) -> bool:
        """Let a group stand where it belongs; return whether there is one beside it as high."""
        self._unlist(group)
        group.rank = self._tree.prospect(group.side, group.usage).rank
        self._list(group)
        highest = max(
            [self._ranks[each] for each in self._snapshot.children[cohort] if each != group.side],
            default=LEAST_RANK,
        )
        return highest >= group.rank

    def _is_concerned(self, kind: Kind, priority: int) -> bool:
        """Return whether *kind* may ask in its own queue now, has its own quota, or lacks more."""
        assert kind.nomination is not None, "known of those who sleep"
        assignment, queue, tree = kind.nomination.assignment, kind.queue, self._tree
        if assignment is None:
            return False
        within = self._snapshot.rules[queue].preemption.within_cluster_queue
        if within != "Never" and kind.first().priority > priority:
            return True
        over = [
            axis
            for axis, amount in assignment.usage
            if tree.charged_on(queue, axis) + amount > tree.subtree_on(queue, axis)
        ]
        return assignment.need.isdisjoint(over) or not assignment.need.issuperset(over)

    def _wake_beside(self, side: QueueName, cohort: QueueName, highest: Rank) -> None:
        """Wake those beside *side* who can take from it, or could before it changed."""
        now = self._ranks[side]
        is_asked = now != LEAST_RANK or self._tree.is_borrowing(side)
        woken = []
        for rank, _, group in self._below.get(cohort, ()):
            if rank > highest:
                break
            if group.side != side and (group.took_any or (is_asked and rank <= now)):
                woken.append(group)
        for group in woken:
            self._wake_all(group)

    def _wake_all(self, group: _Group) -> None:
        for kind in list(group.kinds):
            self.wake(kind)

    def _list(self, group: _Group) -> None:
        cohort = self._snapshot.parents[group.side]
        assert cohort is not None, "a side is below a cohort"
        entry = (group.rank, group.number, group)
        insort(self._below.setdefault(cohort, []), entry, key=_first_two)

    def _unlist(self, group: _Group) -> None:
        cohort = self._snapshot.parents[group.side]
        assert cohort is not None, "a side is below a cohort"
        groups = self._below[cohort]
        at = bisect_left(groups, (group.rank, group.number), key=_first_two)
        assert groups[at][2] is group, group.side
        del groups[at]

    def _may_sleep(self, queue: QueueName, assignment: Assignment, found: FailedSearch) -> bool:
        """Return whether all that may matter is watched.

        Not where shares do not count, where a node on the way keeps some of what is lacking for its
        own, or has a limit and others were taken. Nor where more than one axis is lacking, or may
        come to be because it is not the queue's own: whom a claim may ask depends on which are.
        """
        tree, path = self._tree, self._snapshot.path(queue)[:-1]
        if found.is_owed or not found.lacking or len(assignment.need) != 1:
            return False
        for axis, amount in assignment.usage:
            if axis in assignment.need:
                if any(tree.retained_on(name, axis) for name in path):
                    return False
                if found.took_any and any(
                    tree.borrow_limit_on(name, axis) is not None for name in path
                ):
                    return False
            else:
                own = min(tree.retained_on(queue, axis), tree.subtree_on(queue, axis))
                if tree.charged_on(queue, axis) + amount > own:
                    return False
        return True

    def _has_room(self, kind: Kind) -> bool:
        assert kind.nomination is not None, "known of those who sleep"
        assignment = kind.nomination.assignment
        return assignment is not None and self._snapshot.fits(kind.queue, assignment.usage)


def _first_two(entry: tuple[Any, int, Any]) -> tuple[Any, int]:
    return entry[0], entry[1]
