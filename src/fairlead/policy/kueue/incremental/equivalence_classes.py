"""The workloads of one ClusterQueue that ask for the same in the same way: they fare equally.

What was found out about one of them holds for all, so it is kept here and not with each.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload

Place: TypeAlias = tuple[int, int, WorkloadName]
"""Where a workload stands in the line of its queue, the first one first."""


def place_of(pending: PendingWorkload) -> Place:
    """Return where *waiting* belongs: by importance, then by age, then by name."""
    return -pending.priority, pending.queued_ms, pending.name


class EquivalenceClass:
    """Workloads that are alike, in the order in which they wait."""

    __slots__ = ("_members", "nomination", "queue", "scheduling_hash")

    def __init__(self, queue: QueueName, scheduling_hash: Hashable) -> None:
        """Begin with nobody; *shape* is what those have in common who are of this kind."""
        self.queue = queue
        self.scheduling_hash = scheduling_hash
        self.nomination: Nomination | None = None  # of one who could not be admitted
        self._members: list[tuple[Place, PendingWorkload]] = []

    def __bool__(self) -> bool:
        return bool(self._members)

    def add(self, pending: PendingWorkload) -> None:
        """Let one more wait."""
        insort(self._members, (place_of(pending), pending))

    def drop(self, pending: PendingWorkload) -> None:
        """Let one who waits, wait no more."""
        at = bisect_left(self._members, (place_of(pending),))
        assert self._members[at][1].name == pending.name, pending.name
        del self._members[at]

    def place(self) -> Place:
        """Return where the first one stands."""
        return self._members[0][0]

    def first(self) -> PendingWorkload:
        """Return who is asked for all of them."""
        return self._members[0][1]

    def refused(self) -> Nomination:
        """Return the first one with what was found out: it cannot be admitted, nobody gives way."""
        assert self.nomination is not None, "known of those alone who were looked at"
        return replace(self.nomination, pending=self.first())

    def nominated(self, pending: PendingWorkload, snapshot: Snapshot) -> Nomination:
        """Return one of them, who has room in *snapshot* or is refused as the others were."""
        assert self.nomination is not None, "known of those alone who were looked at"
        assignment = self.nomination.assignment
        if assignment is not None and snapshot.fits(self.queue, assignment.usage):
            assignment = replace(assignment, mode=AssignmentMode.FIT, need=frozenset())
        return replace(self.nomination, pending=pending, assignment=assignment)


class PendingClasses:
    """Who waits in a ClusterQueue with BestEffortFIFO, while nothing is decided."""

    def __init__(self, queue: QueueName) -> None:
        """Begin with nobody."""
        self.queue = queue
        self.preempting: dict[WorkloadName, PendingWorkload] = {}
        self._eq_classes: dict[Hashable, EquivalenceClass] = {}
        self._order: list[EquivalenceClass] | None = None

    def __bool__(self) -> bool:
        return bool(self._eq_classes)

    def eq_class(self, scheduling_hash: Hashable) -> EquivalenceClass:
        """Return the kind of workloads of *shape*."""
        found = self._eq_classes.get(scheduling_hash)
        if found is None:
            found = self._eq_classes[scheduling_hash] = EquivalenceClass(
                self.queue, scheduling_hash
            )
        return found

    def changed(self, eq_class: EquivalenceClass) -> None:
        """Take in that somebody of *kind* came or went."""
        self._order = None
        if not eq_class:
            del self._eq_classes[eq_class.scheduling_hash]

    def order(self) -> list[EquivalenceClass]:
        """Return the kinds in the order of their first; not to be changed."""
        if self._order is None:
            self._order = sorted(self._eq_classes.values(), key=EquivalenceClass.place)
        return self._order

    def head_in(self, cycle: int) -> EquivalenceClass | None:
        """Return whose turn it is in a cycle, from 0, if nobody was admitted before."""
        order = self.order()
        return order[cycle] if cycle < len(order) else None

    def first_preempting(self) -> WorkloadName | None:
        """Return who stays the head because others give way to it."""
        return min(self.preempting.values(), key=place_of).name if self.preempting else None


class LineInPlan:
    """A line while a plan goes through its cycles and decides about some of it."""

    def __init__(self, line: PendingClasses) -> None:
        """Begin before the first cycle."""
        self.preempting = line.first_preempting()
        self.is_asked_again = True  # in the next cycle, whatever happens in other queues
        self.was_skipped = False  # others took what its head could have had
        self.left = list(line.order())
        self._begin = 0  # in which cycle the first of them is the head

    def turn_of(self, eq_class: EquivalenceClass) -> int | None:
        """Return in which cycle *kind* has its turn; None if it had it, or somebody stays first."""
        if self.preempting is not None or eq_class not in self.left:
            return None
        return self._begin + self.left.index(eq_class)

    def head_in(self, cycle: int) -> EquivalenceClass | None:
        """Return whose turn it is in a cycle to come, if nobody is admitted before."""
        at = cycle - self._begin
        return self.left[at] if self.preempting is None and at < len(self.left) else None

    def come_to(self, cycle: int) -> None:
        """Let those have stepped aside who come before the head of a cycle."""
        if self.preempting is None:
            del self.left[: cycle - self._begin]

    def goes_on(self, cycle: int, *, is_shorter: bool) -> None:
        """Let whoever is first now be the head in the next cycle after *cycle*.

        *is_shorter*: somebody was admitted in it, so that others may be the first of their kind.
        """
        if is_shorter:
            self.left = sorted(
                [eq_class for eq_class in self.left if eq_class], key=EquivalenceClass.place
            )
        self._begin = cycle + 1
