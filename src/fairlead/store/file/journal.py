"""Entries in the tables of a store, in the order of time; of one moment, in the order written.

Nothing here begins or ends a transaction: who calls does that, for reading, too. Levels and acts
are in tables of their own, and only within a transaction are both read as of one moment.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias, cast
from zlib import crc32

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.store.file.entry_rows import (
    CAPACITY,
    GUARANTEE,
    HELD,
    MOST_IN_ROW,
    DamagedRowError,
    Level,
    packed,
    unpacked,
)
from fairlead.store.file.journal_key import first_key, moment_of
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held, Renamed

PAGE_ROWS: Final = 1024  # so many are read at once; no cursor outlives who stops reading
LEVELS: Final = frozenset({Held, Guarantee, Capacity})
MOST_REMEMBERED: Final = 10_000  # entries, so that a follower need not read them back
LAST_KEY: Final = 2**63 - 1

Numbered: TypeAlias = tuple[int, Entry]  # with its key
_decode_act: Final[Callable[[str], Entry]] = msgspec.json.Decoder(Entry).decode


class Journal:
    """Reads and writes entries on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Learn the names that are known so far."""
        self._connection = connection
        self.resources: tuple[str, ...] = ()
        self._numbers: dict[tuple[QueueName, str], int] = {}
        self._holders: dict[int, tuple[QueueName, str]] = {}
        self._just_written: _JustWritten | None = None
        self.learn_names()

    def learn_names_anew(self) -> None:
        """Forget names that were added and then were not, because a transaction failed."""
        self._numbers.clear()
        self._holders.clear()
        self._just_written = None
        self.learn_names()

    def learn_names(self) -> None:
        """Take in names that were added, by this or by another program. Cost: those added."""
        rows = self._connection.execute("SELECT name FROM resources ORDER BY place").fetchall()
        self.resources = tuple(name for (name,) in rows)
        added = self._connection.execute(
            "SELECT id, queue, user FROM holders WHERE id > ?", (max(self._holders, default=0),)
        )
        for number, queue, user in added.fetchall():
            self._numbers[queue, user] = number
            self._holders[number] = queue, user

    def add_resources(self, names: Iterable[str]) -> None:
        """Count these, too, from now on; until now there was 0 of them."""
        for name in names:
            if name not in self.resources:
                place = len(self.resources)
                self._connection.execute("INSERT INTO resources VALUES (?, ?)", (place, name))
                self.resources += (name,)

    def last_key(self) -> int | None:
        """The key of the newest row; None if there is none."""
        [last] = self._connection.execute(
            "SELECT max(key) FROM (SELECT max(key) AS key FROM changes"
            " UNION ALL SELECT max(key) FROM acts)"
        ).fetchone()
        assert last is None or isinstance(last, int)
        return last

    def level_keys_around(self, key: int) -> tuple[int | None, int | None]:
        """The keys of the last row of levels up to *key*, and of the next; None: there is none."""
        last, following = self._connection.execute(
            "SELECT (SELECT max(key) FROM changes WHERE key <= ?1),"
            " (SELECT min(key) FROM changes WHERE key > ?1)",
            (key,),
        ).fetchone()
        return last, following

    def queue_names(self) -> set[QueueName]:
        """The name of every queue that any entry gave something or gave a name."""
        self.learn_names()
        names = {queue for queue, _ in self._holders.values()}
        for _, act in self.read_acts():
            match act:
                case Granted():
                    names.add(act.queue)
                case Renamed():
                    names.add(act.name)
        return names

    def first_key(self) -> int | None:
        """The key of the oldest row; None if there is none."""
        [first] = self._connection.execute(
            "SELECT min(key) FROM (SELECT min(key) AS key FROM changes"
            " UNION ALL SELECT min(key) FROM acts)"
        ).fetchone()
        assert first is None or isinstance(first, int)
        return first

    def moments_after(self, at_ms: int) -> list[int]:
        """The moments after *at_ms* of which there are entries, in order."""
        rows = self._connection.execute(
            "SELECT key FROM changes WHERE key >= ?1 UNION SELECT key FROM acts WHERE key >= ?1",
            (first_key(at_ms + 1),),
        ).fetchall()
        return sorted({moment_of(key) for (key,) in rows})

    def delete(self, first: int, last: int) -> None:
        """Take out everything from the key *first* to *last*."""
        self._just_written = None
        for table in ("changes", "acts"):
            self._connection.execute(
                f"DELETE FROM {table} WHERE key >= ? AND key <= ?", (first, last)
            )

    def write(self, entries: Sequence[Entry], last_key: int | None) -> list[int]:
        """Write *entries*, where *last_key* is the newest so far; return the keys they got."""
        keys = _NextKeys(self._connection, last_key)
        changes = []
        acts = []
        for (at_ms, is_level), group in groupby(entries, key=_row_of):
            run = list(group)
            for begin in range(0, len(run), MOST_IN_ROW if is_level else 1):
                key = keys.next(at_ms)
                if is_level:
                    levels = self._levels(run[begin : begin + MOST_IN_ROW])
                    changes.append((key, packed(key, len(levels[0].amounts), levels)))
                else:
                    text = msgspec.json.encode(run[begin]).decode()
                    acts.append((key, text, _checksum(key, text)))
        self._connection.executemany("INSERT INTO changes VALUES (?, ?)", changes)
        self._connection.executemany("INSERT INTO acts VALUES (?, ?, ?)", acts)
        written = [row[0] for row in changes] + [row[0] for row in acts]
        self._just_written = None
        if changes and not acts and self._reads_as_written(entries, last_key):
            self._just_written = _JustWritten(
                last_key, written[-1], tuple(entries), self.resources, self._others_version()
            )
        return written

    def read(self, after: int | None, until: int = LAST_KEY) -> Iterator[Numbered]:
        """Entries with a key above *after* (None: all) and up to *until*, each with its key.

        Raises DamagedRowError, and whatever SQLite raises.
        """
        self.learn_names()
        just_written = self._just_written
        if (
            just_written is not None
            and just_written.is_all(after, until, self.resources)
            and just_written.others_version == self._others_version()
        ):
            return ((just_written.last, entry) for entry in just_written.entries)
        return merge(self._read_changes(after, until), self._read_acts(after, until), key=_key_of)

    def packed_levels(self, key: int, entries: Sequence[Entry]) -> list[bytes]:
        """Rows, all for *key*, of entries that are levels."""
        padded = self._levels(entries)
        return [
            packed(key, len(self.resources), padded[begin : begin + MOST_IN_ROW])
            for begin in range(0, len(padded), MOST_IN_ROW)
        ]

    def unpacked_levels(self, key: int, row: bytes) -> Iterator[Entry]:
        """The entries of one row, as of the moment of its key."""
        at_ms = moment_of(key)
        for kind, holder, amounts in unpacked(key, row):
            yield self._entry(at_ms, kind, holder, self._padded(amounts))

    def read_acts(self, after: int | None = None, until: int = LAST_KEY) -> list[Numbered]:
        """The rare entries alone."""
        return list(self._read_acts(after, until))

    def _reads_as_written(self, entries: Sequence[Entry], last_key: int | None) -> bool:
        """Whether reading would give just these levels, in this order: one moment, all amounts."""
        at_ms, count = entries[0].at_ms, len(self.resources)
        return (
            len(entries) <= MOST_REMEMBERED
            and (last_key is None or at_ms > moment_of(last_key))
            and all(
                entry.at_ms == at_ms
                and isinstance(entry, (Held, Guarantee, Capacity))
                and len(entry.amounts) == count
                for entry in entries
            )
        )

    def _others_version(self) -> int:
        """A number that changes when another connection writes."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _read_changes(self, after: int | None, until: int) -> Iterator[Numbered]:
        last = -LAST_KEY if after is None else after
        while True:
            rows = self._connection.execute(
                "SELECT key, levels FROM changes WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
                (last, until, PAGE_ROWS),
            ).fetchall()
            for key, row in rows:
                for entry in self.unpacked_levels(key, row):
                    yield key, entry
            if len(rows) < PAGE_ROWS:
                return
            last = rows[-1][0]

    def _read_acts(self, after: int | None, until: int) -> Iterator[Numbered]:
        rows = self._connection.execute(
            "SELECT key, entry, checksum FROM acts WHERE key > ? AND key <= ? ORDER BY key",
            (-LAST_KEY if after is None else after, until),
        ).fetchall()
        for key, text, checksum in rows:
            if checksum != _checksum(key, text):
                raise DamagedRowError(f"the act at {key} is not as it was written")
            entry = _decode_act(text)
            if isinstance(entry, Granted):
                times = entry.resource_time
                more = (0,) * (len(self.resources) - len(times))
                entry = msgspec.structs.replace(entry, resource_time=times + more)
            yield key, entry

    def _levels(self, entries: Sequence[Entry]) -> list[Level]:
        levels = []
        for entry in entries:
            match entry:
                case Held():
                    holder = self._number(entry.queue, entry.user)
                    levels.append(Level(HELD, holder, self._padded(entry.amounts)))
                case Guarantee():
                    holder = self._number(entry.queue, "")
                    levels.append(Level(GUARANTEE, holder, self._padded(entry.amounts)))
                case Capacity():
                    levels.append(Level(CAPACITY, 0, self._padded(entry.amounts)))
        return levels

    def _entry(self, at_ms: int, kind: int, holder: int, amounts: Limits) -> Entry:
        if kind == CAPACITY:
            return Capacity(at_ms=at_ms, amounts=cast(Amounts, amounts))
        known = self._holders.get(holder)
        if known is None:
            raise DamagedRowError(f"an entry is about a holder {holder} whose name is not there")
        queue, user = known
        if kind == GUARANTEE:
            return Guarantee(at_ms=at_ms, queue=queue, amounts=amounts)
        return Held(at_ms=at_ms, queue=queue, user=user, amounts=cast(Amounts, amounts))

    def _padded(self, amounts: Limits) -> Limits:
        missing = len(self.resources) - len(amounts)
        return amounts + (0,) * missing if missing else amounts

    def _number(self, queue: QueueName, user: str) -> int:
        number = self._numbers.get((queue, user))
        if number is None:
            added = self._connection.execute(
                "INSERT INTO holders (queue, user) VALUES (?, ?) RETURNING id", (queue, user)
            ).fetchone()
            number = self._numbers[queue, user] = int(added[0])
            self._holders[number] = queue, user
        return number


class _JustWritten(NamedTuple):
    """The last levels that were written: who follows a journal wants them next, and no others."""

    after: int | None
    last: int
    entries: tuple[Entry, ...]
    resources: tuple[str, ...]
    others_version: int

    def is_all(self, after: int | None, until: int, resources: tuple[str, ...]) -> bool:
        return (self.after, self.resources) == (after, resources) and self.last <= until


class _NextKeys:
    """Hands out keys: after all that were given out for the same moment."""

    def __init__(self, connection: sqlite3.Connection, last_key: int | None) -> None:
        self._connection = connection
        self._last_key = last_key
        self._next: dict[int, int] = {}

    def next(self, at_ms: int) -> int:
        key = self._next.get(at_ms)
        if key is None:
            key = self._first_free(at_ms)
        if moment_of(key) != at_ms:
            raise UsageError(f"there are more entries of {at_ms} ms than one moment has room for")
        self._next[at_ms] = key + 1
        return key

    def _first_free(self, at_ms: int) -> int:
        first, end = first_key(at_ms), first_key(at_ms + 1)
        if self._last_key is None or self._last_key < first:
            return first
        [last] = self._connection.execute(
            "SELECT max(key) FROM (SELECT max(key) AS key FROM changes WHERE key >= ?1 AND key < ?2"
            " UNION ALL SELECT max(key) FROM acts WHERE key >= ?1 AND key < ?2)",
            (first, end),
        ).fetchone()
        return first if last is None else int(last) + 1


def _row_of(entry: Entry) -> tuple[int, bool]:
    """Levels of one moment share a row; anything else has one of its own."""
    return entry.at_ms, type(entry) in LEVELS


def _key_of(numbered: Numbered) -> int:
    return numbered[0]


def _checksum(key: int, text: str) -> int:
    return crc32(text.encode(), key & 0xFFFFFFFF)
