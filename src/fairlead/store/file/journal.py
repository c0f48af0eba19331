"""Entries in the tables of a store, in the order of time; of one moment, in the order written.

Nothing here begins or ends a transaction: who calls does that, for reading, too. Levels and acts
are in tables of their own, and only within a transaction are both read as of one moment.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.store.file.entry_rows import (
    CAPACITY,
    GUARANTEE,
    HELD,
    MOST_IN_ROW,
    Level,
    packed,
    unpacked,
)
from fairlead.store.file.journal_key import first_key, moment_of
from fairlead.store.file.names import Names
from fairlead.store.file.row_seal import BEFORE_ALL, DamagedRowError
from fairlead.store.file.sealed_rows import ActForm, LevelForm, SealedRows
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held, Renamed

_Level: TypeAlias = Held | Guarantee | Capacity
LEVELS: Final = frozenset({Held, Guarantee, Capacity})
MOST_REMEMBERED: Final = 10_000  # entries, so that a follower need not read them back
LAST_KEY: Final = 2**63 - 1

Numbered: TypeAlias = tuple[int, Entry]  # with its key
_decode_act: Final[Callable[[bytes], Entry]] = msgspec.json.Decoder(Entry).decode


class Journal:
    """Reads and writes entries on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Learn the names that are known so far."""
        self._connection = connection
        self._names = Names(connection)
        self._changes = SealedRows(connection, LevelForm())
        self._acts = SealedRows(connection, ActForm())
        self._just_written: _JustWritten | None = None
        self.learn_names()

    @property
    def resources(self) -> tuple[str, ...]:
        """What is counted, in the order of amounts."""
        return self._names.resources

    def learn_names_anew(self) -> None:
        """Forget names that were added and then were not, because a transaction failed."""
        self._names.forget()
        self._just_written = None
        self.learn_names()

    def learn_names(self) -> None:
        """Take in names that were added, by this or by another program. Cost: those added."""
        self._names.learn()

    def add_resources(self, names: Iterable[str]) -> None:
        """Count these, too, from now on; until now there was 0 of them."""
        self._names.add_resources(names)

    def last_key(self) -> int | None:
        """The key of the newest row; None if there is none."""
        newest = (self._changes.newest_key(), self._acts.newest_key())
        return max([key for key in newest if key is not None], default=None)

    def level_keys_around(self, key: int) -> tuple[int | None, int | None]:
        """The keys of the last row of levels up to *key*, and of the next; None: there is none."""
        return self._changes.keys_around(key)

    def first_level_key(self) -> int | None:
        """The key of the oldest row of levels; None if there is none."""
        _, first = self._changes.keys_around(BEFORE_ALL)
        return first

    def queue_names(self) -> set[QueueName]:
        """The name of every queue that any entry gave something or gave a name."""
        self.learn_names()
        names = {queue for queue, _ in self._names.holders.values()}
        for _, act in self.read_acts():
            match act:
                case Granted():
                    names.add(act.queue)
                case Renamed():
                    names.add(act.name)
        return names

    def first_key(self) -> int | None:
        """The key of the oldest row; None if there is none."""
        _, first_act = self._acts.keys_around(BEFORE_ALL)
        first = (self.first_level_key(), first_act)
        return min([key for key in first if key is not None], default=None)

    def moments_after(self, at_ms: int) -> list[int]:
        """The moments after *at_ms* of which there are entries, in order."""
        before = first_key(at_ms + 1) - 1
        rows = chain(self._changes.read(before, LAST_KEY), self._acts.read(before, LAST_KEY))
        return sorted({moment_of(key) for key, _ in rows})

    def delete(self, first: int, last: int) -> None:
        """Take out everything from the key *first* to *last*."""
        self._just_written = None
        self._changes.delete(first, last)
        self._acts.delete(first, last)

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
                    changes.append((key, packed(len(self.resources), levels)))
                else:
                    acts.append((key, msgspec.json.encode(run[begin])))
        self._names.seal()
        self._changes.write(changes)
        self._acts.write(acts)
        written = [row[0] for row in changes] + [row[0] for row in acts]
        self._just_written = None
        if changes and not acts and self._reads_as_written(entries, written, last_key):
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

    def packed_levels(self, entries: Sequence[Entry]) -> bytes:
        """All of some entries that are levels, of one moment."""
        levels = self._levels(entries)
        self._names.seal()
        return packed(len(self.resources), levels)

    def unpacked_levels(self, key: int, row: bytes) -> list[Entry]:
        """The entries of one row, as of the moment of its key."""
        at_ms = moment_of(key)
        return [
            self._entry(at_ms, kind, holder, self._padded(amounts))
            for kind, holder, amounts in unpacked(row)
        ]

    def read_acts(self, after: int | None = None, until: int = LAST_KEY) -> list[Numbered]:
        """The rare entries alone."""
        return list(self._read_acts(after, until))

    def _reads_as_written(
        self, levels: Sequence[Entry], keys: Sequence[int], last_key: int | None
    ) -> bool:
        """Whether reading would give just these, in this order: one moment, all amounts."""
        at_ms, count = levels[0].at_ms, len(self.resources)
        return (
            len(levels) <= MOST_REMEMBERED
            and (last_key is None or at_ms > moment_of(last_key))
            and all(moment_of(key) == at_ms for key in keys)
            and all(len(level.amounts) == count for level in cast(Sequence[_Level], levels))
        )

    def _others_version(self) -> int:
        """A number that changes when another connection writes."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _read_changes(self, after: int | None, until: int) -> Iterator[Numbered]:
        for key, row in self._changes.read(BEFORE_ALL if after is None else after, until):
            for entry in self.unpacked_levels(key, row):
                yield key, entry

    def _read_acts(self, after: int | None, until: int) -> Iterator[Numbered]:
        for key, row in self._acts.read(BEFORE_ALL if after is None else after, until):
            entry = _decode_act(row)
            if isinstance(entry, Granted):
                times = entry.resource_time
                more = (0,) * (len(self.resources) - len(times))
                entry = msgspec.structs.replace(entry, resource_time=times + more)
            yield key, entry

    def _levels(self, entries: Sequence[Entry]) -> list[Level]:
        levels: list[Level] = []
        for entry in entries:
            match entry:
                case Held():
                    holder = self._names.number((entry.queue, entry.user))
                    levels.append((HELD, holder, self._padded(entry.amounts)))
                case Guarantee():
                    holder = self._names.number((entry.queue, ""))
                    levels.append((GUARANTEE, holder, self._padded(entry.amounts)))
                case Capacity():
                    levels.append((CAPACITY, 0, self._padded(entry.amounts)))
        return levels

    def _entry(self, at_ms: int, kind: int, holder: int, amounts: Limits) -> Entry:
        if kind == CAPACITY:
            return Capacity(at_ms=at_ms, amounts=cast(Amounts, amounts))
        known = self._names.holders.get(holder)
        if known is None:
            raise DamagedRowError(f"an entry is about a holder {holder} whose name is not there")
        queue, user = known
        if kind == GUARANTEE:
            return Guarantee(at_ms=at_ms, queue=queue, amounts=amounts)
        return Held(at_ms=at_ms, queue=queue, user=user, amounts=cast(Amounts, amounts))

    def _padded(self, amounts: Limits) -> Limits:
        missing = len(self.resources) - len(amounts)
        return amounts + (0,) * missing if missing else amounts


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
            "SELECT max(key) FROM ("
            "SELECT max(key) AS key FROM sealed_levels WHERE key >= ?1 AND key < ?2 UNION ALL"
            " SELECT max(key) FROM sealed_acts WHERE key >= ?1 AND key < ?2)",
            (first, end),
        ).fetchone()
        return first if last is None else int(last) + 1


def _row_of(entry: Entry) -> tuple[int, bool]:
    """Levels of one moment share a row; anything else has one of its own."""
    return entry.at_ms, type(entry) in LEVELS


def _key_of(numbered: Numbered) -> int:
    return numbered[0]
