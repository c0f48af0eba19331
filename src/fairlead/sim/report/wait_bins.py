"""How long jobs waited, counted in bins that grow: seconds matter at first, days at the end."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from fairlead.sim.report.report_page import WaitBins

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
EDGES_MS: Final = (
    *(SECOND_MS * each for each in (1, 3, 10, 30)),
    *(MINUTE_MS * each for each in (1, 3, 10, 30)),
    *(HOUR_MS * each for each in (1, 2, 4, 8)),
    *(DAY_MS * each for each in (1, 2, 4, 7, 14, 30)),
)
"""Where bins end; a wait of just that length is in the next one, and the last has no end."""


class WaitCounter:
    """Counts waits of the cluster and of each queue with all queues above it."""

    def __init__(self, places: Mapping[str, int], parents: Mapping[int, int | None]) -> None:
        """*places* has the place of each queue by name, *parents* that above it."""
        self._places = places
        self._parents = parents
        self._cluster = [0] * (len(EDGES_MS) + 1)
        self._queues: dict[int, list[int]] = {}

    def add(self, queue: str, wait_ms: int) -> None:
        """Count the wait of one job. Cost: the depth of its queue."""
        at = bisect_right(EDGES_MS, wait_ms)
        self._cluster[at] += 1
        place = self._places.get(queue)
        while place is not None:
            counts = self._queues.get(place)
            if counts is None:
                counts = self._queues[place] = [0] * len(self._cluster)
            counts[at] += 1
            place = self._parents[place]

    def bins(self) -> dict[str, WaitBins]:
        """Return the counts by place; that of the cluster has no name."""
        of_queues = {str(at): WaitBins(counts=self._queues[at]) for at in sorted(self._queues)}
        return {"": WaitBins(counts=self._cluster), **of_queues}
