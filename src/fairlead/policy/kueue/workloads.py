"""Workloads as the search for victims sees them: who has quota, and who wants some."""

from typing import NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import QueueName, WorkloadName

Usage: TypeAlias = tuple[tuple[int, int], ...]
"""Amounts above 0 by the number of their axis, in the order of the axes."""

HolderKey: TypeAlias = tuple[bool, int, int, WorkloadName]


class Holder(msgspec.Struct, frozen=True, gc=False):
    """An admitted workload and what it uses."""

    name: WorkloadName
    queue: QueueName
    priority: int
    usage: Usage
    queued_ms: int  # orders it among what waits: its creation, or when it was queued anew
    reserved_ms: int  # since when it has quota
    is_evicted: bool = False  # told to leave already
    is_protected: bool = False  # has quota for less than the minimum run time

    def key(self) -> HolderKey:
        """Return what orders those who could give way, the first one first.

        Who is leaving already, then less important, then with quota for a shorter time, then name.
        """
        return not self.is_evicted, self.priority, -self.reserved_ms, self.name

    def uses_the_same(self, other: "Holder") -> bool:
        """Return whether *other* counts in the same place and for as much."""
        return (self.queue, self.usage) == (other.queue, other.usage)


class Restraint(NamedTuple):
    """Whom options of ours forbid a workload to ask, in other queues than its own."""

    spared: frozenset[WorkloadName] = frozenset()
    spared_if_owed: frozenset[WorkloadName] = frozenset()  # instead, within its own quota
    may_share: bool = True  # False: beyond its own quota it asks nobody yet


UNRESTRAINED = Restraint()
NOT_YET_SHARING = Restraint(may_share=False)


class Claimant(msgspec.Struct, frozen=True, gc=False):
    """A workload with flavors assigned that does not fit, and on which axes it does not."""

    name: WorkloadName
    queue: QueueName
    priority: int
    usage: Usage
    queued_ms: int
    need: frozenset[int]
    spared: frozenset[WorkloadName] = frozenset()  # of other queues, not to be taken
    spared_if_owed: frozenset[WorkloadName] = frozenset()  # instead, within its own quota
    may_share: bool = True  # False: beyond its own quota it asks no other queue yet
