"""Whether all that is known of the cluster is of now: while it is not, nothing is bound or evicted.

A kind is current while its watch runs. After a list, or an interruption, it counts as current once
the watch runs and as much time has passed as it did not, one second at most: what happened
meanwhile arrives within that.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from fairlead.cluster.kubernetes.client.discovery import GroupKind

_MOST_CATCHING_UP_S: Final = 1.0


class _Standing(msgspec.Struct):
    """Since when a kind is not current, or from when on it is."""

    stale_since_s: float | None
    current_from_s: float = 0.0
    was_listed: bool = False


class Freshness:
    """Which kinds are listed and current. Written by the network's thread, read by any."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without kinds. *clock* is monotonic, in seconds."""
        self._clock = clock
        self._kinds: dict[GroupKind, _Standing] = {}
        self._missing: frozenset[str] | None = None  # None: what is served is not known yet

    def expect(self, kind: GroupKind) -> None:
        """Await the first list of *kind*: nothing is current before it."""
        self._kinds = {**self._kinds, kind: _Standing(self._clock())}

    def forget(self, kind: GroupKind) -> None:
        """Await nothing of *kind* any more, which is not served."""
        self._kinds = {each: found for each, found in self._kinds.items() if each != kind}

    def require(self, missing: frozenset[str]) -> bool:
        """Say what the API server does not serve, and without which nothing may be planned.

        Returns whether that is news.
        """
        is_news = missing != (self._missing or frozenset())
        self._missing = missing
        return is_news

    def has_all_kinds(self) -> bool:
        """Return whether every kind without which nothing may be planned is served."""
        return self._missing is not None and not self._missing

    def listed(self, kind: GroupKind) -> None:
        """Note that all objects of *kind* are known as of now, and no change is seen yet."""
        standing = self._kinds[kind]
        standing.was_listed = True
        standing.stale_since_s = self._clock()

    def interrupted(self, kind: GroupKind) -> None:
        """Note that changes of *kind* are not seen any more."""
        standing = self._kinds[kind]
        if standing.stale_since_s is None:
            standing.stale_since_s = self._clock()

    def resumed(self, kind: GroupKind) -> None:
        """Note that changes of *kind* are seen again, those in between first."""
        standing, now_s = self._kinds[kind], self._clock()
        if standing.was_listed and standing.stale_since_s is not None:
            missed_s = min(now_s - standing.stale_since_s, _MOST_CATCHING_UP_S)
            standing.current_from_s = now_s + missed_s
            standing.stale_since_s = None

    def is_current(self) -> bool:
        """Return whether all kinds are. Cost: each kind."""
        now_s = self._clock()
        return self.has_all_kinds() and all(
            each.stale_since_s is None and each.current_from_s <= now_s
            for each in self._kinds.values()
        )

    def are_all_listed(self) -> bool:
        """Return whether all objects of each kind were known at some time."""
        return self.has_all_kinds() and all(each.was_listed for each in self._kinds.values())

    def not_current(self) -> list[str]:
        """Return what is awaited, for people: ``Pod``, ``PodGroup (not served)``."""
        awaited = [
            ".".join(filter(None, (name, group)))
            for (group, name), each in self._kinds.items()
            if each.stale_since_s is not None
        ]
        if self._missing is None:
            return ["the list of kinds that are served"]
        return sorted([*awaited, *[f"{each} (not served)" for each in self._missing]])
