"""Past use as Prometheus scraped it: fetched once for a whole window, then only what is new.

Samples are taken at the multiples of the resolution, as a sampled ledger does, so that the same
history gives the same sums whichever way it came. What was scraped late, after a moment was asked
for, is seen from the next moment on.
"""

import msgspec

from fairlead.model.axes import QueueName
from fairlead.store.feed.reading import Books, copied, without_fading
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.kai_queries import RESOURCES, queries_of
from fairlead.store.prometheus.level_sweep import LevelSweep
from fairlead.store.prometheus.stretch import LastSamples, Stretch
from fairlead.usage.entries import Entry
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.timeline import BUCKETS
from fairlead.usage.window import Sliding, begins_at


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What a server told about a stretch of time."""

    entries: list[Entry]
    newest_ms: int | None  # until when all is told; None: nothing is
    problems: tuple[str, ...]  # what is odd about it, although it can be used


class PrometheusHistory:
    """A sampled ledger that follows a server.

    Law: fetching in many steps gives the same ledger as fetching at once, if both begin at the same
    moment. Who begins later does not know what was told before, where that would hold on.
    """

    def __init__(
        self,
        client: PrometheusClient,
        source: PrometheusSource,
        rules: UsageRules,
        *,
        keeps_plain: bool = False,
    ) -> None:
        """Fetch nothing yet. Who *keeps plain* sums has a ledger in which nothing fades, too."""
        self._client = client
        self._queries = queries_of(source)
        self._rules = rules
        self._keeps_plain = keeps_plain
        self.start_again()

    def start_again(self) -> None:
        """Forget everything; the next fetch is of the whole window."""
        self.ledger = new_ledger(self._rules)
        self.plain: Ledger | None = None
        if self._keeps_plain:
            unfading = without_fading(self._rules)
            self.plain = self.ledger if unfading == self._rules else new_ledger(unfading)
        self._sweep = LevelSweep(len(RESOURCES))
        self.settled: Books | None = None  # at newest_ms, if the ledgers have taken what is later
        self._settled_ms: int | None = None
        self._last: LastSamples = {}
        self._end_ms: int | None = None
        self._problems: tuple[str, ...] = ()

    @property
    def queues(self) -> frozenset[QueueName]:
        """All queues that were told of; KAI tells inner queues with all that is below them."""
        return self._sweep.queues

    def fetch(self, now_ms: int) -> Fetched:
        """Take in what was told until *now_ms* since the last time; StoreError changes nothing.

        Only a clock that was set back makes it forget what it knew before it asks. Cost: three
        queries for each resource at most, each in pieces of 11,000 points at most.
        """
        step_ms = self._rules.resolution_ms
        end_ms = now_ms // step_ms * step_ms
        if self._end_ms is not None and end_ms < self._end_ms:
            self.start_again()  # the clock was set back
        begin_ms = self._begin_ms(now_ms)
        entries: list[Entry] = []
        if begin_ms <= end_ms:
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
            self._take(entries, end_ms)
            self._end_ms = end_ms
            self._last = stretch.last
            self._problems = stretch.problems()
        return Fetched(
            entries=entries,
            newest_ms=self._newest_ms(now_ms),
            problems=self._problems,
        )

    def _take(self, entries: list[Entry], end_ms: int) -> None:
        """Take entries in; those of a silence that goes on count for nobody, and so for now only.

        `settled` has the ledgers as of the last complete answer.
        """
        known_ms = self._sweep.newest_ms
        is_silent = known_ms is not None and known_ms != end_ms
        if not is_silent:
            self.settled = self._settled_ms = None
        elif known_ms != self._settled_ms:
            assert known_ms is not None, "else there is no silence"
            known = [entry for entry in entries if entry.at_ms <= known_ms]
            entries = entries[len(known) :]
            self._write_down(known)
            self.settled = copied(Books(self.ledger, self.plain), self._rules)
            self._settled_ms = known_ms
        self._write_down(entries)

    def _write_down(self, entries: list[Entry]) -> None:
        for entry in entries:
            self.ledger.take(entry)
            if self.plain is not None and self.plain is not self.ledger:
                self.plain.take(entry)

    def _begin_ms(self, now_ms: int) -> int:
        """The first sample to ask for. A window is open at its old end."""
        step_ms = self._rules.resolution_ms
        window = self._rules.window
        begin_ms = begins_at(window, now_ms)
        if isinstance(window, Sliding):
            # The bucket in which the window begins counts in part, and must be whole for that.
            begin_ms -= -(-window.length_ms // BUCKETS)
        first_ms = max(0, begin_ms // step_ms + 1) * step_ms
        return first_ms if self._end_ms is None else max(first_ms, self._end_ms + step_ms)

    def _newest_ms(self, now_ms: int) -> int | None:
        """Until now if the last sample before it is there: a coarse resolution is no delay."""
        newest_ms = self._sweep.newest_ms
        return now_ms if newest_ms is not None and newest_ms == self._end_ms else newest_ms


def new_ledger(rules: UsageRules) -> Ledger:
    """An empty ledger that sums samples as they come from a server."""
    return Ledger.by(RESOURCES, msgspec.structs.replace(rules, way="sampled"))
