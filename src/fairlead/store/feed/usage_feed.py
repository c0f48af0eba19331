"""Past use for whoever plans: always an answer, with how old it is and what is wrong with it.

A server may be down, slow or silent, a file locked or damaged. Scheduling goes on all the same: the
last numbers serve until they are stale, and then do what the administrator chose. Nothing here
raises for what is outside, and nothing turns "unknown" into "nothing was used" without saying so.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fairlead.errors import FairleadError
from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_origin import (
    PrometheusOrigin,
    Reading,
    StoredOrigin,
    UsageOrigin,
    as_if_idle,
)
from fairlead.store.feed.usage_vector import (
    Freshness,
    Parents,
    UsageVector,
    places_of,
    usage_on_axes,
)
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Sums
from fairlead.usage.settings import PrometheusSource, UsageRules, UsageSource

RETRY_MS: Final = 1000  # how long to wait between two tries for the first answer

_LOG: Final = logging.getLogger(__name__)


class UsageFeed:
    """Follows a source of past use. Not for several threads at once."""

    def __init__(
        self,
        rules: UsageRules,
        source: UsageSource,
        environ: Mapping[str, str],
        *,
        compares_clocks: bool = True,
    ) -> None:
        """Read nothing yet. Who asks about a moment in the past does not compare clocks."""
        self._rules = rules
        self._source = source
        self._environ = environ
        self._compares_clocks = compares_clocks
        self._origin: UsageOrigin | None = None
        self._reading: Reading | None = None
        self._failure: str | None = "nothing was read yet"
        self._tried_ms: int | None = None
        self._idle: Ledger | None = None  # what was read, growing older
        self._logged: tuple[Freshness, bool] = ("fresh", False)

    def refresh(self, now_ms: int) -> None:
        """Read what is new, if the last try is longer ago than fetchInterval.

        What cannot be read is told by the next `vector`, and raises nothing here.
        """
        if not self._is_due(now_ms):
            return
        self._tried_ms = now_ms
        try:
            if self._origin is None:
                self._origin = self._make_origin()
            self._reading = self._origin.read(now_ms)
        except FairleadError as problem:
            self._failure = str(problem)
            return
        self._idle = None
        self._failure = None

    def wait_for_first(self, clock_ms: Callable[[], int], pause: Callable[[int], None]) -> bool:
        """Try until something is known, for as long as waitTimeout says; whether it is.

        *pause* is called with milliseconds to wait.
        """
        begin_ms = clock_ms()
        wait_ms = 0
        if isinstance(self._source, PrometheusSource):
            wait_ms = self._source.wait_timeout_ms
        while True:
            self._tried_ms = None
            self.refresh(clock_ms())
            if self._reading is not None and self._reading.newest_ms is not None:
                return True
            if clock_ms() - begin_ms >= wait_ms:
                return False
            pause(RETRY_MS)

    def vector(self, now_ms: int, parents: Parents, axes: Sequence[str]) -> UsageVector:
        """What counts at *now_ms* on each of *axes*, with inner queues, as of the last `refresh`.

        Law: the usage is None exactly where history does not count: nothing is known, or it is
        stale and ``onStale`` is drop.
        """
        vector = self._vector(now_ms, parents, axes)
        self._log(vector)
        return vector

    def _vector(self, now_ms: int, parents: Parents, axes: Sequence[str]) -> UsageVector:
        reading, failure = self._reading, self._failure
        if reading is None or reading.newest_ms is None:
            problems = [failure] if failure else list(reading.problems if reading else ())
            return UsageVector(usage=None, state="missing", problem="; ".join(problems))
        age_ms = max(0, now_ms - reading.newest_ms)
        is_stale = age_ms > self._rules.staleness_ms
        usage = None
        problems = [failure] if failure else list(reading.problems)
        if is_stale:
            problems.insert(0, self._stale_text(age_ms))
        if not (is_stale and self._rules.on_stale == "drop"):
            problems.extend(_uncounted(axes, reading.ledger))
            try:
                ledger, as_of_ms = self._as_of(reading, now_ms, is_stale=is_stale)
                usage = self._usage(reading, ledger, as_of_ms, parents, axes)
                problems.extend(_without_capacity(axes, ledger, as_of_ms))
            except FairleadError as problem:
                problems.append(str(problem))
        return UsageVector(
            usage=usage,
            state="stale" if is_stale else "fresh" if usage is not None else "missing",
            age_ms=age_ms,
            problem="; ".join(problems) or None,
        )

    def _as_of(self, reading: Reading, now_ms: int, *, is_stale: bool) -> tuple[Ledger, int]:
        """The ledger to ask, and about which moment: fresh ones about now, all held as before."""
        assert reading.newest_ms is not None
        ledger = reading.ledger
        newest_ms = max(reading.newest_ms + reading.ahead_ms, ledger.newest_ms or 0)
        as_of_ms = max(now_ms + reading.ahead_ms, newest_ms)
        if is_stale and self._rules.on_stale == "hold":
            as_of_ms = newest_ms
        elif is_stale:
            if self._idle is None:
                self._idle = as_if_idle(ledger, reading.rules, newest_ms)
            ledger = self._idle
            as_of_ms = max(as_of_ms, newest_ms + 1)
        return ledger, as_of_ms

    def _usage(
        self,
        reading: Reading,
        ledger: Ledger,
        as_of_ms: int,
        parents: Parents,
        axes: Sequence[str],
    ) -> dict[QueueName, Sums]:
        # Adding to a queue what is below it, when it is told with that already, counts it twice.
        links = {name: None if up in reading.whole else up for name, up in parents.items()}
        return usage_on_axes(ledger, as_of_ms, axes, parents=links, charge=self._rules.charge)

    def _stale_text(self, age_ms: int) -> str:
        effect = {
            "hold": "the last numbers count as they were",
            "decay": "the last numbers grow older as if nobody used anything since",
            "drop": "history does not count",
        }[self._rules.on_stale]
        longest_s = self._rules.staleness_ms // 1000
        return (
            f"what is known of past use is {age_ms // 1000} s old, more than the {longest_s} s of "
            f"stalenessPeriod: {effect}"
        )

    def _is_due(self, now_ms: int) -> bool:
        if self._tried_ms is None or not isinstance(self._source, PrometheusSource):
            return True
        since_ms = now_ms - self._tried_ms
        return since_ms < 0 or since_ms >= self._source.fetch_interval_ms

    def _make_origin(self) -> UsageOrigin:
        if isinstance(self._source, PrometheusSource):
            return PrometheusOrigin(
                self._source, self._rules, self._environ, compares_clocks=self._compares_clocks
            )
        return StoredOrigin(self._source, self._rules)

    def _log(self, vector: UsageVector) -> None:
        """Once for every turn of things, not in every cycle."""
        turn = (vector.state, vector.problem is not None)
        if turn != self._logged:
            self._logged = turn
            if vector.problem is None:
                _LOG.info("past use is %s", vector.state)
            else:
                _LOG.warning("past use is %s: %s", vector.state, vector.problem)


def _uncounted(axes: Sequence[str], ledger: Ledger) -> list[str]:
    """The axes of which there is no record at all."""
    return [
        f"of {axis} no use is recorded; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if not places
    ]


def _without_capacity(axes: Sequence[str], ledger: Ledger, as_of_ms: int) -> list[str]:
    """The axes of which something was used, but nobody said how much of it there was."""
    unknown = set(ledger.unknown(as_of_ms))
    if not unknown:
        return []
    queues = ledger.usage(as_of_ms).queues.values()
    return [
        f"of {axis} use is recorded, but not how much of it the cluster had; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if places
        and all(ledger.resources[place] in unknown for place in places)
        and any(use.all[place] > 0 for use in queues for place in places)
    ]
