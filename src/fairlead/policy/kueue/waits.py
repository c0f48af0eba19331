"""Why each workload of a tree waits that got nothing, once its cycles are over."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from fairlead.model.plan import FailedClaim, Reason, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.claim_diagnosis import diagnose_claim
from fairlead.policy.kueue.demands import DemandReader, Eligibilities
from fairlead.policy.kueue.flavor_assignment import Mode, Waiting
from fairlead.policy.kueue.nomination import Nominator
from fairlead.policy.kueue.pending_line import PendingLine
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot
from fairlead.policy.kueue.tree_rounds import TreeRounds
from fairlead.policy.kueue.wait_reasons import PENDING_EVALUATION, WaitReasons

BEHIND_HEAD: Final = "BehindHead"
PREEMPTION: Final = "preemption"


class Waits:
    """Explains the waits of one tree; workloads that ask for the same have the same reason."""

    def __init__(
        self,
        state: ClusterState,
        rounds: TreeRounds,
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
        self._with_promises = WaitReasons(self._promised_snapshot(), state.axes, settings)
        self._nominator = Nominator(rounds.snapshot, state.axes, settings)
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
        # Equal shapes may have lost the same flavors for different reasons, or wait for different
        # times before they may ask.
        has_delay = self._settings.options.preemption_delay_ms > 0
        queued_ms = waiting.queued_ms if has_delay else None
        kind = (waiting.queue, shape, eligibility, queued_ms)
        found = self._known.get(kind)
        if found is None:
            reason, claims = self._reason(waiting, eligibility), self._claims(waiting)
            found = self._known[kind] = reason, claims
        return found

    def _reason(self, waiting: Waiting, eligibility: Eligibilities | None) -> Reason:
        reason = self._as_it_is.of(waiting, eligibility)
        if reason.comparisons or reason.names:
            return reason
        # It would fit, if other heads did not keep the room.
        return self._with_promises.of(waiting, eligibility)

    def _claims(self, waiting: Waiting) -> tuple[FailedClaim, ...]:
        """Return why nobody gives way, as things stand at the end."""
        waiting = self._rounds.restrained(waiting)
        nomination = self._nominator.nominate(waiting)
        if nomination.assignment is None or nomination.mode() is Mode.FIT:
            return ()
        if nomination.targets:  # others came after its turn, and it has not been asked again
            return (FailedClaim(action=PREEMPTION, reason=Reason(code=PENDING_EVALUATION)),)
        claimant = waiting.claimant(nomination.assignment.usage, nomination.assignment.need)
        reason = diagnose_claim(
            self._rounds.snapshot,
            claimant,
            self._settings,
            axes=self._state.axes,
            now_ms=self._now_ms,
        )
        return (FailedClaim(action=PREEMPTION, reason=reason),)

    def _promised_snapshot(self) -> Snapshot:
        """Return the tree as if heads had what they keep from others."""
        snapshot = self._rounds.snapshot.copy()
        for turn in self._rounds.keeping():
            snapshot.charge(turn.nomination.waiting.queue, turn.kept)
        return snapshot
