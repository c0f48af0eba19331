"""Past use for a program that reads its settings again and again.

While they say the same, what was read is followed. When they say something else, numbers of before
would be an answer to another question, so reading begins anew.
"""

import time
from collections.abc import Callable, Mapping
from threading import Condition, Thread
from typing import Final

from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.usage.settings import PrometheusSource, UsageRules, UsageSource


class FollowedUsage:
    """A feed of the settings of the moment. Any thread may ask, but one at a time."""

    def __init__(
        self, environ: Mapping[str, str], *, compares_clocks: bool = True, keeps_sums: bool = False
    ) -> None:
        """Open nothing yet; the options are those of a feed."""
        self._environ = environ
        self._compares_clocks = compares_clocks
        self._keeps_sums = keeps_sums
        self._asked: tuple[UsageRules, UsageSource] | None = None
        self._feed: UsageFeed | None = None

    def refreshed(self, rules: UsageRules, source: UsageSource, now_ms: int) -> UsageFeed:
        """The feed of *source* by *rules*, with what is new; good until this is asked again.

        Raises nothing for what is outside. Cost: that of what is new, or of all that the window
        needs when the settings are others than before.
        """
        if self._feed is None or self._asked != (rules, source):
            self.close()
            self._asked = rules, source
            self._feed = UsageFeed(
                rules,
                source,
                self._environ,
                compares_clocks=self._compares_clocks,
                keeps_sums=self._keeps_sums,
            )
        self._feed.refresh(now_ms)
        return self._feed

    def close(self) -> None:
        """Let go of the source; what was read still counts."""
        if self._feed is not None:
            self._feed.close()


LONGEST_WAIT_S: Final = 2.0
"""How long a caller waits for a try that has just begun."""
STOP_S: Final = 1.0
"""How long an end waits for a try; one that takes longer ends with the program."""


class BackgroundUsage:
    """A feed of the settings of the moment, read by a thread of its own. Any thread may ask.

    A server is asked when fetchInterval is over, a file at every call.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        clock_ms: Callable[[], int],
        *,
        compares_clocks: bool = True,
        keeps_sums: bool = False,
    ) -> None:
        """Open nothing yet, and start no thread; the options are those of a feed."""
        self._environ = environ
        self._clock_ms = clock_ms
        self._compares_clocks = compares_clocks
        self._keeps_sums = keeps_sums
        self._changed = Condition()  # guards all that follows
        self._asked: tuple[UsageRules, UsageSource] | None = None
        self._followed: _Followed | None = None
        self._begun_s: float | None = None  # the try that is under way; None: there is none
        self._thread: Thread | None = None
        self._stops = False
        self._defect: Exception | None = None

    def refreshed(self, rules: UsageRules, source: UsageSource, now_ms: int) -> UsageFeed:
        """The feed of *source* by *rules*, as it is about *now_ms*; ask, but do not refresh it.

        What a file says now is waited for, and of a server the end of the first try, but neither
        longer than `LONGEST_WAIT_S` after the try began: then what was read before serves, and
        where nothing was, it is missing. Raises what ended the thread, which is a defect of ours.
        """
        del now_ms  # the thread has its own clock
        with self._changed:
            followed = self._follow(rules, source)
            followed.asked += 1
            asked = followed.asked
            if self._thread is None:
                self._thread = Thread(target=self._run, name="past use", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            begun_s = time.monotonic() if self._begun_s is None else self._begun_s
            self._changed.wait_for(
                lambda: self._defect is not None or followed.has_answered(asked),
                timeout=max(0.0, begun_s + LONGEST_WAIT_S - time.monotonic()),
            )
            if self._defect is not None:
                raise self._defect
        return followed.feed

    def close(self) -> None:
        """Stop reading, and let go of the source; what was read still counts."""
        with self._changed:
            self._stops = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _follow(self, rules: UsageRules, source: UsageSource) -> "_Followed":
        if self._followed is None or self._asked != (rules, source):
            self._asked = rules, source
            feed = UsageFeed(
                rules,
                source,
                self._environ,
                compares_clocks=self._compares_clocks,
                keeps_sums=self._keeps_sums,
                is_asked_meanwhile=True,
            )
            self._followed = _Followed(feed, is_server=isinstance(source, PrometheusSource))
        return self._followed

    def _run(self) -> None:
        followed: _Followed | None = None
        try:
            while (coming := self._next()) is not None:
                if followed is not None and followed is not coming:
                    followed.feed.close()
                followed = coming
                asked = followed.asked
                followed.feed.refresh(self._clock_ms())
                self._end_try(followed, asked)
        except Exception as defect:  # noqa: BLE001  the next call raises it
            with self._changed:
                self._defect = defect
                self._changed.notify_all()
        finally:
            if followed is not None:
                followed.feed.close()

    def _next(self) -> "_Followed | None":
        """Wait until something is due, and note that a try begins; None: it is over."""
        with self._changed:
            while not self._stops:
                followed = self._followed
                assert followed is not None, "the thread starts at the first call"
                pause_s = followed.pause_s(self._clock_ms())
                if pause_s == 0:
                    self._begun_s = time.monotonic()
                    return followed
                self._changed.wait(pause_s)
        return None

    def _end_try(self, followed: "_Followed", asked: int) -> None:
        with self._changed:
            self._begun_s = None
            followed.answered = asked
            self._changed.notify_all()


class _Followed:
    """A feed, and how often it was asked about."""

    def __init__(self, feed: UsageFeed, *, is_server: bool) -> None:
        self.feed = feed
        self.asked = 0
        self.answered = 0  # of those, how many came before the last try began
        self._is_server = is_server

    def has_answered(self, asked: int) -> bool:
        return self.answered >= (1 if self._is_server else asked)

    def pause_s(self, now_ms: int) -> float | None:
        """Return how long to wait until the next try; None: until the next call."""
        if self._is_server:
            return self.feed.due_in_ms(now_ms) / 1000
        return 0 if self.asked > self.answered else None
