"""What a workload of Kueue says about itself, read in one way."""

from fairlead.model.workload import KueueWorkload, Workload


def local_queue_name(workload: Workload) -> str:
    """Return the LocalQueue that *workload* names, as NAMESPACE/NAME."""
    rules = workload.extension
    assert isinstance(rules, KueueWorkload), workload.name
    return f"{workload.namespace}/{rules.local_queue}"


def is_preempting(workload: Workload) -> bool:
    """Return whether others give way to *workload*, so that it is the first of its queue."""
    return isinstance(workload.extension, KueueWorkload) and workload.extension.preempting
