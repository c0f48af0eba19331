"""The usage store: a journal of entries in one SQLite file.

Entries are kept in the order of time, and at one moment in the order written. Several programs may
have the file open, and one writes at a time; a program that finds it locked gets an error soon
(`database.BUSY_TIMEOUT_S`). What was appended survives a crash.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, get_args
from weakref import finalize

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.store.file.checked_rows import FIRST_KEY, LAST_KEY, CheckedRows, TableName
from fairlead.store.file.checkpoints import Checkpoints
from fairlead.store.file.database import (
    ImmutableFile,
    check_structure,
    connect,
    damaged,
    immutable_file,
    problem,
    read_transaction,
    sqlite_errors,
)
from fairlead.store.file.file_notes import FileNotes, ImportNote
from fairlead.store.file.journal import Journal, first_key, moment_of
from fairlead.store.file.saved_ledger import (
    TakenLedger,
    drop_saved_ledger,
    save_ledger,
    saved_ledger,
)
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Renamed,
)
from fairlead.usage.ledger import Ledger, check_amounts, check_grant
from fairlead.usage.roll_up import RolledUp, pieces, rolled_up
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import begins_at

_MAY_CONTRADICT: Final = frozenset({Renamed, Gap})  # earlier entries, even in the right order


class UsageStore:
    """A journal of usage on disk. Failures of the file or the disk raise StoreError."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        writes: bool,
        immutable: ImmutableFile | None = None,
    ) -> None:
        """Use `open` instead."""
        self.path = path
        self._connection = connection
        self._close = finalize(self, connection.close)  # also if `close` is never called
        self._writes = writes
        self._immutable = immutable
        self._journal = Journal(connection)
        self._checkpoints = Checkpoints(connection, self._journal)
        self._notes = FileNotes(connection)
        self._taken: dict[str, TakenLedger] = {}  # by what they count, and how

    @classmethod
    def open(
        cls, path: Path, *, resources: Sequence[str] = (), writes: bool = True
    ) -> "UsageStore":
        """Open the store at *path*, create it if it is missing, and count *resources* from now on.

        Without *writes* nothing is changed or created: a missing file raises StoreError. In a
        folder where this user may not write, a closed store can be read; once another program
        writes it, reading raises StoreError until it is opened again. Cost: O(pages of the file),
        see `check_structure`.
        """
        immutable = None if writes else immutable_file(path)
        connection = connect(path, writes=writes, is_immutable=immutable is not None)
        try:
            with read_transaction(path, connection, immutable):
                check_structure(connection, path)
                store = cls(path, connection, writes=writes, immutable=immutable)
            if writes:
                store.ensure_resources(resources)
        except BaseException:
            connection.close()
            raise
        return store

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources, in the order of amounts; more may be added at the end."""
        return self._journal.resources

    @property
    def newest_ms(self) -> int | None:
        """The last known moment: of the newest entry, or when a scheduler last looked."""
        with self._read_transaction():
            last = self._journal.last_key()
            observed_ms = self._notes.facts.observed_ms
        if last is None or observed_ms is None:
            return observed_ms if last is None else moment_of(last)
        return max(observed_ms, moment_of(last))

    @property
    def newest_level_ms(self) -> int | None:
        """The moment of the newest level: held, guarantee or capacity. None: never.

        Grants and other acts do not count, because they observe no level. Cost: O(1).
        """
        with self._read_transaction():
            last = self._journal.last_level_key()
        return None if last is None else moment_of(last)

    def levels_around(self, at_ms: int) -> tuple[int | None, int | None]:
        """Return the moments of the last level up to *at_ms* and of the next; None: never."""
        key = first_key(at_ms + 1) - 1
        with self._read_transaction():
            around = (self._journal.last_level_key(key), self._journal.next_level_key(key))
        last_ms, next_ms = (None if key is None else moment_of(key) for key in around)
        return last_ms, next_ms

    @property
    def observed_ms(self) -> int | None:
        """When a scheduler last looked, whether or not anything had changed; None: never."""
        with self._read_transaction():
            return self._notes.facts.observed_ms

    def queue_names(self) -> set[QueueName]:
        """Return the names of all queues with entries, removed queues and former names included.

        Cost: O(queues, their users, and acts); no level is read.
        """
        with self._read_transaction():
            return self._journal.queue_names()

    def ensure_resources(self, names: Sequence[str]) -> None:
        """Count these resources, too; their amounts until now were 0."""
        if not set(names) <= set(self.resources):
            with self._transaction():
                self._journal.add_resources(names)

    def append(
        self,
        entries: Sequence[Entry],
        *,
        observed_ms: int | None = None,
        note: ImportNote | None = None,
    ) -> None:
        """Write *entries*, all or none; once this returns, no crash loses them.

        *observed_ms* is when a scheduler looked: up to then no other level has changed. A *note*
        says that they were imported.

        Entries may be older than those in the store. Raises UsageError, and changes nothing, for
        entries that contradict each other or the store, and StoreError if the file cannot be
        written. Cost: O(entries); older entries cost a walk through all newer ones.
        """
        if not entries and observed_ms is None:
            return
        with self._transaction():
            if observed_ms is not None:
                self._set_facts(observed_ms=observed_ms)
            if entries:
                self._append(entries)
            if note is not None:
                self._notes.add_import(note)

    def entries(self, since_ms: int | None = None) -> Iterator[Entry]:
        """Yield all entries in the order to take them, or those from *since_ms* on.

        The latter begin with the levels in force then, as entries of *since_ms*. All are as of
        the moment when the first is read, whatever is written until the last. Raises StoreError.
        """
        # On another connection, because this one may have to write before the last is read.
        immutable = immutable_file(self.path)
        connection = connect(self.path, writes=False, is_immutable=immutable is not None)
        with closing(connection), read_transaction(self.path, connection, immutable):
            journal = Journal(connection)
            if since_ms is None:
                numbered = journal.read(None)
            else:
                numbered = Checkpoints(connection, journal).read_from(since_ms)
            for _, entry in numbered:
                yield entry

    def moments_after(self, at_ms: int) -> list[int]:
        """Return the moments after *at_ms* that have entries, in order."""
        with self._read_transaction():
            return self._journal.moments_after(at_ms)

    def ledger(self, rules: UsageRules, now_ms: int) -> Ledger:
        """Return a ledger with all entries that the window of *rules* up to *now_ms* needs.

        Entries later than *now_ms* are left out. The ledger belongs to the store, which takes
        further entries into the same one at the next call; callers only read it. Cost: O(entries
        since the last call, or since the snapshot of the same rules; else, entries of the window).
        """
        with self._read_transaction():
            self._journal.load_names()
            until = first_key(now_ms + 1) - 1
            begin_ms = _first_needed_ms(rules, now_ms)
            taken = self._known_ledger(rules, begin_ms, until)
            if taken is None:
                taken = self._new_ledger(rules, begin_ms)
                coming = self._checkpoints.read_from(begin_ms, until)
            else:
                coming = self._journal.read(taken.position, until)
            take = taken.ledger.take
            for key, entry in coming:
                take(entry)
                taken.position = key
            # The levels at the begin have a key before it; the next row may be one of those.
            taken.position = min(taken.position, self._journal.last_key() or taken.position)
            self._taken[taken.ledger.counts_by] = taken
            return taken.ledger

    def save_snapshot(self, ledger: Ledger, rules: UsageRules) -> None:
        """Save the *ledger* that this store returned for *rules*, so that the next start is fast.

        A file has one snapshot; it replaces the one before. Removed queues without usage in the
        window are dropped. Raises UsageError for any other ledger, whose entries are not known.
        """
        taken = self._taken.get(Ledger.by(self.resources, rules).counts_by)
        if taken is None or taken.ledger is not ledger:
            raise UsageError("only the last ledger that a store returned can be saved in it")
        if ledger.newest_ms is not None:
            # No earlier moment is asked for any more; at a later one they have faded, too.
            ledger.drop_faded(ledger.newest_ms)
        with self._transaction():
            if taken.rewritten == self._notes.facts.rewritten:
                save_ledger(self._connection, taken)
            self._checkpoints.save_if_due()

    def roll_up(self, now_ms: int, keep_raw_ms: int) -> RolledUp:
        """Replace entries older than *keep_raw_ms* by daily averages, and shrink the file.

        `fairlead.usage.roll_up` says how exact the sums are then. A crash leaves some weeks rolled
        up and the others not. Cost: O(entries not rolled up yet), so call it daily.
        """
        before = after = 0
        while True:
            with self._transaction():
                begin_ms = self._rolled_up_until_ms(now_ms)
                # Each time again: another program may have written a gap meanwhile.
                piece = next(pieces(begin_ms, now_ms - keep_raw_ms, self._gaps()), None)
                if piece is None:
                    break
                counts = self._roll_up_piece(*piece)
            before, after = before + counts[0], after + counts[1]
        if before:
            with self._transaction():
                self._checkpoints.save_if_due()
            with sqlite_errors(self.path):
                # `execute` would take one step, which frees one page.
                self._connection.executescript("PRAGMA incremental_vacuum")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return RolledUp(until_ms=begin_ms, entries_before=before, entries_after=after)

    def audit(self) -> list[Granted | Forgiven]:
        """Return the grants and resets by administrators, the newest last."""
        with self._read_transaction():
            self._journal.load_names()
            acts = [entry for _, entry in self._journal.read_acts()]
        return [entry for entry in acts if isinstance(entry, Granted | Forgiven)]

    def imports(self) -> list[ImportNote]:
        """Return the notes of all imports, the newest last."""
        with self._read_transaction():
            return self._notes.imports()

    def check(self) -> None:
        """Read the whole file. Raises StoreError for any damage or contradiction."""
        with self._read_transaction():
            check_structure(self._connection, self.path)
            for table in get_args(TableName):
                for _ in CheckedRows(self._connection, table).read():
                    pass
            try:
                self._walk(None)
            except UsageError as contradiction:
                raise damaged(self.path, contradiction) from contradiction

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __enter__(self) -> "UsageStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read_transaction(self) -> AbstractContextManager[None]:
        """Read everything inside as of one moment, whatever others write meanwhile."""
        return read_transaction(self.path, self._connection, self._immutable)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do everything inside, or nothing."""
        if not self._writes:
            raise problem(self.path, "it was opened for reading only", "open it for writing")
        with sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._journal.load_names()
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                with self._read_transaction():
                    self._journal.reload_names()
                raise

    def _roll_up_piece(self, begin_ms: int, until_ms: int) -> tuple[int, int]:
        """Roll up between two moments; return the number of entries before and after."""
        # Entries of the last moment are written again, to come after the levels before it.
        first, last = first_key(begin_ms), first_key(until_ms + 1) - 1
        before = [entry for _, entry in self._checkpoints.read_from(begin_ms, last)]
        after = rolled_up(before, until_ms)
        self._journal.delete(first, last)
        self._journal.write(after, self._journal.last_key())
        self._checkpoints.drop(first, last)
        drop_saved_ledger(self._connection, FIRST_KEY, last - 1)
        self._past_changed(rolled_up_until_ms=until_ms)
        return len(before), len(after)

    def _rolled_up_until_ms(self, now_ms: int) -> int:
        """Return until when the past is rolled up; if it is not, when it begins."""
        until_ms = self._notes.facts.rolled_up_until_ms
        if until_ms is not None:
            return until_ms
        first = self._journal.first_key()
        return now_ms if first is None else moment_of(first)

    def _gaps(self) -> list[Gap]:
        return [entry for _, entry in self._journal.read_acts() if isinstance(entry, Gap)]

    def _known_ledger(self, rules: UsageRules, begin_ms: int, until: int) -> TakenLedger | None:
        """Return a ledger with all entries between *begin_ms* and its position; else None.

        Its position is not after *until*.
        """
        counts_by = Ledger.by(self.resources, rules).counts_by
        taken = self._taken.pop(counts_by, None)  # kept again only when all went well
        rewritten = self._notes.facts.rewritten
        if taken is None or taken.rewritten != rewritten:
            taken = saved_ledger(self._connection, rules, self.resources, rewritten)
        if taken is None or taken.begin_ms > begin_ms or taken.position > until:
            return None
        late = self._journal.read(taken.position, first_key(taken.begin_ms) - 1)
        return taken if next(late, None) is None else None

    def _new_ledger(self, rules: UsageRules, begin_ms: int) -> TakenLedger:
        ledger = Ledger.by(self.resources, rules)
        position = first_key(begin_ms) - 1
        return TakenLedger(ledger, begin_ms, position, self._notes.facts.rewritten)

    def _append(self, entries: Sequence[Entry]) -> None:
        for entry in entries:  # missing amounts are 0
            if isinstance(entry, Held | Capacity | Guarantee):
                check_amounts(entry.amounts, self.resources, may_lack=True)
            elif isinstance(entry, Granted):
                check_grant(entry, self.resources, may_lack=True)
        last_key = self._journal.last_key()
        first = min(self._journal.write(entries, last_key))
        is_older = last_key is not None and first < last_key
        if is_older:
            self._drop_computed(first)
        if is_older or not _MAY_CONTRADICT.isdisjoint(map(type, entries)):
            self._walk(first_key(moment_of(first)))

    def _walk(self, begin: int | None) -> None:
        """Take all entries from the key *begin* on. Raises UsageError for a contradiction."""
        before = FIRST_KEY - 1 if begin is None else begin - 1
        ledger = self._checkpoints.ledger_until(before)
        for _, entry in self._journal.read(before):
            ledger.take(entry)

    def _drop_computed(self, key: int) -> None:
        """Delete what was computed from entries at *key* or later, because those have changed."""
        self._checkpoints.drop(key)
        drop_saved_ledger(self._connection, key, LAST_KEY)
        until_ms = self._notes.facts.rolled_up_until_ms
        if until_ms is not None:
            until_ms = min(until_ms, moment_of(key))
        self._past_changed(rolled_up_until_ms=until_ms)

    def _past_changed(self, *, rolled_up_until_ms: int | None) -> None:
        """Tell every program that has this file open that past entries have changed."""
        rewritten = self._notes.facts.rewritten + 1
        self._set_facts(rewritten=rewritten, rolled_up_until_ms=rolled_up_until_ms)

    def _set_facts(self, **changed: int | None) -> None:
        self._notes.set_facts(msgspec.structs.replace(self._notes.facts, **changed))


def _first_needed_ms(rules: UsageRules, now_ms: int) -> int:
    """Return from when on entries matter: a sample before the window.

    Later moments need no more than earlier ones, so a follower never has to begin again.
    """
    return begins_at(rules.window, now_ms) - rules.resolution_ms
