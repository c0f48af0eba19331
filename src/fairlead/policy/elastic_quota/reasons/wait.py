"""Why a pod waits: what refused it, and why it cannot take a place from others either."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from fairlead.fairness.elastic_pool import Excess
from fairlead.model.axes import QueueName
from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Tally, Term
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.node_search import NEVER_PREEMPTS, Claim
from fairlead.policy.elastic_quota.preemption.victims import Outcome
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, Refusal, Standing
from fairlead.policy.elastic_quota.quota.pending_pod import Asker

NO_NODE_FITS: Final = "NoNodeFits"
UNSUPPORTED_CONSTRAINT: Final = "UnsupportedConstraint"
BEYOND_MIN: Final = "BeyondMin"
NOBODY_BORROWS: Final = "NobodyBorrows"
NOBODY_LESS_IMPORTANT: Final = "NobodyLessImportant"
NO_ROOM_WITH_VICTIMS: Final = "NoRoomWithVictims"
PREEMPTION: Final = "preemption"

_OUTCOMES: Final[dict[Outcome, str]] = {
    "no-victims": "have nobody who may be asked",
    "does-not-fit": "have too little room even then",
    "quota": "give too little back even then",
    "error": "are lost to an error of the plugin",
    "no-victim-needed": "are lost to an error of the plugin",
}


def refusal_reason(desk: Desk, asker: Asker, refusal: Refusal | None) -> Reason:
    """Return which rule refused a pod, or what every node lacks for it."""
    if refusal is None:
        return Reason(code=NO_NODE_FITS, queue=asker.queue, tallies=defects(desk, asker))
    assert asker.queue is not None, "only a quota refuses"
    standing = desk.admission.standing(asker, later=refusal.later)
    broken = desk.admission.excesses(asker, standing, refusal.rule)
    is_max = refusal.rule == OVER_MAX
    used_by = "all who stay" if refusal.later else "all"
    names = ("used", "max") if is_max else (f"used by {used_by}", "all mins")
    return Reason(
        code=refusal.rule,
        queue=asker.queue,
        comparisons=_compared(desk, asker.queue, names, broken),
        held=() if is_max else tuple(_borrowers(desk, [each.axis for each in broken])),
    )


def failed_claim(desk: Desk, claim: Claim) -> FailedClaim:
    """Return why nobody gave way to a pod, whose claim has just failed."""
    return FailedClaim(action=PREEMPTION, reason=_claim_reason(desk, claim))


def _claim_reason(desk: Desk, claim: Claim) -> Reason:
    asker = claim.asker
    if claim.why_not() == NEVER_PREEMPTS:
        return Reason(code=NEVER_PREEMPTS, queue=asker.queue)
    if claim.asked == "borrowers":
        if not claim.has_candidates():
            return Reason(code=NOBODY_BORROWS, queue=asker.queue)
        return Reason(
            code=NO_ROOM_WITH_VICTIMS,
            queue=asker.queue,
            tallies=_tallies(desk, claim),
        )
    tallies: tuple[Tally, ...] = ()
    if claim.has_candidates():
        tallies = _tallies(desk, claim)
    if claim.asked == "without quota":
        code = NO_ROOM_WITH_VICTIMS if tallies else NOBODY_LESS_IMPORTANT
        return Reason(code=code, tallies=tallies)
    return beyond_min_reason(desk, asker, claim.standing, tallies)


def beyond_min_reason(
    desk: Desk, asker: Asker, standing: Standing, tallies: tuple[Tally, ...] = ()
) -> Reason:
    """Return that a pod would take its namespace over its min, so that others owe it nothing."""
    assert asker.queue is not None, "who has no quota has no min"
    over = desk.admission.beyond_min(asker, standing)
    compared = _compared(desk, asker.queue, ("used", "min"), over)
    return Reason(code=BEYOND_MIN, queue=asker.queue, comparisons=compared, tallies=tallies)


def _compared(
    desk: Desk, queue: QueueName, names: tuple[str, str], found: Iterable[Excess]
) -> tuple[Comparison, ...]:
    """Return sums that are too large; *names* are what is used of, and what bounds it."""
    return tuple(
        Comparison(
            queue=queue,
            axis=desk.state.axes.axes[each.axis],
            left=(
                Term(names[0], each.used),
                *([Term("nominated", each.nominated)] if each.nominated else []),
                Term("request", each.request),
            ),
            relation=">",
            right=Term(names[1], each.bound),
        )
        for each in found
    )


def _borrowers(desk: Desk, axes: Iterable[int]) -> Iterator[Held]:
    """Yield who uses more than its min, axis by axis, the largest borrower first."""
    for at in axes:
        held = [
            Held(
                queue=queue,
                axis=desk.state.axes.axes[at],
                amount=used[at],
                borrowed=used[at] - desk.books.guaranteed[queue][at],
            )
            for queue, used in desk.books.now.used.items()
            if used[at] > desk.books.guaranteed[queue][at]
        ]
        yield from sorted(held, key=lambda each: (-each.borrowed, each.queue))


def defects(desk: Desk, asker: Asker) -> tuple[Tally, ...]:
    """Return how many nodes lack what for a pod, the most frequent first."""
    found = [desk.places.defect(asker, name) or "have room" for name in desk.state.nodes]
    return _counted(Counter(found), len(desk.state.nodes))


def _tallies(desk: Desk, claim: Claim) -> tuple[Tally, ...]:
    """Return what came of how many nodes; where a min protects pods, that is said."""
    is_protected = desk.settings.protect_min and claim.asked == "borrowers"
    counts: Counter[str] = Counter()
    for outcome, count in claim.misses().items():
        what = _OUTCOMES[outcome]
        if is_protected and outcome == "no-victims":
            what = "have nobody who may be asked while protectMin is on"
        counts[what] += count
    return _counted(counts, len(desk.state.nodes))


def _counted(counts: Counter[str], of: int) -> tuple[Tally, ...]:
    return tuple(
        Tally(count=count, of=of, what=what)
        for what, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
