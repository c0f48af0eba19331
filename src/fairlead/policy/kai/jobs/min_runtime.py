"""How long a job may run before others may take its place, under KAI's rules.

A queue can promise its jobs a minimum runtime: one against jobs of the same queue (preempt), one
against other queues (reclaim). If a queue promises nothing, its parent is asked, and at the root
the scheduler's default holds. A promise of 0 is a promise: it ends the walk.

A job with more pods than it needs can give some away and keep running. So a protected elastic job
may be a victim, but must keep its minimum.
"""

from collections.abc import Mapping, Sequence

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.queue import Queue
from fairlead.policy.kai.settings import KaiSettings


class GroupPods(msgspec.Struct, frozen=True):
    """The pods of a job, or of one of its sub-groups, that has a minimum of its own."""

    count: int  # running or not
    running: int
    minimum: int


def preempt_min_runtime_ms(
    queues: Mapping[QueueName, Queue], victim: Sequence[QueueName], settings: KaiSettings
) -> int:
    """Return how long a job may run before jobs of its queue with higher priority replace it.

    *victim* is the path from its queue to the root: the first queue that promises something
    decides.
    """
    for name in victim:
        promised = queues[name].preempt_min_runtime_ms
        if promised is not None:
            return promised
    return max(0, settings.preempt_min_runtime_ms)


def reclaim_min_runtime_ms(
    queues: Mapping[QueueName, Queue],
    victim: Sequence[QueueName],
    reclaimer: Sequence[QueueName],
    settings: KaiSettings,
) -> int:
    """Return how long a job may run before a job of another queue takes its place.

    Both paths lead from the queue of the job to the root. The first queue that promises something
    decides; where the walk begins depends on the resolve method.
    """
    asked = victim if settings.reclaim_resolve_method == "queue" else _sides(victim, reclaimer)
    for name in asked:
        promised = queues[name].reclaim_min_runtime_ms
        if promised is not None:
            return promised
    return max(0, settings.reclaim_min_runtime_ms)


def is_protected(started_ms: int | None, min_runtime_ms: int, now_ms: int) -> bool:
    """Return whether a job that started last at *started_ms* is within its minimum runtime.

    One that never started has nothing to protect.
    """
    return started_ms is not None and now_ms < started_ms + min_runtime_ms


def is_elastic(groups: Sequence[GroupPods]) -> bool:
    """Return whether a job has, in some group, more pods than it needs."""
    return any(group.count > group.minimum for group in groups)


def may_be_victim(groups: Sequence[GroupPods], *, protected: bool) -> bool:
    """Return whether pods of a job can be evicted: while it is protected, only if it is elastic."""
    return not protected or is_elastic(groups)


def eviction_stands(
    groups: Sequence[GroupPods], evicted: Sequence[int], *, protected: bool
) -> bool:
    """Return whether a victim may lose *evicted* of the running pods of its groups.

    A protected elastic job must keep its minimum running in every group that loses a pod; a group
    that runs too few already and loses none is not made worse. For a job that is not elastic
    `may_be_victim` decides, and nothing is refused here.
    """
    if not protected or not is_elastic(groups):
        return True
    pairs = zip(groups, evicted, strict=True)
    return all(lost == 0 or group.running - lost >= group.minimum for group, lost in pairs)


def _sides(victim: Sequence[QueueName], reclaimer: Sequence[QueueName]) -> Sequence[QueueName]:
    """Return the queues to ask when the promise is one between the sides of a conflict.

    The sides are the two queues just below the lowest common ancestor. The walk begins at the
    victim's side; what lies below is a matter of that side alone. Without a common ancestor the
    victim's side is its topmost queue, which has no parent to ask.
    """
    shared = set(reclaimer)
    below = [at for at, name in enumerate(victim) if name not in shared]
    return victim[below[-1] :] if below else victim
