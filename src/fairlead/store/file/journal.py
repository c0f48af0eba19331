"""The entries of a store, in the order of time; at one moment, in the order written.

The caller begins and ends transactions, for reading, too: levels and acts have separate tables, and
only a transaction reads both as of one moment.

A key is the time in milliseconds and a counter within it. SQLite writes small numbers in few bytes:
counted from 2026, keys take seven bytes until 2030, and eight for long after.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby
from typing import Final, TypeAlias, cast

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.store.file.checked_rows import FIRST_KEY, LAST_KEY, CheckedRows, DamagedRowError
from fairlead.store.file.level_codec import (
    CAPACITY,
    GUARANTEE,
    HELD,
    MOST_IN_ROW,
    Level,
    packed,
    unpacked,
)
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held, Renamed

_EPOCH_MS: Final = 1_767_225_600_000  # the beginning of 2026
_COUNTER_BITS: Final = 12

NumberedEntry: TypeAlias = tuple[int, Entry]  # with its key
Holder: TypeAlias = tuple[QueueName, str]  # a queue, and a user in it or ""

_LEVEL_TYPES: Final = frozenset({Held, Guarantee, Capacity})
_decode_act: Final[Callable[[bytes], Entry]] = msgspec.json.Decoder(Entry).decode
_decode_holder: Final = msgspec.json.Decoder(tuple[QueueName, str]).decode


def first_key(at_ms: int) -> int:
    """Return the smallest key of a moment; all keys of earlier moments are smaller."""
    return (at_ms - _EPOCH_MS) << _COUNTER_BITS


def moment_of(key: int) -> int:
    """Return the moment of a key, in milliseconds."""
    return (key >> _COUNTER_BITS) + _EPOCH_MS


class Journal:
    """Reads and writes entries on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Load the names of holders and resources."""
        self._connection = connection
        self._names = _Names(connection)
        self._level_rows = CheckedRows(connection, "levels")
        self._act_rows = CheckedRows(connection, "acts")
        self.load_names()

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources, in the order of amounts."""
        return self._names.resources

    def reload_names(self) -> None:
        """Load all names again, because a transaction that added some has failed."""
        self._names = _Names(self._connection)
        self.load_names()

    def load_names(self) -> None:
        """Load names that were added, by this or another program. Cost: O(names added)."""
        self._names.load()

    def add_resources(self, names: Iterable[str]) -> None:
        """Count these resources from now on; their amounts until now were 0."""
        self._names.add_resources(names)

    def first_key(self) -> int | None:
        """Return the key of the oldest row; None if there is none."""
        first = (self._level_rows.next_key(), self._act_rows.next_key())
        return min([key for key in first if key is not None], default=None)

    def last_key(self, until: int = LAST_KEY) -> int | None:
        """Return the key of the newest row up to *until*; None if there is none."""
        last = (self._level_rows.last_key(until), self._act_rows.last_key(until))
        return max([key for key in last if key is not None], default=None)

    def last_level_key(self, until: int = LAST_KEY) -> int | None:
        """Return the key of the newest row of levels up to *until*; None if there is none."""
        return self._level_rows.last_key(until)

    def next_level_key(self, after: int = FIRST_KEY - 1) -> int | None:
        """Return the key of the oldest row of levels after *after*; None if there is none."""
        return self._level_rows.next_key(after)

    def queue_names(self) -> set[QueueName]:
        """Return the name of every queue in any entry, former names included."""
        self.load_names()
        names = {queue for queue, _ in self._names.holders}
        for _, act in self.read_acts():
            match act:
                case Granted():
                    names.add(act.queue)
                case Renamed():
                    names.add(act.name)
        return names

    def moments_after(self, at_ms: int) -> list[int]:
        """Return the moments after *at_ms* that have entries, in order."""
        before = first_key(at_ms + 1) - 1
        rows = chain(self._level_rows.read(before), self._act_rows.read(before))
        return sorted({moment_of(key) for key, _ in rows})

    def delete(self, first: int, last: int) -> None:
        """Delete all entries with keys from *first* to *last*."""
        self._level_rows.delete(first, last)
        self._act_rows.delete(first, last)

    def write(self, entries: Sequence[Entry], last_key: int | None) -> list[int]:
        """Write *entries*, where *last_key* is the newest key so far; return their keys."""
        keys = _NextKeys(self, last_key)
        levels = []
        acts = []
        for (at_ms, is_level), group in groupby(entries, key=_moment_and_kind):
            run = list(group)
            for begin in range(0, len(run), MOST_IN_ROW if is_level else 1):
                key = keys.next(at_ms)
                if is_level:
                    levels.append((key, self.packed_levels(run[begin : begin + MOST_IN_ROW])))
                else:
                    acts.append((key, msgspec.json.encode(run[begin])))
        self._level_rows.write(levels)
        self._act_rows.write(acts)
        return [key for key, _ in (*levels, *acts)]

    def read(self, after: int | None, until: int = LAST_KEY) -> Iterator[NumberedEntry]:
        """Return entries with a key above *after* (None: all) and up to *until*, with their keys.

        Raises DamagedRowError.
        """
        self.load_names()
        return merge(self._read_levels(after, until), self._read_acts(after, until), key=_key_of)

    def packed_levels(self, entries: Sequence[Entry]) -> bytes:
        """Return the body of a row with the levels *entries* of one moment."""
        return packed(len(self.resources), self._levels(entries))

    def unpacked_levels(self, key: int, body: bytes) -> list[Entry]:
        """Return the entries of one row of levels."""
        at_ms = moment_of(key)
        return [
            self._entry(at_ms, kind, holder, self._padded(amounts))
            for kind, holder, amounts in unpacked(body)
        ]

    def read_acts(self, after: int | None = None, until: int = LAST_KEY) -> list[NumberedEntry]:
        """Return the entries that are not levels."""
        return list(self._read_acts(after, until))

    def _read_levels(self, after: int | None, until: int) -> Iterator[NumberedEntry]:
        for key, body in self._level_rows.read(FIRST_KEY - 1 if after is None else after, until):
            for entry in self.unpacked_levels(key, body):
                yield key, entry

    def _read_acts(self, after: int | None, until: int) -> Iterator[NumberedEntry]:
        for key, body in self._act_rows.read(FIRST_KEY - 1 if after is None else after, until):
            entry = _decode_act(body)
            if isinstance(entry, Granted):
                times = entry.resource_time
                entry = msgspec.structs.replace(entry, resource_time=self._padded(times))
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
        queue, user = self._names.holder(holder)
        if kind == GUARANTEE:
            return Guarantee(at_ms=at_ms, queue=queue, amounts=amounts)
        return Held(at_ms=at_ms, queue=queue, user=user, amounts=cast(Amounts, amounts))

    def _padded(self, amounts: Limits) -> Limits:
        missing = len(self.resources) - len(amounts)
        if missing < 0:
            raise DamagedRowError("the name of a resource of which there are amounts is missing")
        return amounts + (0,) * missing if missing else amounts


class _NextKeys:
    """Hands out keys, each after those in use for the same moment."""

    def __init__(self, journal: Journal, last_key: int | None) -> None:
        self._journal = journal
        self._last_key = last_key
        self._next: dict[int, int] = {}

    def next(self, at_ms: int) -> int:
        key = self._next.get(at_ms)
        if key is None:
            key = self._first_free(at_ms)
        if moment_of(key) != at_ms:
            raise UsageError(f"too many entries at {at_ms} ms: at most {1 << _COUNTER_BITS} rows")
        self._next[at_ms] = key + 1
        return key

    def _first_free(self, at_ms: int) -> int:
        first = first_key(at_ms)
        if self._last_key is None or self._last_key < first:
            return first
        last = self._journal.last_key(first_key(at_ms + 1) - 1)
        return first if last is None or last < first else last + 1


class _Names:
    """The names of holders and resources; entries refer to them by number."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.resources: tuple[str, ...] = ()
        self.holders: list[Holder] = []  # the first has number 1
        self._numbers: dict[Holder, int] = {}
        self._resource_rows = CheckedRows(connection, "resources")
        self._holder_rows = CheckedRows(connection, "holders")

    def load(self) -> None:
        added = self._resource_rows.read(len(self.resources) - 1)
        for number, body in added:
            if number != len(self.resources):
                raise DamagedRowError(f"the name of resource {len(self.resources)} is missing")
            self.resources += (body.decode(),)
        for number, body in self._holder_rows.read(len(self.holders)):
            if number != len(self.holders) + 1:
                raise DamagedRowError(f"the name of holder {len(self.holders) + 1} is missing")
            self._add(_decode_holder(body))

    def add_resources(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.resources:
                self._resource_rows.write([(len(self.resources), name.encode())])
                self.resources += (name,)

    def number(self, holder: Holder) -> int:
        """Return the number of *holder*, a new one if it has none."""
        number = self._numbers.get(holder)
        if number is None:
            number = self._add(holder)
            self._holder_rows.write([(number, msgspec.json.encode(holder))])
        return number

    def holder(self, number: int) -> Holder:
        if not 0 < number <= len(self.holders):
            raise DamagedRowError(f"an entry is about holder {number}, whose name is missing")
        return self.holders[number - 1]

    def _add(self, holder: Holder) -> int:
        self.holders.append(holder)
        self._numbers[holder] = len(self.holders)
        return len(self.holders)


def _moment_and_kind(entry: Entry) -> tuple[int, bool]:
    """Levels of one moment share a row; any other entry has its own."""
    return entry.at_ms, type(entry) in _LEVEL_TYPES


def _key_of(numbered: NumberedEntry) -> int:
    return numbered[0]
