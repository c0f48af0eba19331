"""A clock that goes on only when it is told to."""

from fairlead.cluster.kubernetes.client.credentials import Clock


class SetClock:
    """Both clocks, set by a test."""

    def __init__(self, wall_s: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._start_s = wall_s
        self.now_s = 1000.0

    @property
    def clock(self) -> Clock:
        """What is handed to credentials."""
        return Clock(lambda: self._start_s + self.now_s - 1000, lambda: self.now_s)
