"""Past usage as Prometheus scraped it: fetched once for a whole window, then only what is new.

Samples are taken at the multiples of the resolution, as a sampled ledger does, so that the same
history gives the same sums whichever way it came. What was scraped late, after a moment was asked
for, is seen from the next moment on.
"""

from collections.abc import Mapping

import msgspec

from fairlead.store.feed.reading import Reading, without_decay
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.kai_queries import RESOURCES, queries_of
from fairlead.store.prometheus.level_sweep import LevelSweep
from fairlead.store.prometheus.stretch import LastSamples, Stretch
from fairlead.usage.entries import Entry
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.timeline import BUCKETS
from fairlead.usage.window import Sliding, begins_at


class PrometheusHistory:
    """A sampled ledger that follows a server.

    Law: fetching in many steps gives the same ledger as fetching at once, if both begin at the same
    moment. One that begins later does not know what was reported before, where that would hold on.
    """

    def __init__(
        self,
        source: PrometheusSource,
        rules: UsageRules,
        environ: Mapping[str, str],
        *,
        keeps_plain: bool = False,
    ) -> None:
        """Fetch nothing yet. With *keeps_plain* there is a ledger without decay, too.

        Raises StoreError if the server's address is missing or no address.
        """
        self._client = PrometheusClient(source, environ)
        self._queries = queries_of(source)
        self._rules = msgspec.structs.replace(rules, way="sampled")
        self._keeps_plain = keeps_plain
        self.start_again()

    def start_again(self) -> None:
        """Forget everything; the next reading fetches the whole window."""
        self._ledger = Ledger.by(RESOURCES, self._rules)
        self._plain: Ledger | None = None
        if self._keeps_plain:
            plain = without_decay(self._rules)
            self._plain = self._ledger if plain == self._rules else Ledger.by(RESOURCES, plain)
        self._sweep = LevelSweep(len(RESOURCES))
        self._held_back: list[Entry] = []  # of a silence that goes on: after the last full answer
        self._last: LastSamples = {}
        self._end_ms: int | None = None
        self._problems: tuple[str, ...] = ()

    def read(self, now_ms: int) -> Reading:
        """Fetch what was reported until *now_ms* since the last time. StoreError changes nothing.

        All is known until the last moment at which no series was silent that once reported; what
        came after is held back until that is over. If the clock was set back, or a silence is
        longer than the window, everything is fetched again. Cost: three queries for each resource
        at most, each in pieces of 11,000 points at most.
        """
        step_ms = self._rules.resolution_ms
        end_ms = now_ms // step_ms * step_ms
        if self._end_ms is not None and end_ms < self._end_ms:
            self.start_again()  # the clock was set back
        if self._held_back and self._held_back[0].at_ms < begins_at(self._rules.window, now_ms):
            self.start_again()
        begin_ms = self._begin_ms(now_ms)
        if begin_ms <= end_ms:
            self._fetch(begin_ms, end_ms)
        newest_ms = self._sweep.newest_ms
        if newest_ms is not None and newest_ms == self._end_ms:
            newest_ms = now_ms  # a coarse resolution is no delay
        return Reading(
            ledger=self._ledger,
            plain=self._plain,
            rules=self._rules,
            newest_ms=newest_ms,
            whole=self._sweep.queues,  # inner queues are reported with all that is below them
            problems=self._problems,
        )

    def close(self) -> None:
        """Do nothing: no connection stays open between two readings."""

    def _fetch(self, begin_ms: int, end_ms: int) -> None:
        step_ms = self._rules.resolution_ms
        stretch = Stretch(
            self._client, self._rules, begin_ms=begin_ms, end_ms=end_ms, before=self._last
        )
        told = [
            each
            for place, queries in enumerate(self._queries)
            for each in stretch.ask(place, queries)
        ]
        entries = self._sweep.extend(told, begin_ms=begin_ms, end_ms=end_ms, step_ms=step_ms)
        self._end_ms = end_ms
        self._last = stretch.last
        self._problems = stretch.problems()
        self._take([*self._held_back, *entries])

    def _take(self, entries: list[Entry]) -> None:
        """Take the entries up to the last full answer, and hold back the others."""
        newest_ms = self._sweep.newest_ms
        known = [entry for entry in entries if newest_ms is None or entry.at_ms <= newest_ms]
        self._held_back = entries[len(known) :]
        for entry in known:
            self._ledger.take(entry)
            if self._plain is not None and self._plain is not self._ledger:
                self._plain.take(entry)

    def _begin_ms(self, now_ms: int) -> int:
        """Return the first sample to ask for. A window is open at its old end."""
        step_ms = self._rules.resolution_ms
        window = self._rules.window
        begin_ms = begins_at(window, now_ms)
        if isinstance(window, Sliding):
            # The bucket in which the window begins counts in part, and must be whole for that.
            begin_ms -= -(-window.length_ms // BUCKETS)
        first_ms = max(0, begin_ms // step_ms + 1) * step_ms
        return first_ms if self._end_ms is None else max(first_ms, self._end_ms + step_ms)
