"""Why a pod waits: what refused it, and why it cannot take a place from others either."""

from collections import Counter
from typing import Final

from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Tally, Term
from fairlead.policy.elastic_quota.admission import Refusal
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.claims import NEVER_PREEMPTS, Claim
from fairlead.policy.elastic_quota.desk import Desk
from fairlead.policy.elastic_quota.node_outcome import Outcome

OVER_MAX: Final = "OverMax"
POOL_EXHAUSTED: Final = "PoolExhausted"
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
    found = refusal.excess
    assert asker.queue is not None, "only a quota refuses"
    is_max = refusal.rule == OVER_MAX
    names = ("used", "max") if is_max else ("used by all", "all mins")
    nominated = (Term("nominated", found.nominated),) if found.nominated else ()
    compared = Comparison(
        queue=asker.queue,
        axis=desk.state.axes.axes[found.axis],
        left=(Term(names[0], found.used), *nominated, Term("request", found.request)),
        relation=">",
        right=Term(names[1], found.bound),
    )
    return Reason(
        code=refusal.rule,
        queue=asker.queue,
        comparisons=(compared,),
        held=() if is_max else _borrowers(desk, found.axis),
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
            tallies=_tallies(claim.misses(), len(desk.state.nodes)),
        )
    tallies: tuple[Tally, ...] = ()
    if claim.has_candidates():
        tallies = _tallies(claim.misses(), len(desk.state.nodes))
    if claim.asked == "without quota":
        code = NO_ROOM_WITH_VICTIMS if tallies else NOBODY_LESS_IMPORTANT
        return Reason(code=code, queue=asker.workload.queue, tallies=tallies)
    return Reason(
        code=BEYOND_MIN, queue=asker.queue, comparisons=_over_min(desk, claim), tallies=tallies
    )


def _over_min(desk: Desk, claim: Claim) -> tuple[Comparison, ...]:
    """Return where a pod would take its namespace over its min."""
    asker, standing = claim.asker, claim.standing
    assert asker.queue is not None, "who has no quota has no min"
    used, least = standing.use.used[asker.queue], desk.books.guaranteed[asker.queue]
    found = []
    for at in standing.own_axes:
        waiting = standing.nominated.in_quota[at]
        nominated = (Term("nominated", waiting),) if waiting else ()
        compared = Comparison(
            queue=asker.queue,
            axis=desk.state.axes.axes[at],
            left=(Term("used", used[at]), *nominated, Term("request", asker.charge[at])),
            relation=">",
            right=Term("min", least[at]),
        )
        if compared.holds():
            found.append(compared)
    return tuple(found)


def _borrowers(desk: Desk, axis: int) -> tuple[Held, ...]:
    """Return who uses more than its min on an axis, the largest borrower first."""
    held = [
        Held(
            queue=queue,
            axis=desk.state.axes.axes[axis],
            amount=used[axis],
            borrowed=used[axis] - desk.books.guaranteed[queue][axis],
        )
        for queue, used in desk.books.now.used.items()
        if used[axis] > desk.books.guaranteed[queue][axis]
    ]
    return tuple(sorted(held, key=lambda each: (-each.borrowed, each.queue)))


def defects(desk: Desk, asker: Asker) -> tuple[Tally, ...]:
    """Return how many nodes lack what for a pod, the most frequent first."""
    found = [desk.places.defect(asker, name) or "have room" for name in desk.state.nodes]
    return _counted(Counter(found), len(desk.state.nodes))


def _tallies(misses: Counter[Outcome], of: int) -> tuple[Tally, ...]:
    counts: Counter[str] = Counter()
    for outcome, count in misses.items():
        counts[_OUTCOMES[outcome]] += count
    return _counted(counts, of)


def _counted(counts: Counter[str], of: int) -> tuple[Tally, ...]:
    return tuple(
        Tally(count=count, of=of, what=what)
        for what, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
