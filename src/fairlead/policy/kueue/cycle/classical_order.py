"""Whose turn is next while fair sharing is off: all heads in one line, whatever their tree."""

from collections.abc import Iterable

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.heads import Head, OrderGates, Seniority


class ClassicalOrder:
    """Heads in the order of their turns: who borrows from less high up, then the senior.

    Who enters later comes after all who are there, so that each ClusterQueue has a turn before one
    of them has another.
    """

    def __init__(self, heads: Iterable[Head], gates: OrderGates) -> None:
        """Line up *heads*. Cost: O(n log n)."""
        self._gates = gates
        self._last_first: list[Head] = []
        self._entered = list(heads)

    def enter(self, head: Head) -> None:
        """Let one more have a turn."""
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
        """Take in that the use of *queue* is another, which changes nothing about this order."""

    def is_between_rounds(self) -> bool:
        """Return whether nobody is left who comes before those who entered later."""
        return not self._last_first
