"""Past use from a store of our own, put into a state that was read from objects.

Objects say nothing of the past. Here a state that was just read is told what its queues used, so
that shares count it, and what became of the reading is told with the metrics.
"""

from fairlead.model.events import UsageChanged
from fairlead.model.state import ClusterState
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageVector
from fairlead.store.metrics.family import Family
from fairlead.store.metrics.health import usage_store_families
from fairlead.usage.settings import StoreSource, UsageRules


class StoredUsage:
    """Follows one file, for as many states as come. Any thread may ask, but one at a time."""

    def __init__(self, path: str) -> None:
        """Open nothing yet."""
        self._source = StoreSource(path=path)
        self._rules: UsageRules | None = None
        self._feed: UsageFeed | None = None

    def tell(self, state: ClusterState, rules: UsageRules, now_ms: int) -> list[Family]:
        """Let *state* know what its queues used by *rules*; return how that went, as metrics.

        What cannot be read does not count, and raises nothing: it is logged once. Cost: that of
        reading what the file has new, or all of it when the rules are others than before.
        """
        vector = self._ask(state, rules, now_ms)
        state.apply(UsageChanged(vector.usage or {}))
        is_well = vector.state == "fresh" and vector.problem is None
        return usage_store_families(age_ms=vector.age_ms, is_degraded=not is_well)

    def _ask(self, state: ClusterState, rules: UsageRules, now_ms: int) -> UsageVector:
        if self._feed is None or rules != self._rules:
            if self._feed is not None:
                self._feed.close()
            self._rules = rules
            self._feed = UsageFeed(rules, self._source, {})
        self._feed.refresh(now_ms)
        parents = {name: queue.parent for name, queue in state.queues.items()}
        return self._feed.vector(now_ms, parents, [axis.resource for axis in state.axes.axes])
