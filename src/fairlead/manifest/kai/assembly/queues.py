"""KAI's Queue objects as queues of a state, and what is legal among them and hardly meant."""

from collections.abc import Iterable, Sequence, Set

from fairlead.errors import Severity
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES, orphans
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.jobs import Job
from fairlead.manifest.kai.notation import KAI_AXES, notation_of
from fairlead.manifest.kai.objects import KaiQueueObject
from fairlead.manifest.text.path import quote
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.queue import KaiQueue, Queue

PARENT_PATH = ("spec", "parentQueue")


def kai_tree(
    queues: Sequence[KaiQueueObject], there: Set[str], elsewhere: Set[str], findings: Findings
) -> list[KaiQueueObject]:
    """Return the queues that take part in scheduling, by name.

    A queue whose parent is not among them is left out with all below it, as KAI does, with a
    warning that names them; no warning where the parent is *there* and left out itself. Queues
    *elsewhere* are in the input and in other node pools.
    """
    lost: set[str] = set()
    for top, *below in orphans(queues):
        lost.update(each.name for each in (top, *below))
        if top.parent in there:
            continue
        where, fix = "not in the input", "add the parent, or correct its name"
        if top.parent in elsewhere:
            where, fix = "in another node pool", "give both the same label of their node pool"
        top.source.warn(
            findings,
            "missing-parent",
            PARENT_PATH,
            f"found the parent {quote(top.parent)}, which is {where}; "
            f"{_left_out(top, below)} left out of scheduling",
            fix,
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


def advise_on_queues(
    queues: Sequence[KaiQueueObject], total: Amounts | None, findings: Findings
) -> None:
    """Remark on queues that cannot run, and on more being guaranteed than there is.

    *total* is what the nodes have on KAI's axes; None: there are none. Cost: a few looks at each
    queue.
    """
    for queue in queues:
        _remark_on_unusable(queue, findings)
    by_parent: dict[str, list[KaiQueueObject]] = {}
    for queue in queues:
        by_parent.setdefault(queue.parent, []).append(queue)
    by_name = {queue.name: queue for queue in queues}
    for parent, children in by_parent.items():
        if parent:
            _advise_on_children(by_name[parent], children, findings)
    if total is not None:
        _advise_on_top(by_parent.get("", []), total, findings)


def _remark_on_unusable(queue: KaiQueueObject, findings: Findings) -> None:
    if not any(limit is None or limit > 0 for limit in queue.ceiling.values()):
        message = "found a limit of 0 in every resource, so nothing can ever run here"
        fix = "write limit: -1 for no limit; one that is left out is 0"
        _report(queue, "advice", (), "unusable", message, fix, findings)
        return
    if not any(queue.guaranteed[axis] != 0 or queue.weights[axis] for axis in KAI_AXES):
        message = "found neither a quota nor an overQuotaWeight, so the fair share is always 0: "
        message += "what runs here is reclaimed first"
        fix = "write a quota, or overQuotaWeight: 1"
        _report(queue, "advice", (), "unusable", message, fix, findings)
    for axis in KAI_AXES:
        limit, quota = queue.ceiling[axis], queue.guaranteed[axis]
        if limit is not None and (quota is None or limit < quota):
            _warn_about_limit(queue, axis, limit, quota, findings)


def _warn_about_limit(
    queue: KaiQueueObject, axis: str, limit: int, quota: int | None, findings: Findings
) -> None:
    notation = notation_of(queue)
    below = "an unlimited quota" if quota is None else f"a quota of {notation.amount(axis, quota)}"
    message = f"found a limit of {notation.amount(axis, limit)} beside {below}; the limit applies"
    fix = f"raise the limit ({notation.no_ceiling}), or lower the quota"
    _report(queue, "warning", (axis, notation.ceiling), "no-effect", message, fix, findings)


def _advise_on_children(
    parent: KaiQueueObject, children: Sequence[KaiQueueObject], findings: Findings
) -> None:
    notation = notation_of(parent)
    for axis in KAI_AXES:
        own = parent.guaranteed[axis]
        promised = _promised(children, axis)
        if own is not None and promised > own:
            message = f"found a quota of {notation.amount(axis, own)}, but the queues below it are "
            message += f"guaranteed {notation.amount(axis, promised)} together"
            fix = "raise this quota, or lower theirs"
            at = (axis, notation.guaranteed)
            _report(parent, "advice", at, "overcommitted", message, fix, findings)


def _advise_on_top(queues: Sequence[KaiQueueObject], total: Amounts, findings: Findings) -> None:
    """Say at the largest guarantee that all of them together are more than the nodes have."""
    for axis, available in zip(KAI_AXES, total, strict=True):
        promised = _promised(queues, axis)
        if promised > max(0, available):  # foreign pods may hold more than a node has
            largest = max(queues, key=lambda each: (each.guaranteed[axis] or 0, each.name))
            notation = notation_of(largest)
            message = f"found {notation.amount(axis, promised)} guaranteed at the top level, but "
            message += f"the nodes have {notation.amount(axis, available)}; the largest quota is "
            message += f"that of {quote(largest.name)}"
            fix = "lower quotas, or add nodes"
            at = (axis, notation.guaranteed)
            _report(largest, "advice", at, "overcommitted", message, fix, findings)


def _promised(queues: Iterable[KaiQueueObject], axis: str) -> int:
    """Return the sum of the guarantees that are numbers; "everything" promises nothing firm."""
    return sum(queue.guaranteed[axis] or 0 for queue in queues)


def _report(
    queue: KaiQueueObject,
    severity: Severity,
    below: tuple[str, ...],
    code: str,
    message: str,
    fix: str,
    findings: Findings,
) -> None:
    path = (*notation_of(queue).resources, *below)
    queue.source.report(findings, severity, code, path, message, fix)


def check_queues_of_jobs(
    jobs: Sequence[Job],
    queues: Sequence[KaiQueueObject],
    elsewhere: Set[str],
    findings: Findings,
) -> None:
    """Warn about jobs that wait for ever: KAI runs nothing outside the leaves of the tree.

    A queue without its parent is not in the tree. Queues of a cycle count, since those are reported
    already. Queues *elsewhere* are in other node pools.
    """
    lost = {queue.name for line in orphans(queues) for queue in line}
    queues = [queue for queue in queues if queue.name not in lost]
    names = {queue.name for queue in queues}
    inner = {queue.parent for queue in queues}
    for job in jobs:
        if job.is_group_missing:
            continue  # that is reported already
        if job.queue not in names:
            message = f"{_found_queue(job)}, which is not in the tree" if job.queue else ""
            message = f"{message or 'found no queue'}; the job waits until there is one"
            fix = "name a queue, or add it with all queues above it"
            if job.queue in elsewhere:
                message = f"{_found_queue(job)}, which is in another node pool than the job; "
                message += "the job waits until both are in one"
                fix = "give both the same label of their node pool"
            if not job.queue:
                fix = (
                    "name one here, or in a label of the PodGroup; labels of its pods do not count"
                )
            job.source.warn(findings, "missing-reference", job.queue_path, message, fix)
        elif job.queue in inner:
            message = f"{_found_queue(job)}, which has queues below it; only leaves run jobs"
            fix = "name one of the queues below it"
            job.source.warn(findings, "unusable", job.queue_path, message, fix)


def _found_queue(job: Job) -> str:
    if job.is_queue_named:
        return f"found the queue {quote(job.queue)}"
    label = str(job.queue_path[-1])
    is_there = label in job.pods[0].labels
    found = f"found the label {label} without a value" if is_there else f"found no label {label}"
    return f"{found}, so that the queue is {quote(job.queue)}"
