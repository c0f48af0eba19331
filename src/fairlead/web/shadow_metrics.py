"""The metrics of a shadow: what its queues have, and what both schedulers do alike and otherwise.

All of it is made into text by the shadow's thread, after each comparison.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.shadow.comparison import Comparison
from fairlead.errors import FairleadError
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.family import Family, single
from fairlead.store.metrics.registry import state_families

_ALIKE: Final = {"started": "started by both", "evicted": "evicted by both"}
_DIFFERENCES: Final = ("started", "not-started", "not-evicted")


class ShadowMetrics:
    """Takes note of comparisons, and answers scrapes."""

    def __init__(self) -> None:
        """Begin with nothing compared."""
        self.text = exposition(shadow_families(Comparison()))

    def compared(self, engine: Engine, comparison: Comparison, _took_s: float) -> None:
        """Take the numbers of a comparison. Called by the shadow's thread."""
        try:
            own = state_families(engine.state, engine.settings, None)
        except FairleadError:  # there is nothing to divide yet
            own = []
        self.text = exposition([*own, *shadow_families(comparison)])


def shadow_families(comparison: Comparison) -> list[Family]:
    """Return what both schedulers did since the beginning."""
    counts = comparison.counts
    return [
        _counter(
            "fairlead_shadow_alike_total",
            "Pods that the running scheduler and Fairlead both started, or told to leave",
            {act: counts[each] for act, each in _ALIKE.items()},
        ),
        _counter(
            "fairlead_shadow_different_total",
            "Pods about which the running scheduler and Fairlead decided otherwise",
            {each: counts[each] for each in _DIFFERENCES},
        ),
        single(
            "fairlead_shadow_open",
            "Starts and evictions that Fairlead would do now, and the running scheduler has not",
            len(comparison.open_wishes()),
        ),
        single(
            "fairlead_shadow_longest_lag_seconds",
            "The longest time by which the running scheduler started a pod later",
            Decimal(comparison.longest_lag_ms) / 1000,
        ),
    ]


def _counter(name: str, meaning: str, counts: Mapping[str, int]) -> Family:
    samples = tuple([((act,), Decimal(count)) for act, count in counts.items()])
    return Family(name=name, meaning=meaning, kind="counter", labels=("act",), samples=samples)
