"""What is shown of a state at regular times: what is due to queues, and what their rules say.

A sample costs about as much as a cycle, so there are a thousand of them and not more. Where nobody
knows the end, they become rarer as time goes by, so that a month costs little more than a day.
"""

from typing import Final

import msgspec

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.names import Settings
from fairlead.sim.measures.entitlement_sample import EntitlementSample
from fairlead.sim.measures.measures import Measures
from fairlead.sim.measures.sample_entitlement import EntitlementSampler

_SAMPLES: Final = 1000
"""In a run of known length; else each one holds for at least that part of the time so far."""
_SHORTEST_MS: Final = 1000
_WITHOUT_END_MS: Final = 60_000


def sample_every_ms(horizon_ms: int | None) -> int:
    """Return how often the state is to be shown if the simulation lasts for *horizon_ms*."""
    if horizon_ms is None:
        return _WITHOUT_END_MS
    return max(_SHORTEST_MS, -(-horizon_ms // _SAMPLES))


class ShareSampler:
    """Shows *measures* what is due to whom."""

    def __init__(
        self, measures: Measures, state: ClusterState, settings: Settings, *, has_end: bool
    ) -> None:
        """Look at *state*, whose rules have *settings*."""
        self._measures = measures
        self._entitlements = EntitlementSampler(state)
        self._settings = settings
        self._axes = [state.axes.index(resource) for resource in state.resources]
        self._has_end = has_end
        self._first_ms: int | None = None
        self._next_ms = 0
        self._last: EntitlementSample | None = None
        self._last_usage: dict[QueueName, Amounts] | None = None

    def notice_change(self) -> None:
        """Take notice that something happened: what was due before may be due no more."""
        self._last = None

    def __call__(self, now_ms: int, state: ClusterState) -> None:
        """Take a sample if one is due. Cost: a division, under kai two; else next to nothing."""
        if self._first_ms is None:
            self._first_ms = now_ms
        elif now_ms < self._next_ms:
            return
        if not self._has_end:
            self._next_ms = now_ms + (now_ms - self._first_ms) // _SAMPLES
        if self._last is None or self._last_usage is not state.usage:
            self._last = self._sample(now_ms, state)
            self._last_usage = state.usage
        self._measures.sample(msgspec.structs.replace(self._last, at_ms=now_ms))

    def _sample(self, now_ms: int, state: ClusterState) -> EntitlementSample:
        sample = self._entitlements.sample(now_ms)
        if isinstance(self._settings, KaiSettings):
            return self._with_shares(sample, state, self._settings)
        return sample

    def _with_shares(
        self, sample: EntitlementSample, state: ClusterState, settings: KaiSettings
    ) -> EntitlementSample:
        rows = KaiShares(state, state.total(), settings.k).rows()
        return msgspec.structs.replace(
            sample,
            fair_share={row.queue: self._on_resources(row.fair_share) for row in rows},
            usage_e9={row.queue: self._on_resources(row.usage_e9) for row in rows},
        )

    def _on_resources(self, amounts: Amounts) -> Amounts:
        return tuple([0 if at is None else amounts[at] for at in self._axes])
