"""Why each workload of a tree waits that got nothing, once all turns are over."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from fairlead.model.plan import Comparison, FailedClaim, Reason, Term, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.cycle.plain_rounds import PlainRounds
from fairlead.policy.kueue.cycle.promises import once_they_have_left
from fairlead.policy.kueue.flavors.assignment import Mode, Waiting
from fairlead.policy.kueue.flavors.demands import DemandReader, Eligibilities
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.pending.queue import PendingLine
from fairlead.policy.kueue.reasons.diagnosis import BORROWING_FORBIDDEN, diagnose_claim
from fairlead.policy.kueue.reasons.lacking_quota import (
    PENDING_EVALUATION,
    WAITING_FOR_QUOTA,
    WaitReasons,
)
from fairlead.policy.kueue.settings import KueueSettings

BEHIND_HEAD: Final = "BehindHead"
QUOTA_IS_KEPT: Final = "QuotaIsKept"
PREEMPTION: Final = "preemption"
_ABOUT_ROOM: Final = (WAITING_FOR_QUOTA, QUOTA_IS_KEPT)


class Waits:
    """Explains the waits of one tree; workloads that ask for the same have the same reason."""

    def __init__(
        self,
        state: ClusterState,
        rounds: PlainRounds,
        settings: KueueSettings,
        demands: DemandReader,
        now_ms: int,
    ) -> None:
        """Look at what *rounds*, which are over, left behind."""
        self._state = state
        self._rounds = rounds
        self._settings = settings
        self._demands = demands
        self._now_ms = now_ms
        self._promised = rounds.preempting()
        self._as_it_is = WaitReasons(rounds.snapshot, state.axes, settings)
        self._as_kept = WaitReasons(rounds.as_kept(), state.axes, settings, rounds.snapshot)
        self._if_all_left = self._without_promises()
        self._decided_on = rounds.decided_on
        self._nominator = self._as_it_is.nominator
        if self._decided_on is not rounds.snapshot:
            self._nominator = Nominator(self._decided_on, state.axes, settings, stays=True)
        self._known: dict[Hashable, tuple[Reason, tuple[FailedClaim, ...]]] = {}

    def of(self, lines: Iterable[PendingLine]) -> Iterator[Wait]:
        """Yield the waits of all who were neither admitted nor promised anything.

        Cost: that of one search for each queue and each kind of request that waits there.
        """
        promised = {turn.nomination.waiting.name for turn in self._promised}
        for line in lines:
            for waiting, head in line.not_admitted():
                if waiting.name in promised:
                    continue
                if head is not None:
                    reason = Reason(code=BEHIND_HEAD, queue=waiting.queue, names=(head.name,))
                    yield Wait(workload=waiting.name, reason=reason)
                    continue
                reason, claims = self._explained(waiting, line.shape(waiting.name))
                yield Wait(workload=waiting.name, reason=reason, claims=claims)

    def _explained(
        self, waiting: Waiting, shape: Hashable
    ) -> tuple[Reason, tuple[FailedClaim, ...]]:
        workload = self._state.workloads[waiting.name]
        rules = self._rounds.snapshot.rules[waiting.queue]
        eligibility = self._demands.eligibility(workload, rules)
        # Equal shapes may have lost the same flavors for different reasons, wait for different
        # times before they may ask, or be older than others of their queue.
        line = self._rounds.snapshot.line(waiting.queue).holders
        newer = sum(each.queued_ms > waiting.queued_ms for each in line)
        kind = (waiting.queue, shape, eligibility, self._rounds.held_back(waiting), newer)
        found = self._known.get(kind)
        if found is None:
            reason = self._reason(waiting, eligibility)
            found = self._known[kind] = reason, self._claims(waiting, reason)
        return found

    def _reason(self, waiting: Waiting, eligibility: Eligibilities | None) -> Reason:
        reason = self._as_it_is.of(waiting, eligibility)
        if (reason.comparisons or reason.names) and not self._would_fit_then(waiting, reason):
            return reason
        # It would fit, if other heads did not keep the room.
        kept = self._as_kept.of(waiting, eligibility)
        if not kept.comparisons:
            return reason
        lacking = {self._state.axes.axes.index(each.axis) for each in kept.comparisons if each.axis}
        keepers = [
            turn.nomination.waiting.name
            for turn in self._rounds.keeping()
            if any(axis in lacking for axis, _ in turn.kept)
        ]
        return replace(kept, code=QUOTA_IS_KEPT, names=tuple(sorted(keepers)))

    def _without_promises(self) -> WaitReasons | None:
        """Return the tree without those who leave, if others are kept from what they leave."""
        if not (self._settings.keeps_promises and self._rounds.snapshot.leaving()):
            return None
        later = once_they_have_left(self._rounds.snapshot)
        return WaitReasons(later, self._state.axes, self._settings)

    def _would_fit_then(self, waiting: Waiting, lacking: Reason) -> bool:
        """Return whether it could have what others leave, if that were promised to nobody."""
        if self._if_all_left is None or lacking.code != WAITING_FOR_QUOTA:
            return False
        return self._if_all_left.has_room(waiting)

    def _claims(self, waiting: Waiting, lacking: Reason) -> tuple[FailedClaim, ...]:
        """Return why nobody gives way, as things stand at the end, for what is *lacking*."""
        waiting = self._nominator.fewest(self._rounds.restrained(waiting))
        nomination = self._nominator.nominate(waiting)
        if nomination.mode() is Mode.FIT:
            return ()
        if nomination.assignment is None:
            beyond = self._beyond_quota(waiting, lacking)
            return (FailedClaim(action=PREEMPTION, reason=beyond),) if beyond.comparisons else ()
        if nomination.targets:  # others came after its turn, and it has not been asked again
            return (FailedClaim(action=PREEMPTION, reason=Reason(code=PENDING_EVALUATION)),)
        claimant = waiting.claimant(nomination.assignment.usage, nomination.assignment.need)
        reason = diagnose_claim(
            self._decided_on,
            claimant,
            self._settings,
            axes=self._state.axes,
            now_ms=self._now_ms,
            held_back=self._rounds.held_back(waiting),
        )
        return (FailedClaim(action=PREEMPTION, reason=reason),)

    def _beyond_quota(self, waiting: Waiting, lacking: Reason) -> Reason:
        """Return by how much it would borrow, for which its queue may not take from others."""
        tree, queue = self._decided_on.tree, waiting.queue
        compared = []
        for each in lacking.comparisons if lacking.code in _ABOUT_ROOM else ():
            number = self._state.axes.axes.index(each.axis) if each.axis else None
            if number is None:
                continue
            beyond = Comparison(
                queue=queue,
                axis=each.axis,
                left=(Term("allocated", tree.charged_on(queue, number)), *each.left),
                relation=">",
                right=Term("quota", tree.subtree_on(queue, number)),
            )
            compared += [beyond] if beyond.holds() else []
        return Reason(code=BORROWING_FORBIDDEN, queue=queue, comparisons=tuple(compared))
