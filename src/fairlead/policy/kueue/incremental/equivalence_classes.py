"""The workloads of one ClusterQueue that ask for the same in the same way: they fare equally.

What was found out about one of them holds for all, so it is kept here and not with each.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.flavors.assignment import Mode
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Waiting

Place: TypeAlias = tuple[int, int, WorkloadName]
"""Where a workload stands in the line of its queue, the first one first."""


def place_of(waiting: Waiting) -> Place:
    """Return where *waiting* belongs: by importance, then by age, then by name."""
    return -waiting.priority, waiting.queued_ms, waiting.name


class Kind:
    """Workloads that are alike, in the order in which they wait."""

    __slots__ = ("_members", "nomination", "queue", "shape")

    def __init__(self, queue: QueueName, shape: Hashable) -> None:
        """Begin with nobody; *shape* is what those have in common who are of this kind."""
        self.queue = queue
        self.shape = shape
        self.nomination: Nomination | None = None  # of one who could not be admitted
        self._members: list[tuple[Place, Waiting]] = []

    def __bool__(self) -> bool:
        return bool(self._members)

    def add(self, waiting: Waiting) -> None:
        """Let one more wait."""
        insort(self._members, (place_of(waiting), waiting))

    def drop(self, waiting: Waiting) -> None:
        """Let one who waits, wait no more."""
        at = bisect_left(self._members, (place_of(waiting),))
        assert self._members[at][1].name == waiting.name, waiting.name
        del self._members[at]

    def place(self) -> Place:
        """Return where the first one stands."""
        return self._members[0][0]

    def first(self) -> Waiting:
        """Return who is asked for all of them."""
        return self._members[0][1]

    def refused(self) -> Nomination:
        """Return the first one with what was found out: it cannot be admitted, nobody gives way."""
        assert self.nomination is not None, "known of those alone who were looked at"
        return replace(self.nomination, waiting=self.first())

    def nominated(self, waiting: Waiting, snapshot: Snapshot) -> Nomination:
        """Return one of them, who has room in *snapshot* or is refused as the others were."""
        assert self.nomination is not None, "known of those alone who were looked at"
        assignment = self.nomination.assignment
        if assignment is not None and snapshot.fits(self.queue, assignment.usage):
            assignment = replace(assignment, mode=Mode.FIT, need=frozenset())
        return replace(self.nomination, waiting=waiting, assignment=assignment)


class QueueLine:
    """Who waits in a ClusterQueue with BestEffortFIFO, while nothing is decided."""

    def __init__(self, queue: QueueName) -> None:
        """Begin with nobody."""
        self.queue = queue
        self.preempting: dict[WorkloadName, Waiting] = {}
        self._kinds: dict[Hashable, Kind] = {}
        self._order: list[Kind] | None = None

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def kind(self, shape: Hashable) -> Kind:
        """Return the kind of workloads of *shape*."""
        found = self._kinds.get(shape)
        if found is None:
            found = self._kinds[shape] = Kind(self.queue, shape)
        return found

    def changed(self, kind: Kind) -> None:
        """Take in that somebody of *kind* came or went."""
        self._order = None
        if not kind:
            del self._kinds[kind.shape]

    def order(self) -> list[Kind]:
        """Return the kinds in the order of their first; not to be changed."""
        if self._order is None:
            self._order = sorted(self._kinds.values(), key=Kind.place)
        return self._order

    def head_in(self, cycle: int) -> Kind | None:
        """Return whose turn it is in a cycle, from 0, if nobody was admitted before."""
        order = self.order()
        return order[cycle] if cycle < len(order) else None

    def first_preempting(self) -> WorkloadName | None:
        """Return who stays the head because others give way to it."""
        return min(self.preempting.values(), key=place_of).name if self.preempting else None


class LineInPlan:
    """A line while a plan goes through its cycles and decides about some of it."""

    def __init__(self, line: QueueLine) -> None:
        """Begin before the first cycle."""
        self.preempting = line.first_preempting()
        self.is_asked_again = True  # in the next cycle, whatever happens in other queues
        self.was_skipped = False  # others took what its head could have had
        self.left = list(line.order())
        self._begin = 0  # in which cycle the first of them is the head

    def turn_of(self, kind: Kind) -> int | None:
        """Return in which cycle *kind* has its turn; None if it had it, or somebody stays first."""
        if self.preempting is not None or kind not in self.left:
            return None
        return self._begin + self.left.index(kind)

    def head_in(self, cycle: int) -> Kind | None:
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
            self.left = sorted([kind for kind in self.left if kind], key=Kind.place)
        self._begin = cycle + 1
