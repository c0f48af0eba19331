"""One cycle in which nobody takes the room that was made for somebody else.

In Kueue a workload for which others were told to leave has no claim on what they leave: another
head may be faster, and it tells them to leave again. Here it has. The cycle is run as if they had
left and those that wait for them had their quota; who fits only then waits for it, too.
"""

from collections.abc import Iterator, Mapping, Sequence

from fairlead.model.axes import QuotaAxes, WorkloadName
from fairlead.model.workload import Promise
from fairlead.policy.kueue.cycle import KueueCycle, Outcome, Turn
from fairlead.policy.kueue.flavor_assignment import Mode, Waiting
from fairlead.policy.kueue.nomination import Nomination, Nominator
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot


def cycle_that_keeps_promises(
    snapshot: Snapshot,
    axes: QuotaAxes,
    settings: KueueSettings,
    heads: Sequence[Waiting],
    promises: Mapping[WorkloadName, Promise | None],
    nominated: dict[WorkloadName, Nomination],
) -> Iterator[Turn]:
    """Yield the turn of every head, those with *promises* first; *snapshot* is left as it is.

    A promise that nobody knows the terms of, since it was read from objects, is made anew. Those
    *nominated* are as they would be nominated now, and others are added. Law: who preempted has
    what it was promised as soon as those have left who were told to, unless something else changes;
    and nobody else is told to leave for it meanwhile.
    """
    now, later = snapshot.copy(), snapshot.copy()
    for holder in snapshot.leaving():
        later.let_leave(holder)
    nominator = Nominator(later, axes, settings)
    others = []
    for head in heads:
        kept = _kept(nominator, head, promises)
        if kept is None or kept.assignment is None or kept.mode() is not Mode.FIT:
            others.append(head)  # what was promised cannot be kept, so it has no right any more
            continue
        usage = kept.assignment.usage
        later.charge(head.queue, usage)
        has_room = now.fits(head.queue, usage)
        if has_room:
            now.charge(head.queue, usage)
        yield Turn(kept, "admitted" if has_room else "preempting", usage)
    _nominate_now(Nominator(now, axes, settings), later, others, nominated)
    for turn in KueueCycle(later, axes, settings).run(others, nominated=nominated):
        yield turn._replace(outcome=_outcome_now(turn, now))


def _nominate_now(
    nominator: Nominator,
    later: Snapshot,
    heads: Sequence[Waiting],
    nominated: dict[WorkloadName, Nomination],
) -> None:
    """Nominate those who fit at once, with other flavors or fewer pods than later perhaps."""
    for head in heads:
        if head.name in nominated:
            continue
        found = nominator.nominate(head)
        if found.assignment is None or found.mode() is not Mode.FIT:
            continue
        if later.fits(head.queue, found.assignment.usage):
            nominated[head.name] = found


def _kept(
    nominator: Nominator, head: Waiting, promises: Mapping[WorkloadName, Promise | None]
) -> Nomination | None:
    if head.name not in promises:
        return None
    promise = promises[head.name]
    return nominator.nominate(head) if promise is None else nominator.as_promised(head, promise)


def _outcome_now(turn: Turn, now: Snapshot) -> Outcome:
    """Return what comes of a turn while those who were told to leave have not left yet."""
    assignment = turn.nomination.assignment
    if turn.outcome != "admitted" or assignment is None:
        return turn.outcome
    queue = turn.nomination.waiting.queue
    if not now.fits(queue, assignment.usage):
        return "preempting"  # it waits for some who leave for others, or for nobody
    now.charge(queue, assignment.usage)
    return "admitted"
