"""How long it takes until things are fair and stay so, each time that contention begins.

Only the moment since which all has been fair is kept, so memory does not grow with time.
"""


class TimeToFairness:
    """Of one queue, or of all together."""

    __slots__ = ("_begun_ms", "_fair_since_ms", "contentions", "longest_ms", "never_fair")

    def __init__(self) -> None:
        """No contention has begun."""
        self.contentions = 0
        self.never_fair = 0  # contentions that ended before it was fair
        self.longest_ms: int | None = None  # of those in which it became fair
        self._begun_ms = 0
        self._fair_since_ms: int | None = None

    @property
    def is_fair(self) -> bool:
        """Whether it was fair at the last look."""
        return self._fair_since_ms is not None

    def begin(self, at_ms: int) -> None:
        """Contention begins: nobody has been wronged yet."""
        self.contentions += 1
        self._begun_ms = self._fair_since_ms = at_ms

    def look(self, at_ms: int, *, is_fair: bool) -> None:
        """Note whether it is fair now."""
        if not is_fair:
            self._fair_since_ms = None
        elif self._fair_since_ms is None:
            self._fair_since_ms = at_ms

    def end(self) -> None:
        """Contention is over: what was found at the last look is the answer."""
        if self._fair_since_ms is None:
            self.never_fair += 1
        else:
            self.longest_ms = max(self.longest_ms or 0, self._fair_since_ms - self._begun_ms)
