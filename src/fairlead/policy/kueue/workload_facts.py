"""What is known of a workload of Kueue, read in one way."""

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import KueueMemory, Promise
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload


def local_queue_name(workload: Workload) -> str:
    """Return the LocalQueue that *workload* names, as NAMESPACE/NAME."""
    rules = workload.extension
    assert isinstance(rules, KueueWorkload), workload.name
    return f"{workload.namespace}/{rules.local_queue}"


def is_preempting(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether others give way to a workload, so that it is the first of its queue."""
    memory = state.memories.get(name)
    return isinstance(memory, KueueMemory) and memory.preempting


def promise_to(state: ClusterState, name: WorkloadName) -> Promise | None:
    """Return what earlier plans promised to a workload, as far as it is known."""
    memory = state.memories.get(name)
    return memory.promise if isinstance(memory, KueueMemory) else None
