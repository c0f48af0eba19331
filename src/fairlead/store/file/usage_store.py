"""The record of use in a file of our own: what was written stays, whatever happens afterwards.

The file is a journal in SQLite. Entries are kept in the order of time, and of one moment in the
order in which they were written. Several programs may have the file open; one writes at a time, and
who finds it locked is told so soon (see `schema.BUSY_TIMEOUT_S`).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final
from weakref import finalize

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.store.file.checkpoints import Checkpoints
from fairlead.store.file.entry_checks import check_entries
from fairlead.store.file.facts import fact, set_fact, times_rewritten
from fairlead.store.file.file_version import check_version
from fairlead.store.file.import_notes import ImportNote, read_notes, write_note
from fairlead.store.file.journal import LAST_KEY, Journal
from fairlead.store.file.journal_key import first_key, moment_of
from fairlead.store.file.levels import Levels
from fairlead.store.file.one_moment import one_moment, told
from fairlead.store.file.roll_up_edges import RolledUp, pieces
from fairlead.store.file.saved_ledger import (
    TakenLedger,
    check_saved_ledger,
    save_ledger,
    saved_ledger,
)
from fairlead.store.file.schema import connect
from fairlead.store.file.store_problem import damaged, problem
from fairlead.store.file.unchanging_file import UnchangingFile, unchanging_file
from fairlead.usage.entries import Entry, Forgiven, Gap, Granted, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.roll_up import rolled_up
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding, begins_at

_MAY_CONTRADICT: Final = frozenset({Renamed, Gap})  # what was written before, in the right order


class UsageStore:
    """A journal of use on disk. Everything that fails outside of us raises StoreError."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        writes: bool,
        unchanging: UnchangingFile | None = None,
    ) -> None:
        """Use `open` instead."""
        self.path = path
        self._connection = connection
        self._let_go = finalize(self, connection.close)  # also where nobody calls `close`
        self._writes = writes
        self._unchanging = unchanging
        self._journal = Journal(connection)
        self._checkpoints = Checkpoints(connection, self._journal)
        self._taken: TakenLedger | None = None

    @classmethod
    def open(
        cls, path: Path, *, resources: Sequence[str] = (), writes: bool = True
    ) -> "UsageStore":
        """The store at *path*, made if it is missing; *resources* are counted from now on.

        Without *writes* nothing is changed, nor made: what is missing raises StoreError. From a
        folder in which this user may not write, a store can be read that nobody has open; when
        somebody writes it again, reading raises StoreError until it is opened anew.
        """
        unchanging = None if writes else unchanging_file(path)
        connection = connect(path, writes=writes, is_unchanging=unchanging is not None)
        try:
            with _one_moment(path, connection, unchanging):
                store = cls(path, connection, writes=writes, unchanging=unchanging)
            if writes:
                store.ensure_resources(resources)
        except BaseException:
            connection.close()
            raise
        return store

    @property
    def resources(self) -> tuple[str, ...]:
        """What is counted, in the order of amounts; more may come at the end."""
        return self._journal.resources

    @property
    def newest_ms(self) -> int | None:
        """The last moment that is known: of the newest entry, or when somebody last looked."""
        with self._one_moment():
            last = self._journal.last_key()
            observed_ms = fact(self._connection, "observed_ms")
        if last is None or observed_ms is None:
            return observed_ms if last is None else moment_of(last)
        return max(observed_ms, moment_of(last))

    @property
    def newest_level_ms(self) -> int | None:
        """When a level was last written down: what is held, guaranteed or there. None: never.

        Acts do not count: who grants something has not looked at what is held. Cost: O(1).
        """
        with self._one_moment():
            last, _ = self._journal.level_keys_around(LAST_KEY)
        return None if last is None else moment_of(last)

    def levels_around(self, at_ms: int) -> tuple[int | None, int | None]:
        """When a level was last written until a moment, and when next; None: never. Cost: O(1)."""
        with self._one_moment():
            keys = self._journal.level_keys_around(first_key(at_ms + 1) - 1)
        last_ms, next_ms = (None if key is None else moment_of(key) for key in keys)
        return last_ms, next_ms

    @property
    def observed_ms(self) -> int | None:
        """When a scheduler last looked, whether or not anything had changed; None: never."""
        with self._one_moment():
            return fact(self._connection, "observed_ms")

    def queue_names(self) -> set[QueueName]:
        """The names of all queues with a record, those that are gone and former names included.

        Cost: O(queues, their users, and acts); no level is read.
        """
        with self._one_moment():
            return self._journal.queue_names()

    def ensure_resources(self, names: Sequence[str]) -> None:
        """Count these, too; entries before now had 0 of them."""
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
        """Write *entries*, all or none; when this returns, no crash can lose them.

        *observed_ms* is when a scheduler looked: up to then everything else is as it was before.
        With a *note*, somebody imported them.

        They need not be newer than what is there: each takes its place in time. Raises UsageError,
        and changes nothing, for entries that contradict each other or those that are there, and
        StoreError if the file cannot be written. Cost: O(entries); older ones cost a walk through
        all that is newer.
        """
        if not entries and observed_ms is None:
            return
        with self._transaction():
            if observed_ms is not None:
                set_fact(self._connection, "observed_ms", observed_ms)
            if entries:
                self._append(entries)
            if note is not None:
                write_note(self._connection, note)

    def entries(self, since_ms: int | None = None) -> Iterator[Entry]:
        """All entries in the order to take them, or those from *since_ms* on.

        The latter begin with what held then, told as entries of *since_ms*. All are as of the
        moment when the first is asked for, whatever is written until the last. Raises StoreError.
        """
        # On a connection of its own, because this one may have to write before the last is read.
        unchanging = unchanging_file(self.path)
        connection = connect(self.path, writes=False, is_unchanging=unchanging is not None)
        with closing(connection), _one_moment(self.path, connection, unchanging):
            journal = Journal(connection)
            if since_ms is None:
                numbered = journal.read(None)
            else:
                numbered = Checkpoints(connection, journal).read_from(since_ms)
            for _, entry in numbered:
                yield entry

    def moments_after(self, at_ms: int) -> list[int]:
        """The moments after *at_ms* of which there are entries, in order."""
        with self._one_moment():
            return self._journal.moments_after(at_ms)

    def ledger(self, rules: UsageRules, now_ms: int) -> Ledger:
        """A ledger that has taken all that the window of *rules* that ends at *now_ms* needs.

        Entries later than *now_ms* are left out. It belongs to the store: asked again, the same one
        has taken what was written since, so it is not for others to take entries into. Cost: what
        was written since the last time, or since the snapshot of the same rules; without either,
        what was written during the window.
        """
        with self._one_moment():
            self._journal.learn_names()
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
            # What held when it begins stands for rows before; the next row may be one of those.
            taken.position = min(taken.position, self._journal.last_key() or taken.position)
            self._taken = taken
            return taken.ledger

    def save_snapshot(self, ledger: Ledger, rules: UsageRules) -> None:
        """Save the *ledger* that this store gave for *rules*, so that the next start is quick.

        There is one snapshot in a file; it takes the place of the one before. Queues that were
        removed, and of which nothing is left in the window, are forgotten. Raises UsageError for
        any other ledger, because nobody knows what that has taken.
        """
        taken = self._taken
        if taken is None or taken.ledger is not ledger or not taken.counts_by(rules):
            raise UsageError("only the last ledger that a store gave can be saved in it")
        if ledger.newest_ms is not None:
            # It is asked about no earlier moment any more, and at a later one they are faded, too.
            ledger.drop_faded(ledger.newest_ms)
        with self._transaction():
            if taken.rewritten == times_rewritten(self._connection):
                save_ledger(self._connection, taken)
            self._checkpoints.save_if_due()

    def roll_up(self, now_ms: int, keep_raw_ms: int) -> RolledUp:
        """Keep one entry a day of what is older than *keep_raw_ms*, and make the file shorter.

        How far off the sums are then, `fairlead.usage.roll_up` says. What was rolled up before is
        left as it is. A crash leaves some weeks rolled up and the others not. Cost: O(entries that
        were not rolled up yet), so call it daily.
        """
        before = after = 0
        while True:
            with self._transaction():
                begin_ms = self._rolled_up_until_ms(now_ms)
                # Looked for anew each time: another program may have written a gap meanwhile.
                piece = next(pieces(begin_ms, now_ms - keep_raw_ms, self._gaps()), None)
                if piece is None:
                    break
                counts = self._roll_up_piece(*piece)
            before, after = before + counts[0], after + counts[1]
        if before:
            with self._transaction():
                self._checkpoints.save_if_due()
            with told(self.path):
                # `execute` would take one step, which frees one page.
                self._connection.executescript("PRAGMA incremental_vacuum")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return RolledUp(until_ms=begin_ms, entries_before=before, entries_after=after)

    def audit(self) -> list[Granted | Forgiven]:
        """What administrators changed, the newest last."""
        with self._one_moment():
            self._journal.learn_names()
            acts = [entry for _, entry in self._journal.read_acts()]
        return [entry for entry in acts if isinstance(entry, Granted | Forgiven)]

    def imports(self) -> list[ImportNote]:
        """Who imported what, when and why, the newest last."""
        with self._one_moment():
            return read_notes(self._connection)

    def check(self) -> None:
        """Read all of the file; raises StoreError if anything is not as it was written."""
        with self._one_moment():
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise damaged(self.path, found)
            check_saved_ledger(self._connection)
            self._checkpoints.check()
            read_notes(self._connection)
            try:
                self._walk(None)
            except UsageError as contradiction:
                raise damaged(self.path, contradiction) from contradiction

    def close(self) -> None:
        """Let go of the file; what was appended is in it."""
        self._let_go()

    def __enter__(self) -> "UsageStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _one_moment(self) -> AbstractContextManager[None]:
        """Everything that is read inside is as of one moment, whatever others write meanwhile."""
        return _one_moment(self.path, self._connection, self._unchanging)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Everything inside is done, or nothing."""
        if not self._writes:
            raise problem(self.path, "it was opened for reading only", "open it for writing")
        with told(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                check_version(self._connection, self.path)
                self._journal.learn_names()
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                with self._one_moment():
                    self._journal.learn_names_anew()
                raise

    def _roll_up_piece(self, begin_ms: int, until_ms: int) -> tuple[int, int]:
        """Roll up between two moments; return how many entries were and are there."""
        # What is of the last moment is written anew, to come after what held before it.
        first, last = first_key(begin_ms), first_key(until_ms + 1) - 1
        before = [entry for _, entry in self._checkpoints.read_from(begin_ms, last)]
        after = rolled_up(before, until_ms)
        self._journal.delete(first, last)
        self._journal.write(after, self._journal.last_key())
        self._checkpoints.drop(first, last)
        self._connection.execute("DELETE FROM snapshot WHERE position < ?", (last,))
        self._note_rewritten()
        set_fact(self._connection, "rolled_up_until_ms", until_ms)
        return len(before), len(after)

    def _rolled_up_until_ms(self, now_ms: int) -> int:
        """Up to where the past is rolled up; where it begins, if none of it is."""
        until_ms = fact(self._connection, "rolled_up_until_ms")
        if until_ms is not None:
            return until_ms
        first = self._journal.first_key()
        return now_ms if first is None else moment_of(first)

    def _gaps(self) -> list[Gap]:
        return [entry for _, entry in self._journal.read_acts() if isinstance(entry, Gap)]

    def _known_ledger(self, rules: UsageRules, begin_ms: int, until: int) -> TakenLedger | None:
        """A ledger that lacks nothing between *begin_ms* and its position; None if there is none.

        Its position is not after *until*.
        """
        taken, self._taken = self._taken, None  # kept again only when all went well
        rewritten = times_rewritten(self._connection)
        if taken is None or not taken.serves(rules, self.resources, rewritten):
            taken = saved_ledger(self._connection, rules, self.resources, rewritten)
        if taken is None or taken.begin_ms > begin_ms or taken.position > until:
            return None
        late = self._journal.read(taken.position, first_key(taken.begin_ms) - 1)
        return taken if next(late, None) is None else None

    def _new_ledger(self, rules: UsageRules, begin_ms: int) -> TakenLedger:
        ledger = Ledger.by(self.resources, rules)
        position = first_key(begin_ms) - 1
        return TakenLedger(ledger, rules, begin_ms, position, times_rewritten(self._connection))

    def _append(self, entries: Sequence[Entry]) -> None:
        check_entries(entries, self.resources)
        last_key = self._journal.last_key()
        first = min(self._journal.write(entries, last_key))
        is_older = last_key is not None and first < last_key
        if is_older:
            self._rewritten_from(first)
        if is_older or not _MAY_CONTRADICT.isdisjoint(map(type, entries)):
            self._walk(first_key(moment_of(first)))

    def _walk(self, begin: int | None) -> None:
        """Take everything from the key *begin* on; raises UsageError for a contradiction."""
        levels = Levels() if begin is None else self._checkpoints.levels_until(begin - 1)
        for _, entry in self._journal.read(None if begin is None else begin - 1):
            levels.take(entry)

    def _rewritten_from(self, key: int) -> None:
        """Throw away what was worked out from entries that are not the same any more."""
        self._checkpoints.drop(key)
        self._connection.execute("DELETE FROM snapshot WHERE position >= ?", (key,))
        rolled_up_until_ms = fact(self._connection, "rolled_up_until_ms")
        if rolled_up_until_ms is not None and moment_of(key) < rolled_up_until_ms:
            set_fact(self._connection, "rolled_up_until_ms", moment_of(key))
        self._note_rewritten()

    def _note_rewritten(self) -> None:
        """Let every program that has this file open know that the past is not the same."""
        set_fact(self._connection, "rewritten", times_rewritten(self._connection) + 1)


@contextmanager
def _one_moment(
    path: Path, connection: sqlite3.Connection, unchanging: UnchangingFile | None
) -> Iterator[None]:
    with one_moment(path, connection, unchanging):
        check_version(connection, path)
        yield


def _first_needed_ms(rules: UsageRules, now_ms: int) -> int:
    """From where on entries matter: a bucket of a sliding window, or a sample, before it begins.

    Later moments need no more than earlier ones, so who follows never has to begin again.
    """
    window = rules.window
    bucket_ms = window.length_ms // 64 if isinstance(window, Sliding) else 0
    return begins_at(window, now_ms) - bucket_ms - rules.resolution_ms
