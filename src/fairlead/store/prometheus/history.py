"""Past usage as Prometheus scraped it: fetched once for a whole window, then only what is new.

Samples are taken at the multiples of the resolution, as a sampled ledger does, so that the same
history gives the same sums whichever way it came. What was scraped late, after a moment was asked
for, is seen from the next moment on.
"""

from collections.abc import Mapping

import msgspec

from fairlead.store.feed.reading import Reading, detached, without_decay
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.kai_queries import RESOURCES, queries_of
from fairlead.store.prometheus.level_sweep import LevelSweep
from fairlead.store.prometheus.stretch import LastSamples, Stretch
from fairlead.usage.entries import Entry
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import begins_at


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
        self._before_silence: Reading | None = None  # None: the last answer was complete
        self._last: LastSamples = {}
        self._end_ms: int | None = None
        self._problems: tuple[str, ...] = ()

    def read(self, now_ms: int) -> Reading:
        """Fetch what was reported until *now_ms* since the last time. StoreError changes nothing.

        All is known until the last moment at which no series was silent that once reported. If the
        clock was set back, everything is fetched again. Cost: three queries for each resource at
        most, each in pieces of 11,000 points at most; when a silence begins, also `detached`.
        """
        step_ms = self._rules.resolution_ms
        end_ms = now_ms // step_ms * step_ms
        if self._end_ms is not None and end_ms < self._end_ms:
            self.start_again()  # the clock was set back
        begin_ms = self._begin_ms(now_ms)
        if begin_ms <= end_ms:
            self._fetch(begin_ms, end_ms)
        newest_ms = self._sweep.newest_ms
        if newest_ms is not None and newest_ms == self._end_ms:
            newest_ms = now_ms  # a coarse resolution is no delay
        return self._reading(newest_ms)

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
            for each in stretch.ask(
                place, queries, knows_guarantee=self._sweep.knows_guarantee(place)
            )
        ]
        entries = self._sweep.extend(told, begin_ms=begin_ms, end_ms=end_ms, step_ms=step_ms)
        self._end_ms = end_ms
        self._last = stretch.last
        self._problems = stretch.problems()
        self._take(entries)

    def _reading(self, newest_ms: int | None) -> Reading:
        return Reading(
            ledger=self._ledger,
            plain=self._plain,
            rules=self._rules,
            newest_ms=newest_ms,
            whole=self._sweep.queues,  # inner queues are reported with all that is below them
            problems=self._problems,
            before_silence=self._before_silence,
        )

    def _take(self, entries: list[Entry]) -> None:
        """Take *entries*; while a series is silent, keep a reading of the last complete answer.

        In a silence nothing counts as used, which holds until the reading is stale: then the last
        complete answer is what continues.
        """
        known_ms = self._sweep.newest_ms
        before, self._before_silence = self._before_silence, None
        if known_ms is not None and known_ms != self._end_ms:
            if before is None or before.newest_ms != known_ms:
                known = [entry for entry in entries if entry.at_ms <= known_ms]
                entries = entries[len(known) :]
                self._write(known)
                before = detached(self._reading(known_ms))
            self._before_silence = before
        self._write(entries)

    def _write(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._ledger.take(entry)
            if self._plain is not None and self._plain is not self._ledger:
                self._plain.take(entry)

    def _begin_ms(self, now_ms: int) -> int:
        """Return the first sample to ask for. A window is open at its old end."""
        step_ms = self._rules.resolution_ms
        begin_ms = begins_at(self._rules.window, now_ms)
        first_ms = max(0, begin_ms // step_ms + 1) * step_ms
        return first_ms if self._end_ms is None else max(first_ms, self._end_ms + step_ms)
