"""All levels at some moments, saved, so that reading from the middle need not begin at the start.

They are worked out from the journal and may be lost at any time; only time is lost with them.
"""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from fairlead.store.file.journal import LAST_KEY, Journal, Numbered
from fairlead.store.file.journal_key import first_key, moment_of
from fairlead.store.file.levels import Levels
from fairlead.store.file.row_seal import DamagedRowError, seal_of
from fairlead.store.file.shown import Shown
from fairlead.usage.entries import Gap
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
        self._journal.learn_names()
        key, row = self._saved_until(last)
        levels = Levels(last_gap=None if key is None else self._last_gap(key))
        if key is not None:
            for entry in self._journal.unpacked_levels(key, row):
                levels.take(entry)
        for _, entry in self._journal.read(key, last):
            levels.take(entry)
        return levels

    def read_from(self, since_ms: int, until: int = LAST_KEY) -> Iterator[Numbered]:
        """Entries from *since_ms* on with their keys, after what held then."""
        before = first_key(since_ms) - 1
        for entry in self.levels_until(before).in_force(since_ms):
            yield before, entry
        for key, entry in self._journal.read(before, until):
            # Nothing before is told, so what is not known of it need not be told either.
            if isinstance(entry, Gap) and entry.since_ms < since_ms:
                entry = Gap(at_ms=entry.at_ms, since_ms=since_ms)
            yield key, entry

    def save_if_due(self) -> None:
        """Save one of the newest moment, unless the last is younger than a day.

        All entries since then are read, so this is not for a moment when somebody waits.
        """
        last = self._journal.last_key()
        if last is None or not self._is_old(last):
            return
        self._save(last, self.levels_until(LAST_KEY))

    def save_each_day(self, shown: Shown) -> None:
        """Save one of every day of the journal, where there are none yet. Cost: O(entries).

        Raises UsageError for entries that contradict each other.
        """
        levels = Levels()
        saved: int | None = None  # or the first key, before which there is nothing to save
        entries = shown(self._journal.read(None), "entries read")
        for key, group in groupby(entries, key=itemgetter(0)):
            for _, entry in group:
                levels.take(entry)
            if saved is None:
                saved = key
            elif moment_of(key) - moment_of(saved) >= CHECKPOINT_MS:
                self._save(key, levels)
                saved = key

    def drop(self, first: int, last: int = LAST_KEY) -> None:
        """Forget those from the key *first* to *last*: what they say is not so any more."""
        self._connection.execute(
            "DELETE FROM checkpoints WHERE key >= ? AND key <= ?", (first, last)
        )

    def check(self) -> None:
        """Raise DamagedRowError unless all are as they were saved."""
        for key, row, checksum in self._connection.execute("SELECT * FROM checkpoints").fetchall():
            if checksum != seal_of(key, row):
                raise DamagedRowError(f"the levels that were saved at {key} are not those")

    def _save(self, key: int, levels: Levels) -> None:
        """Save what holds after the entries at *key* and before."""
        row = self._journal.packed_levels(levels.all_known(moment_of(key)))
        self._connection.execute(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", (key, row, seal_of(key, row))
        )

    def _saved_until(self, last: int) -> tuple[int | None, bytes]:
        """The last that was saved up to the key *last*, and its key.

        One that is damaged is passed over: what it said is in the journal as well.
        """
        while True:
            saved = self._connection.execute(
                "SELECT key, levels, checksum FROM checkpoints WHERE key <= ?"
                " ORDER BY key DESC LIMIT 1",
                (last,),
            ).fetchone()
            # A damaged index may lead to one that is later.
            if saved is None or saved[0] > last:
                return None, b""
            key, row, checksum = saved
            if checksum == seal_of(key, row):
                return key, row
            last = key - 1

    def _last_gap(self, key: int) -> Gap | None:
        """The gap that was last told of the moment of *key*, up to there.

        A checkpoint has levels only. The same gap may be told again after it, and only of the
        moment in which it ends, so no other gap needs to be known.
        """
        acts = self._journal.read_acts(first_key(moment_of(key)) - 1, key)
        gaps = [entry for _, entry in acts if isinstance(entry, Gap)]
        return gaps[-1] if gaps else None

    def _is_old(self, last: int) -> bool:
        [saved] = self._connection.execute("SELECT max(key) FROM checkpoints").fetchone()
        if saved is None:
            saved = self._journal.first_level_key()
        return saved is not None and moment_of(last) - moment_of(saved) >= CHECKPOINT_MS
