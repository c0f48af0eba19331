"""Gives the measures each change of entitlements, and now and then the shares of the rules.

Entitlement by one yardstick is followed from moment to moment: fairness is judged by it.
What the rules themselves call a fair share, and the past use that went into it, is for charts.
With past use it changes for every queue every minute and costs a division of the whole tree, so it
is sampled a thousand times at regular times, each time at the cost of what changed. Where the end
is not known, that becomes rarer as time goes by, so that a month costs little more than a day.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.sim.measures.entitlement import EntitlementChange, EntitlementFollower
from fairlead.sim.measures.measures import Measures

_LOOKS: Final = 1000
"""In a run of known length; else each one holds for at least that part of the time so far."""
_SHORTEST_MS: Final = 1000
_WITHOUT_END_MS: Final = 60_000


class ShareRow(Protocol):
    """The share of one queue, in base units, with the past use that went into it."""

    @property
    def queue(self) -> QueueName: ...

    @property
    def fair_share(self) -> Amounts: ...

    @property
    def usage_e9(self) -> Amounts: ...


class RuleShares(Protocol):
    """What a rule set itself calls the fair share of each queue."""

    @property
    def shares(self) -> Mapping[QueueName, ShareRow]:
        """The shares at the last `catch_up`; the same numbers are the same object."""

    def catch_up(self) -> None:
        """Follow the state to what it is now. Cost: that of what changed."""


class ShareFollower:
    """Follows a state for *measures*: call it with what changed before time passes."""

    def __init__(
        self,
        measures: Measures,
        state: ClusterState,
        rule_shares: RuleShares | None,
        *,
        start_ms: int,
        horizon_ms: int | None,
    ) -> None:
        """Look at *state* for *horizon_ms* if that is known, and at the shares of its rules."""
        self._measures = measures
        self._state = state
        self._entitlements = EntitlementFollower(state)
        self._rules: _SampledShares | None = None  # None: the rules have no shares
        if rule_shares is not None:
            self._rules = _SampledShares(state, rule_shares, start_ms, horizon_ms)
        measures.change_due(self._entitlements.everything(start_ms))

    def __call__(self, now_ms: int, until_ms: int, queues: Collection[QueueName]) -> None:
        """Look at the state as it is from now until *until_ms*. Cost: that of what changed.

        Only *queues* may hold or request something else than the last time.
        """
        is_changed = bool(queues) or self._entitlements.has_other_capacity()
        if is_changed:
            change = self._entitlements.change(now_ms, queues)
            if change.entitled or change.demand:
                self._measures.change_due(change)
        if self._rules is not None:
            sampled = self._rules.look(now_ms, until_ms, self._state, is_changed=is_changed)
            if sampled is not None:
                self._measures.change_due(sampled)


class _SampledShares:
    """What the rules themselves say, at regular times."""

    def __init__(
        self,
        state: ClusterState,
        followed: RuleShares,
        start_ms: int,
        horizon_ms: int | None,
    ) -> None:
        self._followed = followed
        self._given: dict[QueueName, ShareRow] = {}
        self._axes = [state.axes.index(resource) for resource in state.resources]
        self._start_ms = self._next_ms = start_ms
        self._has_end = horizon_ms is not None
        self._every_ms = _WITHOUT_END_MS
        if horizon_ms is not None:
            self._every_ms = max(_SHORTEST_MS, -(-horizon_ms // _LOOKS))
        self._is_stale = True
        self._usage = state.usage

    def look(
        self, now_ms: int, until_ms: int, state: ClusterState, *, is_changed: bool
    ) -> EntitlementChange | None:
        """Return what they say if it is time to look; None if not, or if it is as it was."""
        self._is_stale = self._is_stale or is_changed or self._usage is not state.usage
        if self._next_ms >= until_ms:
            return None
        at_ms = max(now_ms, self._next_ms)
        self._find_next(until_ms)
        if not self._is_stale:
            return None
        self._is_stale, self._usage = False, state.usage
        self._followed.catch_up()
        given = self._given
        # A queue with the same numbers as before has the same object.
        rows = [row for name, row in self._followed.shares.items() if given.get(name) is not row]
        given.update([(row.queue, row) for row in rows])
        return EntitlementChange(
            at_ms=at_ms,
            fair_share={row.queue: self._on_resources(row.fair_share) for row in rows},
            usage_e9={row.queue: self._on_resources(row.usage_e9) for row in rows},
        )

    def _find_next(self, until_ms: int) -> None:
        """Find the first time to look that is not before *until_ms*: until then all is as it is."""
        passed_ms = until_ms - self._start_ms
        self._next_ms = self._start_ms + -(-passed_ms // self._every_ms) * self._every_ms
        if not self._has_end:
            self._next_ms = max(self._next_ms, until_ms + passed_ms // _LOOKS)

    def _on_resources(self, amounts: Amounts) -> Amounts:
        return tuple([0 if at is None else amounts[at] for at in self._axes])
