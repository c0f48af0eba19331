"""Tells the measures what is due to queues whenever it changes, and now and then what rules say.

What queues are due by one yardstick is followed from moment to moment: fairness is judged by it.
What KAI's own rules call a fair share, and the past use that went into it, is for pictures alone.
With past use it changes for every queue every minute and costs a division of the whole tree, so it
is looked at a thousand times at regular times, each time at the cost of what changed. Where nobody
knows the end, that becomes rarer as time goes by, so that a month costs little more than a day.
"""

from collections.abc import Collection
from typing import Final

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings
from fairlead.policy.kai.followed_shares import FollowedShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShare
from fairlead.sim.measures.entitlement import EntitlementChange, EntitlementFollower
from fairlead.sim.measures.measures import Measures

_LOOKS: Final = 1000
"""In a run of known length; else each one holds for at least that part of the time so far."""
_SHORTEST_MS: Final = 1000
_WITHOUT_END_MS: Final = 60_000


class ShareFollower:
    """Looks at a state for *measures*: tell it what changed before time passes."""

    def __init__(
        self,
        measures: Measures,
        state: ClusterState,
        settings: Settings,
        *,
        start_ms: int,
        horizon_ms: int | None,
    ) -> None:
        """Look at *state*, whose rules have *settings*, for *horizon_ms* if that is known."""
        self._measures = measures
        self._state = state
        self._entitlements = EntitlementFollower(state)
        self._rules: _RuleShares | None = None  # None: they are silent
        if isinstance(settings, KaiSettings):
            followed = FollowedShares(state, settings.k)
            self._rules = _RuleShares(state, followed, start_ms, horizon_ms)
        measures.change_due(self._entitlements.everything(start_ms))

    def __call__(self, now_ms: int, until_ms: int, queues: Collection[QueueName]) -> None:
        """Look at the state as it is from now until *until_ms*. Cost: that of what changed.

        Only *queues* may hold or want something else than the last time.
        """
        is_changed = bool(queues) or self._entitlements.has_other_capacity()
        if is_changed:
            change = self._entitlements.change(now_ms, queues)
            if change.entitled or change.demand:
                self._measures.change_due(change)
        if self._rules is not None:
            told = self._rules.look(now_ms, until_ms, self._state, is_changed=is_changed)
            if told is not None:
                self._measures.change_due(told)


class _RuleShares:
    """What the rules themselves say, at regular times."""

    def __init__(
        self,
        state: ClusterState,
        followed: FollowedShares,
        start_ms: int,
        horizon_ms: int | None,
    ) -> None:
        self._followed = followed
        self._told: dict[QueueName, KaiShare] = {}
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
        told = self._told
        # Who has the same numbers as before has the same object.
        rows = [row for name, row in self._followed.shares.items() if told.get(name) is not row]
        told.update([(row.queue, row) for row in rows])
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
