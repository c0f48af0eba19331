"""Past use for a program that reads its settings again and again.

While they say the same, what was read is followed. When they say something else, numbers of before
would be an answer to another question, so reading begins anew.
"""

from collections.abc import Mapping

from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.usage.settings import UsageRules, UsageSource


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
