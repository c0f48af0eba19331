"""What is remembered of each workload of a state, and to which of them a place is promised.

Only a change of memory changes it, and what takes its subject away: the workload is gone, or a pod.
"""

from fairlead.errors import StateError
from fairlead.model.accounting.journal import Journal
from fairlead.model.axes import WorkloadName
from fairlead.model.memory import Memory, is_empty, part_about
from fairlead.model.workload import Workload


class MemoryBooks:
    """Memories by workload, changed through the journal of the state."""

    def __init__(self, journal: Journal) -> None:
        """Begin with nothing remembered."""
        self.memories: dict[WorkloadName, Memory] = {}  # none is empty
        self.promised: dict[WorkloadName, None] = {}  # to which an earlier plan promised a place
        self._journal = journal

    def change(self, workload: Workload, memory: Memory | None) -> None:
        """Remember *memory* of *workload*, and nothing else; None: nothing. Cost: its size.

        Refuses with `StateError` what cannot be true of the workload.
        """
        if memory is not None and part_about(workload, memory) != memory:
            raise StateError(f"what is to be remembered of {workload.name} is not about it")
        self._put(workload.name, memory)

    def workload_changed(self, workload: Workload) -> None:
        """Forget what cannot be true of *workload* any more."""
        before = self.memories.get(workload.name)
        if before is not None:
            left = part_about(workload, before)
            if left is not before:
                self._put(workload.name, left)

    def forget(self, name: WorkloadName) -> None:
        """Remember nothing of a workload."""
        if name in self.memories:
            self._put(name, None)

    def _put(self, name: WorkloadName, memory: Memory | None) -> None:
        if memory is not None and not is_empty(memory):
            self._journal.put(self.memories, name, memory)
        elif name in self.memories:
            self._journal.drop(self.memories, name)
        if memory is not None and memory.promises_place():
            self._journal.put(self.promised, name, None)
        elif name in self.promised:
            self._journal.drop(self.promised, name)
