"""Pending workloads by equivalence class: those of one ClusterQueue with equal scheduling hashes.

They ask for the same in the same way, so what was found out about one of them holds for all, and is
kept here and not with each.

In a cycle the head of a queue has its turn. If it cannot be admitted it is set aside with all of
its class, and in the next cycle the first workload of another class is the head. So it is known in
which cycle a class has its turn without going through the cycles, as long as none is admitted.
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
"""Where a workload stands in its queue, the first one first."""


def place_of(pending: PendingWorkload) -> Place:
    """Return the place of *pending*: by priority, then by age, then by name."""
    return -pending.priority, pending.queued_ms, pending.name


class EquivalenceClass:
    """Pending workloads that are alike, in the order of their queue."""

    __slots__ = ("_members", "nomination", "queue", "scheduling_hash")

    def __init__(self, queue: QueueName, scheduling_hash: Hashable) -> None:
        """Begin without a workload."""
        self.queue = queue
        self.scheduling_hash = scheduling_hash
        self.nomination: Nomination | None = None  # of a workload that could not be admitted
        self._members: list[tuple[Place, PendingWorkload]] = []

    def __bool__(self) -> bool:
        return bool(self._members)

    def add(self, pending: PendingWorkload) -> None:
        """Add a workload."""
        insort(self._members, (place_of(pending), pending))

    def drop(self, pending: PendingWorkload) -> None:
        """Remove a workload."""
        at = bisect_left(self._members, (place_of(pending),))
        assert self._members[at][1].name == pending.name, pending.name
        del self._members[at]

    def place(self) -> Place:
        """Return the place of the first workload."""
        return self._members[0][0]

    def first(self) -> PendingWorkload:
        """Return the workload that is nominated for all of them."""
        return self._members[0][1]

    def inadmissible(self) -> Nomination:
        """Return the first workload as nominated before: it fits nowhere and has no targets."""
        assert self.nomination is not None, "known of classes alone that were nominated"
        return replace(self.nomination, pending=self.first())

    def nominated(self, pending: PendingWorkload, snapshot: Snapshot) -> Nomination:
        """Return one of them, which fits in *snapshot* or is inadmissible as the others were."""
        assert self.nomination is not None, "known of classes alone that were nominated"
        assignment = self.nomination.assignment
        if assignment is not None and snapshot.fits(self.queue, assignment.usage):
            assignment = replace(assignment, mode=AssignmentMode.FIT, need=frozenset())
        return replace(self.nomination, pending=pending, assignment=assignment)


class PendingClasses:
    """The classes of one ClusterQueue with the strategy BestEffortFIFO, between plans."""

    def __init__(self, queue: QueueName) -> None:
        """Begin without a workload."""
        self.queue = queue
        self.preempting: dict[WorkloadName, PendingWorkload] = {}
        self._classes: dict[Hashable, EquivalenceClass] = {}
        self._order: list[EquivalenceClass] | None = None

    def __bool__(self) -> bool:
        return bool(self._classes)

    def of_hash(self, scheduling_hash: Hashable) -> EquivalenceClass:
        """Return the class of workloads with *scheduling_hash*."""
        found = self._classes.get(scheduling_hash)
        if found is None:
            found = EquivalenceClass(self.queue, scheduling_hash)
            self._classes[scheduling_hash] = found
        return found

    def changed(self, eq_class: EquivalenceClass) -> None:
        """Follow a workload that was added to or dropped from *eq_class*."""
        self._order = None
        if not eq_class:
            del self._classes[eq_class.scheduling_hash]

    def order(self) -> list[EquivalenceClass]:
        """Return the classes in the order of their first workloads; not to be changed."""
        if self._order is None:
            self._order = sorted(self._classes.values(), key=EquivalenceClass.place)
        return self._order

    def head_in(self, cycle: int) -> EquivalenceClass | None:
        """Return the class of the head in a cycle, from 0, if none was admitted before."""
        order = self.order()
        return order[cycle] if cycle < len(order) else None

    def first_preempting(self) -> WorkloadName | None:
        """Return the workload that stays the head because it waits for evicted ones."""
        return min(self.preempting.values(), key=place_of).name if self.preempting else None


class QueueProgress:
    """How far a plan has come in the classes of one ClusterQueue."""

    def __init__(self, classes: PendingClasses) -> None:
        """Begin before the first cycle."""
        self.preempting = classes.first_preempting()
        self.is_retried = True  # in the next cycle, whatever happens in other queues
        self.was_skipped = False  # others took what its head could have had
        self.left = list(classes.order())
        self._begin = 0  # in which cycle the first of them is the head

    def cycle_of(self, eq_class: EquivalenceClass) -> int | None:
        """Return in which cycle a class has its turn; None if it had it, or a head stays."""
        if self.preempting is not None or eq_class not in self.left:
            return None
        return self._begin + self.left.index(eq_class)

    def head_in(self, cycle: int) -> EquivalenceClass | None:
        """Return the class of the head in a cycle to come, if none is admitted before."""
        at = cycle - self._begin
        return self.left[at] if self.preempting is None and at < len(self.left) else None

    def come_to(self, cycle: int) -> None:
        """Set the classes aside that come before the head of a cycle."""
        if self.preempting is None:
            del self.left[: cycle - self._begin]

    def go_on(
        self,
        cycle: int,
        *,
        is_shorter: bool = False,
        is_retried: bool = True,
        was_skipped: bool = False,
    ) -> None:
        """Let the first class that is left have the head in the next cycle after *cycle*.

        *is_shorter*: a workload was admitted, so that others may be the first of their classes.
        """
        if is_shorter:
            self.left = sorted([each for each in self.left if each], key=EquivalenceClass.place)
        self.is_retried, self.was_skipped = is_retried, was_skipped
        self._begin = cycle + 1
