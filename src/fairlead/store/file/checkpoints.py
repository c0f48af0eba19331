"""The levels in force at any moment, saved daily, so that reading can begin in the middle.

Checkpoints are computed from the journal. If they are lost or damaged, only time is lost.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from fairlead.store.file.checked_rows import LAST_KEY, CheckedRows, DamagedRowError
from fairlead.store.file.journal import Journal, NumberedEntry, first_key, moment_of
from fairlead.usage.entries import Gap, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import DAY_MS
from fairlead.usage.window import Sliding

_SOME_WINDOW: Final = Sliding(1)
CHECKPOINT_MS = DAY_MS  # a day of 1,000 queues takes half a second to read


class Checkpoints:
    """Finds the levels in force at any key of a journal."""

    def __init__(self, connection: sqlite3.Connection, journal: Journal) -> None:
        """Save nothing yet."""
        self._rows = CheckedRows(connection, "checkpoints")
        self._journal = journal

    def ledger_until(self, last: int) -> Ledger:
        """Return a ledger of the levels in force after the key *last*; its sums mean nothing.

        It finds contradictions, too, so that a store never contains what cannot be read back.
        Cost: O(entries of a day).
        """
        self._journal.load_names()
        ledger = Ledger(self._journal.resources, _SOME_WINDOW)
        try:
            saved = self._rows.last(last)
        except DamagedRowError:
            saved = None  # the journal has it all
        key = None
        if saved is not None:
            key, body = saved
            for entry in [*self._gaps_at(key), *self._journal.unpacked_levels(key, body)]:
                ledger.take(entry)
        for _, entry in self._journal.read(key, last):
            ledger.take(entry)
        return ledger

    def read_from(self, since_ms: int, until: int = LAST_KEY) -> Iterator[NumberedEntry]:
        """Yield the levels in force at *since_ms* as entries, then all entries from then on."""
        before = first_key(since_ms) - 1
        for level in self.ledger_until(before).levels(since_ms):
            # A guarantee of nothing is recorded: it says that usage is above it.
            if not isinstance(level, Held) or any(level.amounts):
                yield before, level
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
        levels = self.ledger_until(LAST_KEY).levels(moment_of(last))
        self._rows.replace(last, self._journal.packed_levels(levels))

    def drop(self, first: int, last: int = LAST_KEY) -> None:
        """Delete the checkpoints from *first* to *last*, because entries there have changed."""
        self._rows.delete(first, last)

    def _gaps_at(self, key: int) -> list[Gap]:
        """Return the gaps that end at the moment of *key*, up to there.

        A checkpoint has levels only. After it the same gap may come again, for its own moment
        only, so no other gap matters.
        """
        acts = self._journal.read_acts(first_key(moment_of(key)) - 1, key)
        return [entry for _, entry in acts if isinstance(entry, Gap)][-1:]

    def _is_old(self, last: int) -> bool:
        try:
            saved = self._rows.last_key()
        except DamagedRowError:
            return True
        if saved is None:
            saved = self._journal.next_level_key()
        return saved is not None and moment_of(last) - moment_of(saved) >= CHECKPOINT_MS
