"""All levels at some moments, saved, so that reading from the middle need not begin at the start.

They are worked out from the journal and may be lost at any time; only time is lost with them.
"""

import sqlite3

from fairlead.store.file.journal import LAST_KEY, Journal
from fairlead.store.file.journal_key import moment_of
from fairlead.store.file.levels import Levels
from fairlead.usage.settings import DAY_MS

CHECKPOINT_MS = DAY_MS  # in a day of 1,000 queues there are half a second's entries to read


class Checkpoints:
    """Finds what held at any place of a journal, and saves it now and then."""

    def __init__(self, connection: sqlite3.Connection, journal: Journal) -> None:
        """Save nothing yet."""
        self._connection = connection
        self._journal = journal

    def levels_until(self, last: int) -> Levels:
        """What holds after the entries at the key *last* and before. Cost: a day's entries."""
        levels = Levels()
        saved = self._connection.execute(
            "SELECT key, levels FROM checkpoints"
            " WHERE key = (SELECT max(key) FROM checkpoints WHERE key <= ?) ORDER BY part",
            (last,),
        ).fetchall()
        self._journal.learn_names()
        for key, row in saved:
            for entry in self._journal.unpacked_levels(key, row):
                levels.take(entry)
        for _, entry in self._journal.read(saved[0][0] if saved else None, last):
            levels.take(entry)
        return levels

    def save_if_due(self) -> None:
        """Save one of the newest moment, unless the last is younger than a day.

        All entries since then are read, so this is not for a moment when somebody waits.
        """
        last = self._journal.last_key()
        if last is None or not self._is_old(last):
            return
        entries = self.levels_until(LAST_KEY).all_known(moment_of(last))
        rows = self._journal.packed_levels(last, entries)
        self._connection.executemany(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)",
            [(last, part, row) for part, row in enumerate(rows)],
        )

    def drop(self, first: int, last: int = LAST_KEY) -> None:
        """Forget those from the key *first* to *last*: what they say is not so any more."""
        self._connection.execute(
            "DELETE FROM checkpoints WHERE key >= ? AND key <= ?", (first, last)
        )

    def _is_old(self, last: int) -> bool:
        [saved] = self._connection.execute("SELECT max(key) FROM checkpoints").fetchone()
        if saved is None:
            [saved] = self._connection.execute("SELECT min(key) FROM changes").fetchone()
        return saved is not None and moment_of(last) - moment_of(saved) >= CHECKPOINT_MS
