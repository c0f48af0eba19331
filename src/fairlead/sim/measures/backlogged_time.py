"""Fairness over time: what backlogged queues received, and what they were entitled to meanwhile.

A queue is backlogged while it requests more than it holds; only that time counts, and without
contention only what exceeds one planning period: until then it may just wait for the next cycle.
Between two changes everything is constant, so both sums grow along straight lines: a deficit is
largest where a line ends, and the moment at which a line becomes fair can be computed. All of it is
exact.
"""


class TimeToFairness:
    """Of one queue, or of all together. Contentions of which nothing was noted were fair always."""

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


FAIR_PART = 20
"""A share is fair within one part in so many of the capacity: five points of a hundred."""


class BackloggedTime:
    """One resource of one queue; resource-time in base units x ms."""

    def __init__(self, *, is_leaf: bool) -> None:
        """The queue is not backlogged at first."""
        self.is_leaf = is_leaf
        self.span_ms = self.received = self.entitled = self.capacity = self.worst_deficit = 0
        self.is_open = False  # whether it is backlogged now
        self.to_fairness = TimeToFairness()
        self._counts_from_ms = 0  # until then it may just wait for the next cycle
        self._since_ms = self._held_now = self._due_now = self._capacity_now = 0
        self.is_judged = False  # whether it was backlogged in the contention of now
        self._begun_ms = 0  # when that began; the rest is since then
        self._ahead = self._room = 0  # received - entitled, and capacity, while backlogged
        self._fair_since_ms: int | None = None  # None: it is not fair now

    def open(self, at_ms: int, held: int, due: int, capacity: int) -> bool:
        """Let it be backlogged from now on, with these levels; return whether that is new."""
        if self.is_open:
            if held == self._held_now and due == self._due_now and capacity == self._capacity_now:
                return False
            self.pass_until(at_ms)
        self.is_open = True
        self._since_ms = at_ms
        self._held_now = held
        self._due_now = due
        self._capacity_now = capacity
        return True

    def count_from(self, at_ms: int, counts_from_ms: int) -> None:
        """From now on let only the time from *counts_from_ms* on count."""
        self.pass_until(at_ms)
        self._counts_from_ms = counts_from_ms

    def close(self, at_ms: int) -> None:
        """Let it not be backlogged from now on."""
        self.pass_until(at_ms)
        self.is_open = False

    def pass_until(self, at_ms: int) -> None:
        """Count the time until now, in which nothing changed."""
        if not self.is_open:
            return
        since_ms = max(self._since_ms, self._counts_from_ms)
        self._since_ms = at_ms
        passed_ms = at_ms - since_ms
        if passed_ms <= 0:
            return
        self.span_ms += passed_ms
        self.received += self._held_now * passed_ms
        self.entitled += self._due_now * passed_ms
        self.capacity += self._capacity_now * passed_ms
        deficit = self.entitled - self.received
        self.worst_deficit = max(self.worst_deficit, deficit)
        if self.is_judged:
            self._judge(since_ms, passed_ms)

    def begin_contention(self, at_ms: int, begun_ms: int) -> None:
        """Judge the share anew: contention began at *begun_ms*, and it is backlogged from now on.

        It was fair until now: with no backlogged time no queue is behind.
        """
        self.count_from(at_ms, at_ms)
        self.is_judged = True
        self._begun_ms = self._fair_since_ms = begun_ms
        self._ahead = self._room = 0

    def end_contention(self, at_ms: int) -> int | None:
        """Return how long it took until it was fair for good; None if it is not fair now."""
        self.pass_until(at_ms)
        self.is_judged = False
        took_ms = None if self._fair_since_ms is None else self._fair_since_ms - self._begun_ms
        self.to_fairness.note(took_ms)
        return took_ms

    def _judge(self, since_ms: int, passed_ms: int) -> None:
        """Find out whether the share is fair now, and since when.

        Fair is ``FAIR_PART * abs(ahead) <= room``. Both sides of it are straight lines, so it is
        fair in one piece of the time that passed. A queue that was fair and is so now has been all
        along; one that was not and is now became so when the excess was made up for, at some whole
        ms.
        """
        was_ahead, had_room = self._ahead, self._room
        gain = self._held_now - self._due_now
        ahead = self._ahead = was_ahead + gain * passed_ms
        room = self._room = had_room + self._capacity_now * passed_ms
        if FAIR_PART * abs(ahead) > room:
            self._fair_since_ms = None
        elif self._fair_since_ms is None:
            excess = FAIR_PART * abs(was_ahead) - had_room
            made_up = self._capacity_now + FAIR_PART * (-gain if was_ahead > 0 else gain)  # a ms
            self._fair_since_ms = since_ms - (-excess // made_up)
