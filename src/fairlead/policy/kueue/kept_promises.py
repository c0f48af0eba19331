"""One cycle in which nobody takes the room that was made for somebody else.

In Kueue a workload for which others were told to leave has no claim on what they leave: another
head may be faster, and it tells them to leave again. Here it has. The cycle is run as if they had
left and those that wait for them had their quota; who fits only then waits for it, too.
"""

from collections.abc import Collection, Iterator, Sequence

from fairlead.model.axes import QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle import KueueCycle, Outcome, Turn
from fairlead.policy.kueue.flavor_assignment import Mode, Waiting
from fairlead.policy.kueue.nomination import Nominator
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot


def cycle_that_keeps_promises(
    snapshot: Snapshot,
    axes: QuotaAxes,
    settings: KueueSettings,
    heads: Sequence[Waiting],
    preempting: Collection[WorkloadName],
) -> Iterator[Turn]:
    """Yield the turn of every head, those of *preempting* first; *snapshot* is left as it is.

    Law: who preempted has its quota as soon as those have left who were told to, unless something
    else changes; and nobody else is told to leave for it meanwhile.
    """
    now, later = snapshot.copy(), snapshot.copy()
    for holder in snapshot.leaving():
        later.let_leave(holder)
    nominator = Nominator(later, axes, settings)
    others = []
    for head in heads:
        promised = nominator.nominate(head) if head.name in preempting else None
        if promised is None or promised.assignment is None or promised.mode() is not Mode.FIT:
            others.append(head)  # what was promised cannot be kept, so it has no right any more
            continue
        usage = promised.assignment.usage
        later.charge(head.queue, usage)
        has_room = now.fits(head.queue, usage)
        if has_room:
            now.charge(head.queue, usage)
        yield Turn(promised, "admitted" if has_room else "preempting", usage)
    for turn in KueueCycle(later, axes, settings).run(others):
        yield turn._replace(outcome=_outcome_now(turn, now))


def _outcome_now(turn: Turn, now: Snapshot) -> Outcome:
    """Return what comes of a turn while those who were told to leave have not left yet."""
    assignment = turn.nomination.assignment
    if turn.outcome != "admitted" or assignment is None:
        return turn.outcome
    queue = turn.nomination.waiting.queue
    if not now.fits(queue, assignment.usage):
        return "deferred"
    now.charge(queue, assignment.usage)
    return "admitted"
