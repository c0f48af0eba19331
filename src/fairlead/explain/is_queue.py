"""Whether a name that somebody typed is that of a queue."""

from fairlead.model.axes import QueueName
from fairlead.model.queue import cohort_queue
from fairlead.model.state import ClusterState


def is_queue(state: ClusterState, text: str) -> bool:
    """Return whether *text* names a queue, or a cohort without its prefix."""
    return not state.queues.keys().isdisjoint((QueueName(text), cohort_queue(text)))
