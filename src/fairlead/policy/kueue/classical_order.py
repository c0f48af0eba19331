"""Whose turn is next while fair sharing is off: all heads in one line, whatever their tree."""

from collections.abc import Iterable

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.head import Head, OrderGates, Seniority


class ClassicalOrder:
    """Heads in the order of their turns: who borrows from less high up, then the senior."""

    def __init__(self, heads: Iterable[Head], gates: OrderGates) -> None:
        """Line up *heads*. Cost: O(n log n)."""

        def key(head: Head) -> tuple[bool, int, Seniority]:
            return gates.is_behind(head), head.borrow_level, gates.seniority(head)

        self._last_first = sorted(heads, key=key, reverse=True)

    def pop(self) -> WorkloadName | None:
        """Return the next head; None if all had their turn."""
        return self._last_first.pop().name if self._last_first else None

    def changed(self, queue: QueueName) -> None:
        """Take in that the use of *queue* is another, which changes nothing about this order."""
