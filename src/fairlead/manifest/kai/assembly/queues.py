"""From KAI's Queue objects to the queues of a state: which belong to the tree, and with what."""

from collections.abc import Sequence, Set

from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES, orphans
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiQueueObject
from fairlead.manifest.kai.quota_axes import KAI_AXES
from fairlead.manifest.text.path import quote
from fairlead.model.axes import QueueName
from fairlead.model.queue import KaiQueue, Queue

PARENT_PATH = ("spec", "parentQueue")


def kai_tree(
    queues: Sequence[KaiQueueObject], there: Set[str], findings: Findings
) -> list[KaiQueueObject]:
    """Return the queues that take part in scheduling, by name.

    A queue whose parent is not among them is left out with all below it, as KAI does, with a
    warning that names them; no warning where the parent is *there* and left out itself.
    """
    lost: set[str] = set()
    for top, *below in orphans(queues):
        lost.update(each.name for each in (top, *below))
        if top.parent in there:
            continue
        top.source.report(
            findings,
            "warning",
            "missing-parent",
            PARENT_PATH,
            f"found the parent {quote(top.parent)}, which is not in the input; "
            f"{_left_out(top, below)} left out of scheduling",
            "add the parent, or correct its name",
        )
    kept = (each for each in queues if each.name not in lost)
    return sorted(kept, key=lambda each: each.name)


def model_queue(queue: KaiQueueObject) -> Queue:
    """Return the queue on the axes of `kai_axes`. KAI limits neither borrowing nor lending."""
    unlimited = (None,) * len(KAI_AXES)
    return Queue(
        name=QueueName(queue.name),
        parent=QueueName(queue.parent) if queue.parent else None,
        created_ms=queue.created_ms,
        priority=queue.priority,
        weights=tuple([queue.weights[axis] for axis in KAI_AXES]),
        guaranteed=tuple([queue.guaranteed[axis] for axis in KAI_AXES]),
        ceiling=tuple([queue.ceiling[axis] for axis in KAI_AXES]),
        borrow_limit=unlimited,
        lend_limit=unlimited,
        preempt_min_runtime_ms=queue.preempt_min_runtime_ms,
        reclaim_min_runtime_ms=queue.reclaim_min_runtime_ms,
        extension=KaiQueue(display_name=queue.display_name),
    )


def _left_out(top: KaiQueueObject, below: Sequence[KaiQueueObject]) -> str:
    if not below:
        return f"{quote(top.name)} is"
    names = [quote(each.name) for each in below[:MAX_SHOWN_NAMES]]
    if len(below) > MAX_SHOWN_NAMES:
        names.append(f"{len(below) - MAX_SHOWN_NAMES} more")
    return f"{quote(top.name)} and below it {', '.join(names)} are"
