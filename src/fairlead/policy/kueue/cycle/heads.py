"""The first waiting workload of a ClusterQueue, as the order of admission sees it."""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.workloads import Usage

Seniority: TypeAlias = tuple[int, int, WorkloadName]


class Head(msgspec.Struct, frozen=True, gc=False):
    """A head with the flavors that it was given; one that fits nowhere uses nothing."""

    name: WorkloadName
    queue: QueueName
    priority: int
    queued_ms: int  # its creation, or when it was queued anew
    usage: Usage
    borrow_level: int = 0  # the height in the tree from which it borrows
    is_preempting: bool = False  # workloads that give way to it have not left yet


class OrderGates(NamedTuple):
    """Which of Kueue's feature gates act on the order."""

    preemptors_first: bool = False
    non_borrowing_first: bool = True
    priority_first: bool = True  # before the time of queueing

    def seniority(self, head: Head) -> Seniority:
        """Return what decides between heads whose claims are equal; no two are the same."""
        return -head.priority if self.priority_first else 0, head.queued_ms, head.name

    def is_behind(self, head: Head) -> bool:
        """Return whether a head comes after those that wait for their own preemptions."""
        return self.preemptors_first and not head.is_preempting


def order_gates(feature_gates: Iterable[tuple[str, bool]]) -> OrderGates:
    """Return the gates as set, the others as Kueue has them."""
    given = dict(feature_gates)
    return OrderGates(
        preemptors_first=given.get("PrioritizePreemptorWorkloads", False),
        non_borrowing_first=given.get("FairSharingPrioritizeNonBorrowing", True),
        priority_first=given.get("PrioritySortingWithinCohort", True),
    )
