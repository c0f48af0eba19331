"""Which workloads a queue has of some kind: all of them, or those that wait."""

from collections.abc import Iterable

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.journal import Journal


class QueueLists:
    """Sets of workloads by queue. Every change goes through the journal, at a fixed cost."""

    def __init__(self, journal: Journal) -> None:
        """Start with nothing listed."""
        self._journal = journal
        self._by_queue: dict[QueueName, dict[WorkloadName, None]] = {}

    def of(self, queue: QueueName) -> Iterable[WorkloadName]:
        """Return what is listed under *queue*, in no order that means anything."""
        return self._by_queue.get(queue, ())

    def queues(self) -> Iterable[QueueName]:
        """Return the queues, known or not, under which something is listed."""
        return self._by_queue

    def has(self, queue: QueueName, workload: WorkloadName) -> bool:
        """Return whether *workload* is listed under *queue*."""
        return workload in self._by_queue.get(queue, ())

    def put(self, queue: QueueName, workload: WorkloadName) -> None:
        """List *workload* under *queue*."""
        if queue not in self._by_queue:
            self._journal.put(self._by_queue, queue, {})
        self._journal.put(self._by_queue[queue], workload, None)

    def drop(self, queue: QueueName, workload: WorkloadName) -> None:
        """Take *workload*, which must be there, off the list of *queue*."""
        listed = self._by_queue[queue]
        self._journal.drop(listed, workload)
        if not listed:
            self._journal.drop(self._by_queue, queue)
