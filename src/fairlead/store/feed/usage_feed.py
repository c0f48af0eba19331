"""Past usage for a plan: always an answer, with its age and its problems.

A server may be down, slow or silent, a file locked or damaged. Scheduling goes on all the same: the
last numbers serve until they are stale, and then do what the administrator chose. Nothing here
raises for what is outside, and nothing turns "unknown" into "nothing was used" without saying so.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from types import TracebackType
from typing import Final, NamedTuple

from fairlead.errors import FairleadError
from fairlead.model.axes import QueueName
from fairlead.store.feed.reading import (
    Onward,
    Reading,
    Standing,
    UsageOrigin,
    detached,
    standing,
)
from fairlead.store.feed.store_origin import StoredOrigin
from fairlead.store.feed.usage_vector import (
    CountedTree,
    Freshness,
    Parents,
    UsageSums,
    UsageVector,
    counted_tree,
    sums_on_axes,
    uncounted,
    unknown_axes,
    usage_on_axes,
)
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Sums
from fairlead.usage.settings import PrometheusSource, UsageRules, UsageSource

RETRY_MS: Final = 1000  # how long to wait between two tries for the first answer

_ONLY_BEGUN: Final = "the window has just begun and has no samples yet"
_LOG: Final = logging.getLogger(__name__)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 10**6


class _Known(NamedTuple):
    """What is known, replaced as a whole, so that another thread sees the old or the new."""

    reading: Reading | None
    failure: str | None  # of the last try
    standings: dict[Onward, Standing]  # of the reading, as far as they were asked for


class _Counted(NamedTuple):
    """What counts of past use, and what to tell of it."""

    usage: dict[QueueName, Sums] | None
    unknown: tuple[str, ...]
    problems: list[str]


_NOTHING: Final = _Counted(None, (), [])


class UsageFeed:
    """Follows a source of past use. Any thread may ask, but one at a time: a file stays open."""

    def __init__(
        self,
        rules: UsageRules,
        source: UsageSource,
        environ: Mapping[str, str],
        *,
        keeps_sums: bool = False,
        is_asked_meanwhile: bool = False,
        stopwatch_ms: Callable[[], int] = _monotonic_ms,
    ) -> None:
        """Read nothing yet.

        With *keeps_sums* one may ask for sums; usage that decays then has two ledgers. A feed that
        *is_asked_meanwhile* may be refreshed by one thread while another asks: what was read last
        is then kept apart from what is being read, which costs a copy for each reading.
        """
        self._rules = rules
        self._source = source
        self._environ = environ
        self._keeps_sums = keeps_sums
        self._origin: UsageOrigin | None = None
        self._is_asked_meanwhile = is_asked_meanwhile
        self._stopwatch_ms = stopwatch_ms
        self._known = _Known(None, "nothing was read yet", {})
        self._tried_ms: int | None = None  # when the last try ended
        self._logged: tuple[Freshness, str] = ("fresh", "")

    def refresh(self, now_ms: int) -> None:
        """Read what is new, if the last try ended longer ago than fetchInterval.

        What cannot be read is told by the next `vector`, and raises nothing here.
        """
        if self.due_in_ms(now_ms):
            return
        begun_ms = self._stopwatch_ms()
        try:
            if self._origin is None:
                self._origin = self._make_origin()
            reading = self._origin.read(now_ms)
            if self._is_asked_meanwhile:
                reading = detached(reading)
            self._known = _Known(reading, None, {})
        except FairleadError as problem:
            self._known = self._known._replace(failure=str(problem))
        # Counted from its begin, a try that takes longer than that would be due again at once.
        self._tried_ms = now_ms + self._stopwatch_ms() - begun_ms

    def due_in_ms(self, now_ms: int) -> int:
        """How long the next `refresh` will not do anything; a file may be read at any time."""
        if self._tried_ms is None or not isinstance(self._source, PrometheusSource):
            return 0
        interval_ms = self._source.fetch_interval_ms
        since_ms = now_ms - self._tried_ms
        if since_ms < -interval_ms:
            return 0  # the clock was set back
        return max(0, interval_ms - since_ms)

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
            reading = self._known.reading
            if reading is not None and reading.newest_ms is not None:
                return True
            if clock_ms() - begin_ms >= wait_ms:
                return False
            pause(RETRY_MS)

    def vector(self, now_ms: int, parents: Parents, axes: Sequence[str]) -> UsageVector:
        """What counts at *now_ms* on each of *axes*, with inner queues, as of the last `refresh`.

        Law: the usage is None exactly where history does not count: nothing is known, or of no
        resource how much there was, it is stale and ``onStale`` is drop, or what is known
        contradicts itself; the problem says which.
        """
        vector = self._vector(now_ms, parents, axes)
        self._log(vector)
        return vector

    def sums(self, now_ms: int, parents: Parents, axes: Sequence[str]) -> UsageSums | None:
        """The resource-time behind `vector`, from the same reading and as of the same moment.

        Where stale history is dropped, it is that of the last look. None: nothing is known, or
        what is known contradicts itself, and `vector` says why. Needs *keeps_sums*.
        """
        assert self._keeps_sums, "sums need keeps_sums"
        known = self._known
        reading = known.reading
        if reading is None or reading.newest_ms is None:
            return None
        tree = self._tree(reading, parents)
        try:
            found, as_of_ms = self._as_of(reading, known.standings, now_ms)
            assert found.plain is not None, "kept from the start"
            return UsageSums(
                raw=sums_on_axes(found.plain, as_of_ms, axes, tree),
                decayed=sums_on_axes(found.ledger, as_of_ms, axes, tree),
            )
        except FairleadError:
            return None

    def close(self) -> None:
        """Let go of the source; what was read still counts."""
        if self._origin is not None:
            self._origin.close()

    def __enter__(self) -> "UsageFeed":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _vector(self, now_ms: int, parents: Parents, axes: Sequence[str]) -> UsageVector:
        reading, failure, standings = self._known
        if reading is None or reading.newest_ms is None:
            problems = [failure] if failure else list(reading.problems if reading else ())
            # No sample was due, so the server was not asked and nothing is odd about its answer.
            problems = problems or [_ONLY_BEGUN]
            return _vector_of(_NOTHING, "missing", None, problems)
        age_ms = max(0, now_ms - reading.newest_ms)
        is_stale = self._is_stale(reading, now_ms)
        counted = _NOTHING
        problems = [failure] if failure else list(reading.problems)
        if is_stale:
            problems.insert(0, self._staleness(age_ms))
        if not (is_stale and self._rules.on_stale == "drop"):
            try:
                found, as_of_ms = self._as_of(reading, standings, now_ms)
                tree = self._tree(reading, parents)
                counted = _counted(found.ledger, as_of_ms, axes, tree, reading.rules.resolution_ms)
                problems.extend(counted.problems)
            except FairleadError as problem:
                problems.append(str(problem))
        state: Freshness = (
            "stale" if is_stale else "fresh" if counted.usage is not None else "missing"
        )
        return _vector_of(counted, state, age_ms, problems)

    def _as_of(
        self, reading: Reading, standings: dict[Onward, Standing], now_ms: int
    ) -> tuple[Standing, int]:
        """What to ask, and about which moment: fresh ledgers about now, all held as before."""
        onward: Onward = "as before"
        if self._is_stale(reading, now_ms):
            onward = "decay" if self._rules.on_stale == "decay" else "hold"
        found = standings.get(onward)
        if found is None:
            found = standings[onward] = standing(reading, onward)
        return found, found.as_of_ms(now_ms)

    def _is_stale(self, reading: Reading, now_ms: int) -> bool:
        assert reading.newest_ms is not None, "what is not known cannot be old"
        return now_ms - reading.newest_ms > self._rules.staleness_ms

    def _tree(self, reading: Reading, parents: Parents) -> CountedTree:
        return counted_tree(parents, reading.whole, self._rules.charge)

    def _staleness(self, age_ms: int) -> str:
        effect = {
            "hold": "the last numbers count as they were",
            "decay": "the last numbers decay as if nothing was used since",
            "drop": "history does not count",
        }[self._rules.on_stale]
        longest_s = self._rules.staleness_ms // 1000
        return (
            f"what is known of past use is {age_ms // 1000} s old, more than {longest_s} s: "
            f"{effect}; see staleness (stalenessPeriod) and onStale"
        )

    def _make_origin(self) -> UsageOrigin:
        if isinstance(self._source, PrometheusSource):
            # Imported late: it loads an HTTP library.
            from fairlead.store.prometheus.history import PrometheusHistory

            return PrometheusHistory(
                self._source, self._rules, self._environ, keeps_plain=self._keeps_sums
            )
        return StoredOrigin(self._source, self._rules, keeps_plain=self._keeps_sums)

    def _log(self, vector: UsageVector) -> None:
        """Once for every turn of things, not in every cycle."""
        turn = vector.state, vector.turn
        if turn != self._logged:
            self._logged = turn
            level = logging.INFO if vector.problem is None else logging.WARNING
            _LOG.log(level, "%s", vector.text())


def _counted(
    ledger: Ledger, as_of_ms: int, axes: Sequence[str], tree: CountedTree, step_ms: int
) -> _Counted:
    """Return what counts of a ledger. Raises UsageError if it contradicts itself."""
    usage = usage_on_axes(ledger, as_of_ms, axes, tree)
    unknown = unknown_axes(axes, ledger, as_of_ms, step_ms)
    if len(unknown) == len(axes):
        return _Counted(None, unknown, ["the capacity of the cluster is unknown for all resources"])
    return _Counted(usage, unknown, uncounted(axes, ledger, as_of_ms))


def _vector_of(
    counted: _Counted, state: Freshness, age_ms: int | None, problems: Sequence[str]
) -> UsageVector:
    return UsageVector(
        usage=counted.usage,
        unknown=counted.unknown,
        state=state,
        age_ms=age_ms,
        problem="; ".join(problems) or None,
    )


LONGEST_WAIT_S: Final = 2.0
"""How long a caller waits for a reading in the background, counted from its begin."""
STOP_S: Final = 1.0
"""How long `FollowedUsage.close` waits for a reading; a longer one ends with the program."""


class FollowedUsage:
    """The feed of the settings of the moment, for a program that reads them again and again.

    While settings stay the same, what was read is kept, and only what is new is read. Any thread
    may ask, but one at a time.
    """

    def __init__(
        self, environ: Mapping[str, str], *, keeps_sums: bool = False, in_background: bool = False
    ) -> None:
        """Open nothing yet. A reading *in_background* makes no caller wait for long."""
        self._environ = environ
        self._keeps_sums = keeps_sums
        self._in_background = in_background
        self._asked: tuple[UsageRules, UsageSource] | None = None
        self._feed: UsageFeed | None = None
        self._reader: Thread | None = None
        self._begun_s = 0.0  # when the last reading in the background began
        self._defect: Exception | None = None  # of a reading in the background

    def refreshed(self, rules: UsageRules, source: UsageSource, now_ms: int) -> UsageFeed:
        """Return the feed of *source* by *rules*, with what is new; good until the next call.

        Raises nothing for problems of the source; a defect of ours in the background is raised by
        the next call. A reading in the background that takes longer than `LONGEST_WAIT_S`
        continues, and the last numbers serve meanwhile. Cost: that of what is new, or of the whole
        window when the settings have changed.
        """
        if self._feed is None or self._asked != (rules, source):
            self.close()
            self._asked = rules, source
            self._feed = UsageFeed(
                rules,
                source,
                self._environ,
                keeps_sums=self._keeps_sums,
                is_asked_meanwhile=self._in_background,
            )
        if not self._in_background:
            self._feed.refresh(now_ms)
            return self._feed
        if self._reader is None or not self._reader.is_alive():
            self._raise_defect()
            self._begun_s = time.monotonic()
            self._reader = Thread(
                target=self._refresh, args=(self._feed, now_ms), name="past use", daemon=True
            )
            self._reader.start()
        self._reader.join(max(0.0, self._begun_s + LONGEST_WAIT_S - time.monotonic()))
        self._raise_defect()
        return self._feed

    def close(self) -> None:
        """Close the source; what was read still counts. Raises a defect that no call has raised."""
        if self._reader is not None:
            self._reader.join(STOP_S)
            if self._reader.is_alive():
                return  # it holds the source, and ends with the program
        if self._feed is not None:
            self._feed.close()
        self._raise_defect()

    def _refresh(self, feed: UsageFeed, now_ms: int) -> None:
        try:
            feed.refresh(now_ms)
        except Exception as defect:  # noqa: BLE001  the next call raises it
            self._defect = defect

    def _raise_defect(self) -> None:
        defect, self._defect = self._defect, None
        if defect is not None:
            raise defect
