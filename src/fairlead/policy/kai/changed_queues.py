"""Which queues hold or ask for something else than before, by the change log of workloads.

A hundred queues are in a state, and from cycle to cycle a job came or went in two of them. Whoever
keeps something for each queue looks again at these alone.
"""

from fairlead.model.accounting.journal import ChangeLog
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState


class ChangedQueues:
    """The queues of workloads that changed, in the order of their latest changes."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._log = ChangeLog[QueueName]()
        self._read_at: int | None = None  # None: nothing was read
        self._queue_of: dict[WorkloadName, QueueName] = {}

    def log(self) -> ChangeLog[QueueName]:
        """Return the log as of now; the queues above those that are in it changed as well.

        Law: in a queue that is not in it, and has none below that is, nobody came, left, got a
        place or lost one; unless the queues themselves changed. Cost: the workloads that changed.
        """
        touched = self._state.touched
        if self._read_at is None or not touched.remembers(self._read_at):
            self._begin()
        elif touched.moment != self._read_at:
            for name in touched.since(self._read_at):
                self._change(name)
        self._read_at = touched.moment
        return self._log

    def _begin(self) -> None:
        workloads = self._state.workloads
        self._queue_of = {name: workload.queue for name, workload in workloads.items()}
        for queue in self._state.queues:
            self._log.touch(queue)

    def _change(self, name: WorkloadName) -> None:
        before, now = self._queue_of.get(name), self._state.workloads.get(name)
        if before is not None:
            self._log.touch(before)
        if now is None:
            self._queue_of.pop(name, None)
        elif now.queue != before:
            self._log.touch(now.queue)
            self._queue_of[name] = now.queue
