"""How long it takes until things are fair and stay so, each time that contention begins."""


class TimeToFairness:
    """Of one queue, or of all together. Contentions of which nothing was noted were fair always."""

    __slots__ = ("longest_ms", "never_fair")

    def __init__(self) -> None:
        """Nothing was unfair yet."""
        self.never_fair = 0  # contentions that ended before it was fair
        self.longest_ms = 0  # of the others

    def note(self, took_ms: int | None) -> None:
        """Count a contention that is over; None: it was not fair at its end."""
        if took_ms is None:
            self.never_fair += 1
        elif took_ms > self.longest_ms:
            self.longest_ms = took_ms
