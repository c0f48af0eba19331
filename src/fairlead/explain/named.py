"""The queue or the job that a user names."""

from fairlead.errors import FairleadError
from fairlead.explain.text.names import printable
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import cohort_queue
from fairlead.model.state import ClusterState


def is_queue(state: ClusterState, text: str) -> bool:
    """Return whether *text* names a queue, or a cohort without its prefix."""
    return not state.queues.keys().isdisjoint((QueueName(text), cohort_queue(text)))


def queue_named(state: ClusterState, text: str) -> QueueName:
    """Return the queue that *text* names; a cohort may be named without its prefix."""
    known = set(state.tree_order())
    for name in (QueueName(text), cohort_queue(text)):
        if name in known:
            return name
    guess = printable(did_you_mean(text, known | set(state.workloads)))
    what = guess or "fairlead queues lists the queues, fairlead plan the jobs that wait"
    raise FairleadError(f"no queue or job is named {text!r}, or the job has finished. {what}")


def job_named(state: ClusterState, text: str) -> WorkloadName | None:
    """Return the job that *text* names; None if there is none.

    A whole name means that job only. The kind may be left out of it, such as in ``lab/train`` for
    ``lab/pod/train``, and the namespace too, where one job alone is called so.
    """
    if text in state.workloads:
        return WorkloadName(text)
    found = sorted(name for name in state.workloads if text in _short_names(name))
    if len(found) > 1:
        names = printable(", ".join(found))
        raise FairleadError(f"several jobs are named {text!r}: choose one of {names}")
    return found[0] if found else None


def _short_names(name: WorkloadName) -> tuple[str, str]:
    """Return what else a job may be called: by its name alone, and without its kind."""
    namespace, *_, own = name.split("/")
    return own, f"{namespace}/{own}"
