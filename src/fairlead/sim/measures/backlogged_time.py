"""What queues received, and what was due to them, while they wanted more than they had.

Who asks for nothing is not wronged by getting nothing. So fairness over time is judged only by the
time in which a queue was backlogged: at the last sample it asked for more than it held.
"""

from fairlead.sim.measures.time_to_fairness import TimeToFairness

FAIR_PART = 20
"""A share is fair within one part in so many of the capacity: five points of a hundred."""


class BackloggedTime:
    """One resource of one queue; resource-time in base units x ms."""

    __slots__ = (
        "_begun",
        "_capacity_then",
        "_held_then",
        "_since_ms",
        "capacity",
        "entitled",
        "entitled_now",
        "is_open",
        "received",
        "span_ms",
        "to_fairness",
        "worst_deficit",
    )

    def __init__(self) -> None:
        """The queue is not backlogged at first."""
        self.span_ms = self.received = self.entitled = self.capacity = self.worst_deficit = 0
        self.is_open = False  # whether it is backlogged now
        self.to_fairness = TimeToFairness()
        self.entitled_now = 0  # while it is backlogged
        self._since_ms = self._held_then = self._capacity_then = 0
        self._begun = (0, 0, 0)  # received, entitled and capacity when contention began

    def open(self, at_ms: int, entitled: int, held: int, capacity: int) -> None:
        """From now on it is backlogged; *held* and *capacity* are resource-time until now."""
        self.is_open = True
        self._since_ms = at_ms
        self.entitled_now = entitled
        self._held_then = held
        self._capacity_then = capacity

    def close(self, at_ms: int, held: int, capacity: int) -> None:
        """Count what passed since it was opened."""
        self.is_open = False
        passed_ms = at_ms - self._since_ms
        self.span_ms += passed_ms
        self.received += held - self._held_then
        self.entitled += self.entitled_now * passed_ms
        self.capacity += capacity - self._capacity_then
        deficit = self.entitled - self.received
        self.worst_deficit = max(self.worst_deficit, deficit)

    def look(self, at_ms: int, held: int) -> None:
        """Note the deficit of now, while it is open.

        Between samples the deficit grows until more is held than is due. So it is at its largest
        when a start takes what is held over what is due, or at a sample: looking then is enough.
        """
        due = self.entitled + self.entitled_now * (at_ms - self._since_ms)
        deficit = due - self.received - (held - self._held_then)
        self.worst_deficit = max(self.worst_deficit, deficit)

    def begin_contention(self, at_ms: int) -> None:
        """Judge the share anew from now on."""
        self._begun = (self.received, self.entitled, self.capacity)
        self.to_fairness.begin(at_ms)

    def is_fair(self) -> bool:
        """Whether the share since contention began is within five points of the one due."""
        received, entitled, capacity = self._begun
        off = (self.received - received) - (self.entitled - entitled)
        return FAIR_PART * abs(off) <= self.capacity - capacity
