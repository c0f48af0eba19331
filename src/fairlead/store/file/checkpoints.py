"""The levels in force at any moment, saved daily, so that reading can begin in the middle.

Checkpoints are computed from the journal. If they are lost or damaged, only time is lost.
"""

import sqlite3
from collections.abc import Iterator

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.store.file.checked_rows import LAST_KEY, CheckedRows, DamagedRowError
from fairlead.store.file.journal import Journal, NumberedEntry, first_key, moment_of
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
from fairlead.usage.settings import DAY_MS

CHECKPOINT_MS = DAY_MS  # a day of 1,000 queues takes half a second to read


class Checkpoints:
    """Finds the levels in force at any key of a journal."""

    def __init__(self, connection: sqlite3.Connection, journal: Journal) -> None:
        """Save nothing yet."""
        self._rows = CheckedRows(connection, "checkpoints")
        self._journal = journal

    def levels_until(self, last: int) -> "Levels":
        """Return the levels in force after the key *last*. Cost: O(entries of a day)."""
        self._journal.load_names()
        try:
            saved = self._rows.last(last)
        except DamagedRowError:
            saved = None  # the journal has it all
        if saved is None:
            key, levels = None, Levels()
        else:
            key, body = saved
            levels = Levels(last_gap=self._last_gap(key))
            for entry in self._journal.unpacked_levels(key, body):
                levels.take(entry)
        for _, entry in self._journal.read(key, last):
            levels.take(entry)
        return levels

    def read_from(self, since_ms: int, until: int = LAST_KEY) -> Iterator[NumberedEntry]:
        """Yield the levels in force at *since_ms* as entries, then all entries from then on."""
        before = first_key(since_ms) - 1
        for entry in self.levels_until(before).in_force(since_ms):
            yield before, entry
        for key, entry in self._journal.read(before, until):
            # Nothing before is reported, so neither is the part of a gap before.
            if isinstance(entry, Gap) and entry.since_ms < since_ms:
                entry = Gap(at_ms=entry.at_ms, since_ms=since_ms)
            yield key, entry

    def save_if_due(self) -> None:
        """Save the newest levels if the last checkpoint is a day old. Cost: O(entries since)."""
        last = self._journal.last_key()
        if last is None or not self._is_old(last):
            return
        levels = self.levels_until(LAST_KEY).all_known(moment_of(last))
        self._rows.replace(last, self._journal.packed_levels(levels))

    def drop(self, first: int, last: int = LAST_KEY) -> None:
        """Delete the checkpoints from *first* to *last*, because entries there have changed."""
        self._rows.delete(first, last)

    def _last_gap(self, key: int) -> Gap | None:
        """Return the last gap that ends at the moment of *key*, up to there.

        A checkpoint has levels only. After it the same gap may come again, for its own moment
        only, so no other gap matters.
        """
        acts = self._journal.read_acts(first_key(moment_of(key)) - 1, key)
        gaps = [entry for _, entry in acts if isinstance(entry, Gap)]
        return gaps[-1] if gaps else None

    def _is_old(self, last: int) -> bool:
        try:
            saved = self._rows.last_key()
        except DamagedRowError:
            return True
        if saved is None:
            saved = self._journal.next_level_key()
        return saved is not None and moment_of(last) - moment_of(saved) >= CHECKPOINT_MS


class Levels:
    """All levels in force after the entries taken so far, in the order of time.

    Taking them also finds the contradictions that a ledger would refuse, so that a store never
    contains what cannot be read back.
    """

    def __init__(self, *, last_gap: Gap | None = None) -> None:
        """Know nothing but *last_gap*: the same gap again has no effect."""
        self.newest_ms: int | None = None
        self._held: dict[QueueName, dict[str, Amounts]] = {}  # every known queue
        self._guarantees: dict[QueueName, Limits] = {}
        self._capacity: Amounts | None = None
        self._last_gap = last_gap

    def take(self, entry: Entry) -> None:
        """Apply *entry*. Raises UsageError if it contradicts the entries before."""
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
        """Return the levels as entries of *at_ms*, by name, without queues that hold nothing.

        A guarantee of nothing is there: it says that usage is above it.
        """
        return [
            entry
            for entry in self.all_known(at_ms)
            if not isinstance(entry, Held) or any(entry.amounts)
        ]

    def all_known(self, at_ms: int) -> list[Entry]:
        """Return the levels as entries of *at_ms*, with every known queue."""
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
                "a queue of that name has entries"
            )
        self._held[entry.name] = self._held.pop(entry.queue)
        if entry.queue in self._guarantees:
            self._guarantees[entry.name] = self._guarantees.pop(entry.queue)

    def _skip(self, gap: Gap) -> None:
        if gap.since_ms > gap.at_ms:
            raise UsageError(f"a gap begins at {gap.since_ms} ms, after its end at {gap.at_ms} ms")
        if self.newest_ms is not None and self.newest_ms > gap.since_ms:
            raise UsageError(
                f"a gap begins at {gap.since_ms} ms, but there is an entry of {self.newest_ms} ms"
            )
        self._last_gap = gap
