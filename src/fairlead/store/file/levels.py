"""What everybody holds at one moment of the journal, found by taking its entries.

Reading may begin in the middle of a journal only if it is known what held there. The same walk
finds what a ledger would refuse, so that nothing comes into a store that cannot be read back.
"""

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)


class Levels:
    """All levels in force after the entries taken so far, which come in the order of time."""

    def __init__(self, *, last_gap: Gap | None = None) -> None:
        """Nothing is known, but that *last_gap* may have been: then again it has no effect."""
        self.newest_ms: int | None = None
        self._held: dict[QueueName, dict[str, Amounts]] = {}  # every queue that is known
        self._guarantees: dict[QueueName, Limits] = {}
        self._capacity: Amounts | None = None
        self._last_gap = last_gap

    def take(self, entry: Entry) -> None:
        """Let *entry* change what holds; raises UsageError for what contradicts those before."""
        match entry:
            case Held():
                users = self._held.setdefault(entry.queue, {})
                if any(entry.amounts):
                    users[entry.user] = entry.amounts
                else:
                    users.pop(entry.user, None)
            case Guarantee():
                self._held.setdefault(entry.queue, {})
                self._guarantees[entry.queue] = entry.amounts
            case Capacity():
                self._capacity = entry.amounts
            case Granted():
                self._held.setdefault(entry.queue, {})
            case Renamed() if entry.queue in self._held and entry.queue != entry.name:
                self._rename(entry)
            case Removed() if entry.queue in self._held:
                self._held[entry.queue] = {}
                self._guarantees.pop(entry.queue, None)
            case Gap() if entry != self._last_gap:
                self._skip(entry)
        self.newest_ms = entry.at_ms

    def in_force(self, at_ms: int) -> list[Entry]:
        """What holds, told as entries of *at_ms*, by name; queues with nothing are left out."""
        return [entry for entry in self.all_known(at_ms) if _tells_something(entry)]

    def all_known(self, at_ms: int) -> list[Entry]:
        """What holds, told as entries of *at_ms*, and every queue that is known."""
        entries: list[Entry] = []
        if self._capacity is not None:
            entries.append(Capacity(at_ms=at_ms, amounts=self._capacity))
        for queue, amounts in sorted(self._guarantees.items()):
            entries.append(Guarantee(at_ms=at_ms, queue=queue, amounts=amounts))
        for queue, users in sorted(self._held.items()):
            for user, held in sorted((users or {"": ()}).items()):
                entries.append(Held(at_ms=at_ms, queue=queue, user=user, amounts=held))
        return entries

    def _rename(self, entry: Renamed) -> None:
        if entry.name in self._held:
            raise UsageError(
                f"queue {entry.queue} cannot be renamed to {entry.name}: "
                "there are records of a queue of that name"
            )
        self._held[entry.name] = self._held.pop(entry.queue)
        if entry.queue in self._guarantees:
            self._guarantees[entry.name] = self._guarantees.pop(entry.queue)

    def _skip(self, gap: Gap) -> None:
        if gap.since_ms > gap.at_ms:
            raise UsageError(f"a gap begins at {gap.since_ms} ms, after its end at {gap.at_ms} ms")
        if self.newest_ms is not None and self.newest_ms > gap.since_ms:
            raise UsageError(
                f"a gap begins at {gap.since_ms} ms, but something is known of {self.newest_ms} ms"
            )
        self._last_gap = gap


def _tells_something(entry: Entry) -> bool:
    return not isinstance(entry, Held | Guarantee) or any(each != 0 for each in entry.amounts)
