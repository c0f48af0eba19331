"""How the quota that victims free is kept for the workload that preempted them.

In Kueue a preemptor has no claim on what its victims free: another head may be faster, and then it
preempts again. Here it has one. All decisions are made on the tree as it will be: evicted workloads
are gone, and the workloads that wait for them have their quota. The tree as it is says only which
workloads need not wait.
"""

from typing import Final

from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload

NOT_YET: Final = 1 << 62
"""Since when a promised workload counts as admitted: later than all admitted ones."""


def promised_workload(turn: Turn) -> AdmittedWorkload:
    """Return the workload of *turn* as if it had what it reserves, as the last one admitted.

    So a preemptor that would need it as a victim is noticed, and takes no other workload instead.
    """
    pending = turn.nomination.pending
    return AdmittedWorkload(
        name=pending.name,
        queue=pending.queue,
        priority=pending.priority,
        usage=turn.reserved,
        queued_ms=pending.queued_ms,
        reserved_ms=NOT_YET,
    )


def without_evicted(snapshot: Snapshot) -> Snapshot:
    """Return a copy of *snapshot* without the workloads that were told to leave."""
    later = snapshot.copy()
    for admitted in snapshot.evicted():
        later.remove(admitted)
    return later


def kept_promise(
    nominator: Nominator, head: PendingWorkload, promise: Promise | None
) -> Nomination | None:
    """Return *head* with what it was promised, if that fits; None: the promise is void.

    A promise of unknown terms, because it was read from objects, is made anew.
    """
    kept = nominator.nominate(head) if promise is None else nominator.as_promised(head, promise)
    return kept if kept.mode() is AssignmentMode.FIT else None
