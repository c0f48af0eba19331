"""What queues used over the window, as resource-time: as it was, and as far as it has not faded."""

from collections.abc import Mapping

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.store.feed.usage_origin import PrometheusOrigin, Reading, StoredOrigin, UsageOrigin
from fairlead.store.feed.usage_vector import places_of
from fairlead.usage.queue_use import Sums, sums_with_inner_queues
from fairlead.usage.settings import PrometheusSource, UsageRules, UsageSettings


class UsageSums(msgspec.Struct, frozen=True, kw_only=True):
    """Base units times milliseconds on each axis, of all queues that used any, inner ones too."""

    raw: dict[QueueName, Sums]
    decayed: dict[QueueName, Sums]


def usage_sums(
    settings: UsageSettings,
    environ: Mapping[str, str],
    now_ms: int,
    state: ClusterState,
    *,
    compares_clocks: bool = True,
) -> UsageSums:
    """The sums over the window that ends at *now_ms*, on the axes of *state*.

    Raises StoreError or UsageError for a source that cannot be read. Without a half-life both sums
    are the same, and read once.
    """
    source = settings.source
    assert source is not None, "whoever asks knows where past use is"

    def over_window(rules: UsageRules) -> dict[QueueName, Sums]:
        origin: UsageOrigin
        if isinstance(source, PrometheusSource):
            origin = PrometheusOrigin(source, rules, environ, compares_clocks=compares_clocks)
        else:
            origin = StoredOrigin(source, rules)
        return _sums(origin.read(now_ms), now_ms, state)

    decayed = over_window(settings.rules)
    if settings.rules.half_life_ms is None:
        return UsageSums(raw=decayed, decayed=decayed)
    raw = over_window(msgspec.structs.replace(settings.rules, half_life_ms=None))
    return UsageSums(raw=raw, decayed=decayed)


def _sums(reading: Reading, now_ms: int, state: ClusterState) -> dict[QueueName, Sums]:
    ledger = reading.ledger
    usage = ledger.usage(max(now_ms + reading.ahead_ms, ledger.newest_ms or 0))
    places = places_of([str(axis) for axis in state.axes.axes], ledger.resources)
    charge = reading.rules.charge
    own = {
        name: _on_axes(use.all if charge == "all" else use.above_guarantee, places)
        for name, use in usage.queues.items()
    }
    # A queue that is told with all that is below it must not be charged with that again.
    links = {
        name: None if queue.parent in reading.whole else queue.parent
        for name, queue in state.queues.items()
    }
    return sums_with_inner_queues(own, links)


def _on_axes(sums: Sums, places: list[list[int]]) -> Sums:
    return tuple(sum(sums[place] for place in each) for each in places)
