"""Reads usage from a Prometheus server. Import it late: it loads an HTTP library."""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.store.feed.reading import Problem, Reading, problem_of
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.settings import PrometheusSource, UsageRules

CLOCKS_APART_MS: Final = 30_000  # more than a slow answer; less than a sample


class PrometheusOrigin:
    """A server; asked only for what is new."""

    def __init__(
        self,
        source: PrometheusSource,
        rules: UsageRules,
        environ: Mapping[str, str],
        *,
        compares_clocks: bool,
        keeps_plain: bool,
    ) -> None:
        """Ask nothing yet; StoreError if it is not said where the server is."""
        self._client = PrometheusClient(source, environ)
        self._rules = msgspec.structs.replace(rules, way="sampled")
        self._history = PrometheusHistory(
            self._client, source, self._rules, keeps_plain=keeps_plain
        )
        self._compares_clocks = compares_clocks

    def read(self, now_ms: int) -> Reading:
        """Fetch what is new. If the server's clock is another one, its own time is what counts."""
        ahead_ms = self._client.clock_ms() - now_ms if self._compares_clocks else 0
        problems: tuple[Problem, ...] = ()
        if abs(ahead_ms) <= CLOCKS_APART_MS:
            ahead_ms = 0
        else:
            way = "ahead of" if ahead_ms > 0 else "behind"
            seconds = abs(ahead_ms) // 1000
            text = f"has a clock that is {seconds} s {way} ours; its own time was used"
            text = f"Prometheus at {self._client.name} {text}"
            problems = (Problem(text, turn=f"clock {way} ours"),)
        fetched = self._history.fetch(now_ms + ahead_ms)
        return Reading(
            ledger=self._history.ledger,
            plain=self._history.plain,
            settled=self._history.settled,
            rules=self._rules,
            newest_ms=None if fetched.newest_ms is None else fetched.newest_ms - ahead_ms,
            ahead_ms=ahead_ms,
            whole=self._history.queues,
            problems=(*problems, *map(problem_of, fetched.problems)),
        )

    def close(self) -> None:
        """Nothing is open between two readings."""
