"""How the room that others leave is kept for whom they were told to leave.

In Kueue a workload for which others were told to leave has no claim on what they leave: another
head may be faster, and it tells them to leave again. Here it has. Everybody is decided about on the
tree as it will be: those who were told to leave are gone, and those who wait for them have their
quota. The tree as it is says only who need not wait.
"""

from typing import Final

from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload

NOT_YET: Final = 1 << 62
"""When somebody has quota who waits for it: later than all who have it."""


def promised_workload(turn: Turn) -> AdmittedWorkload:
    """Return the one whose *turn* keeps something as if it had that, the last who started.

    So a claim that would have to take it is known, and takes nobody else of that queue instead.
    """
    pending = turn.nomination.pending
    return AdmittedWorkload(
        name=pending.name,
        queue=pending.queue,
        priority=pending.priority,
        usage=turn.kept,
        queued_ms=pending.queued_ms,
        reserved_ms=NOT_YET,
    )


def without_evicted(snapshot: Snapshot) -> Snapshot:
    """Return the tree of *snapshot* without those who were told to leave."""
    later = snapshot.copy()
    for admitted in snapshot.evicted():
        later.remove(admitted)
    return later


def kept_promise(
    nominator: Nominator, head: PendingWorkload, promise: Promise | None
) -> Nomination | None:
    """Return what *head* was promised, if there is room for it; None: it has no right any more.

    A promise that nobody knows the terms of, since it was read from objects, is made anew.
    """
    kept = nominator.nominate(head) if promise is None else nominator.as_promised(head, promise)
    return kept if kept.mode() is AssignmentMode.FIT else None
