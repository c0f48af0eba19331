"""The workloads of one ClusterQueue that ask for the same in the same way: they fare equally.

What was found out about one of them holds for all, so it is kept here and not with each.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.flavors.assignment import Mode, Waiting
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.snapshot.snapshot import Snapshot

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
