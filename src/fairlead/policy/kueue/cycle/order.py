"""The heads of ClusterQueues, and the order of their turns while fair sharing is off."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.workloads import Usage

Seniority: TypeAlias = tuple[int, int, WorkloadName]


class Head(msgspec.Struct, frozen=True, gc=False):
    """A head with the flavors it was assigned; one that fits nowhere uses nothing."""

    name: WorkloadName
    queue: QueueName
    priority: int
    queued_ms: int  # its creation, or when it was requeued
    usage: Usage
    borrow_level: int = 0  # the height in the tree from which it borrows
    is_preempting: bool = False  # workloads evicted for it have not left yet


class OrderGates(NamedTuple):
    """Which of Kueue's feature gates act on the order."""

    preemptors_first: bool = False
    non_borrowing_first: bool = True
    priority_first: bool = True  # before the time of queueing

    def seniority(self, head: Head) -> Seniority:
        """Return what decides between heads that are otherwise equal; no two are the same."""
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


class Order(Protocol):
    """Says which head is next, and follows changes of usage."""

    def enter(self, head: Head) -> None:
        """Let one more head have a turn."""

    def pop(self) -> WorkloadName | None:
        """Return the next head; None if all had their turn."""

    def changed(self, queue: QueueName) -> None:
        """Follow a change of the usage of *queue*."""

    def is_between_rounds(self) -> bool:
        """Return whether the heads that are left would be in the same order in a new plan."""


def head_of(nomination: Nomination, *, is_preempting: bool) -> Head:
    """Return a nominated workload as the order of turns sees it."""
    pending, assignment = nomination.pending, nomination.assignment
    return Head(
        name=pending.name,
        queue=pending.queue,
        priority=pending.priority,
        queued_ms=pending.queued_ms,
        usage=() if assignment is None else assignment.usage,
        borrow_level=0 if assignment is None else assignment.borrow,
        is_preempting=is_preempting,
    )


class ClassicalOrder:
    """Heads in one order for all trees: by the height they borrow from, then by seniority.

    Heads that enter later come after all that are there, so that each ClusterQueue has a turn
    before one of them has another.
    """

    def __init__(self, heads: Iterable[Head], gates: OrderGates) -> None:
        """Sort *heads*. Cost: O(n log n)."""
        self._gates = gates
        self._last_first: list[Head] = []
        self._entered = list(heads)

    def enter(self, head: Head) -> None:
        """Let one more head have a turn."""
        self._entered.append(head)

    def pop(self) -> WorkloadName | None:
        """Return the next head; None if all had their turn."""
        if not self._last_first:
            self._last_first = sorted(self._entered, key=self._key, reverse=True)
            self._entered = []
        return self._last_first.pop().name if self._last_first else None

    def _key(self, head: Head) -> tuple[bool, int, Seniority]:
        gates = self._gates
        return gates.is_behind(head), head.borrow_level, gates.seniority(head)

    def changed(self, queue: QueueName) -> None:
        """Ignore a change of usage: this order does not depend on it."""

    def is_between_rounds(self) -> bool:
        """Return whether no head is left that comes before those that entered later."""
        return not self._last_first
