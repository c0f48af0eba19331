"""Writes down what a running scheduler sees, and lets nothing that happens to a disk stop it.

Only changes are written, and now and then when the last look was. While the store fails, changes
wait in memory; the state of affairs is told by `Recorder.status`. When too many wait, or the file
is not the one that was written to before, they are given up: everything is told anew, after a gap.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.errors import FairleadError, UsageError
from fairlead.model.axes import Limits, QueueName
from fairlead.store.file.entry_amounts import fit_resources
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.state_levels import (
    StateLevels,
    changed_entries,
    levels_on,
)
from fairlead.usage.entries import Capacity, Entry, Gap, Guarantee, Held
from fairlead.usage.settings import DAY_MS, MINUTE_MS, SECOND_MS, WEEK_MS, UsageRules

MOST_WAITING: Final = 100_000
TRY_AGAIN_MS: Final = 10 * SECOND_MS
SAVE_AFTER_ENTRIES: Final = 20_000
LOOKS_IN_GAP: Final = 5  # so many, at least, are written before a reader may miss them
DEFAULT_RULES: Final = UsageRules()


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether what is seen is being written down."""

    state: Literal["ok", "degraded"] = "ok"
    problem: str | None = None  # which file, what was found, what to do
    since_ms: int | None = None  # when it began
    waiting: int = 0  # entries in memory


class _Upkeep:
    """Keeps a store short and fast to open: rolls up what is old, and saves a ledger.

    A start reads what was written since the last snapshot, so that must never be much, whenever a
    crash comes. Nothing here is needed for the record to be right.
    """

    def __init__(self, rules: UsageRules, keep_raw_ms: int) -> None:
        """Do nothing yet; snapshots are of the ledger that *rules* ask for."""
        self._rules = rules
        self._keep_raw_ms = keep_raw_ms
        self._rolled_up_ms: int | None = None
        # How much a file has that was there before is not known: as much as is to be saved.
        self._unsaved = SAVE_AFTER_ENTRIES

    def note_written(self, entries: int) -> None:
        """So many more have to be read at the next start."""
        self._unsaved += entries

    def do_what_is_due(self, store: UsageStore, now_ms: int) -> None:
        """Roll up once a day, and save a snapshot then and after `SAVE_AFTER_ENTRIES`.

        Raises StoreError and UsageError; what failed is due again. Cost: O(entries since the last
        one), and O(queues) to save.
        """
        rolled_up_ms = self._rolled_up_ms
        # After a clock was set back, its age is unknown.
        is_due = rolled_up_ms is None or not 0 <= now_ms - rolled_up_ms < DAY_MS
        if is_due:
            store.roll_up(now_ms, self._keep_raw_ms)
        if is_due or self._unsaved >= SAVE_AFTER_ENTRIES:
            self._save(store, now_ms)
        if is_due:
            self._rolled_up_ms = now_ms

    def save_the_rest(self, store: UsageStore, now_ms: int) -> None:
        """Save a snapshot if anything was written since the last. Raises as above."""
        if self._unsaved:
            self._save(store, now_ms)

    def _save(self, store: UsageStore, now_ms: int) -> None:
        newest_ms = store.newest_ms
        # A clock behind what is written would ask for a ledger that has not taken all of it.
        at_ms = now_ms if newest_ms is None else max(now_ms, newest_ms)
        store.save_snapshot(store.ledger(self._rules, at_ms), self._rules)
        self._unsaved = 0


class Recorder:
    """Keeps the store at a path up to date with what the queues of a state hold."""

    def __init__(
        self,
        path: Path,
        rules: UsageRules = DEFAULT_RULES,
        *,
        keep_raw_ms: int = 2 * WEEK_MS,
        gap_after_ms: int = 5 * MINUTE_MS,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """Open nothing yet. Without a look for *gap_after_ms*, nothing is known of that time.

        A snapshot by *rules* makes the store fast to open; *keep_raw_ms* is how long every
        change is kept. While nothing changes, a look is written every fifth of *gap_after_ms*: a
        reader must not call younger use stale.
        """
        self.status = StoreStatus()
        self._path = path
        self._gap_after_ms = gap_after_ms
        self._most_waiting = most_waiting
        self._store: UsageStore | None = None
        self._seen: StateLevels | None = None  # None: everything is to be told
        self._seen_ms: int | None = None
        self._resources: tuple[str, ...] = ()
        self._waiting: list[Entry] = []
        self._first: StateLevels | None = None  # what held where that which waits begins
        self._first_ms = 0
        self._is_told = False  # whether the file says what held where that which waits begins
        self._has_lost = False  # whether something that waited was given up since
        self._known_ms: int | None = None  # the last look of which the file has every change
        self._safe_ms: int | None = None  # the last look that is in the file; None: none of ours
        self._upkeep = _Upkeep(rules, keep_raw_ms)
        self._failed_ms: int | None = None  # when the store was last tried in vain

    def observe(self, levels: StateLevels, now_ms: int) -> None:
        """Write down what changed; raises nothing for a store that fails.

        A clock that jumps back stands still until it has caught up. Cost: O(queues), and waiting
        for the disk if anything changed. The levels are values, so that another thread may own the
        state, and need not wait for the disk.
        """
        at_ms = now_ms if self._seen_ms is None else max(now_ms, self._seen_ms)
        self._look(levels, at_ms)
        failed_ms = self._failed_ms
        if failed_ms is not None and 0 <= now_ms - failed_ms < TRY_AGAIN_MS:
            self.status = msgspec.structs.replace(self.status, waiting=len(self._waiting))
            return
        if self._store is not None and not self._is_due():
            return
        try:
            self._write(self._opened())
        except FairleadError as problem:
            self._fail(problem, now_ms)
            return
        self._failed_ms = None
        self.status = StoreStatus()

    def tidy_up(self, now_ms: int) -> None:
        """Roll up old entries and save a snapshot; call it when no cycle waits.

        Once a day what is old is rolled up; then, and after some 20,000 entries, a snapshot is
        saved. If the store fails, it is tried again once a look was written.
        """
        if self._store is not None:
            try:
                self._upkeep.do_what_is_due(self._store, now_ms)
            except FairleadError as problem:
                self._fail(problem, now_ms)

    def close(self) -> None:
        """Write the last look, save a snapshot and let go; raises nothing for a store that fails.

        What still waits is lost. Cost: O(entries since the last snapshot).
        """
        if self._store is not None and self._seen_ms is not None:
            try:
                if self._known_ms != self._safe_ms:
                    self._write(self._store)
                self._upkeep.save_the_rest(self._store, self._seen_ms)
            except FairleadError as problem:
                self._fail(problem, self._seen_ms)
        self._let_go()

    def _is_due(self) -> bool:
        """Return whether there are entries to write, or the last observation is old enough."""
        if self._waiting or not self._is_told:
            return True
        assert self._seen_ms is not None
        assert self._safe_ms is not None
        return (self._seen_ms - self._safe_ms) * LOOKS_IN_GAP >= self._gap_after_ms

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _look(self, levels: StateLevels, at_ms: int) -> None:
        """Let what changed since the last look wait for being written."""
        self._count_in(levels.resources)
        if self._seen is None or self._seen_ms is None:
            self._begin_with(levels, at_ms)
        elif at_ms - self._seen_ms <= self._gap_after_ms:
            self._waiting += changed_entries(self._seen, levels, at_ms)
        elif self._waiting:
            self._waiting.append(Gap(at_ms=at_ms, since_ms=self._seen_ms))
            self._waiting += changed_entries(self._seen, levels, at_ms)
        else:
            self._begin_with(levels, at_ms)  # the gap must leave out what others wrote meanwhile
        self._seen, self._seen_ms = levels, at_ms
        if len(self._waiting) > self._most_waiting:
            self._begin_with(levels, at_ms)
        if self._is_told and not self._waiting:
            self._known_ms = at_ms

    def _count_in(self, resources: tuple[str, ...]) -> None:
        """Tell everything anew if other resources are counted than before."""
        if resources != self._resources:
            self._seen = None
        self._resources = resources

    def _begin_with(self, levels: StateLevels, at_ms: int) -> None:
        """Give up what waits, and tell everything from *at_ms* on."""
        self._first, self._first_ms = levels, at_ms
        self._is_told = False
        self._give_up()

    def _give_up(self) -> None:
        self._has_lost = self._has_lost or bool(self._waiting)
        self._waiting = []

    def _opened(self) -> UsageStore:
        if self._store is None:
            self._store = UsageStore.open(self._path, resources=self._resources)
            if self._is_told and self._store.observed_ms != self._safe_ms:
                # Another file took its place, or another program wrote it: continue from that.
                assert self._seen is not None
                assert self._seen_ms is not None
                self._begin_with(self._seen, self._seen_ms)
        return self._store

    def _write(self, store: UsageStore) -> None:
        store.ensure_resources(self._resources)
        entries = list(fit_resources(self._waiting, self._resources, store.resources))
        if not self._is_told:
            entries = self._taken_over(store, entries)
        store.append(entries, observed_ms=self._seen_ms)
        self._upkeep.note_written(len(entries))
        self._safe_ms = self._known_ms = self._seen_ms
        self._is_told, self._has_lost = True, False
        self._waiting = []

    def _taken_over(self, store: UsageStore, waiting: list[Entry]) -> list[Entry]:
        """What waits, after all that makes the store agree with where it began."""
        assert self._first is not None
        newest_ms = store.newest_ms
        at_ms = self._first_ms if newest_ms is None else max(self._first_ms, newest_ms)
        self._seen_ms = at_ms if self._seen_ms is None else max(at_ms, self._seen_ms)
        # In another file, what we knew last says nothing.
        known_ms = self._known_ms if store.observed_ms == self._safe_ms else None
        gap_after_ms = 0 if self._has_lost else self._gap_after_ms
        first = levels_on(self._first, store.resources)
        return [
            *_gaps_before(store, at_ms, gap_after_ms, known_ms),
            *_entries_to_take_over(store, first, at_ms),
            *(_not_before(entry, at_ms) for entry in waiting),
        ]

    def _fail(self, problem: FairleadError, now_ms: int) -> None:
        if isinstance(problem, UsageError):
            self._seen = None  # it contradicts what another program wrote, and always will
            self._give_up()
        self._let_go()
        self._failed_ms = now_ms
        since_ms = now_ms if self.status.since_ms is None else self.status.since_ms
        self.status = StoreStatus(
            state="degraded", problem=str(problem), since_ms=since_ms, waiting=len(self._waiting)
        )


def _not_before(entry: Entry, at_ms: int) -> Entry:
    """Another clock was ahead: until ours has caught up, time stands still."""
    return entry if entry.at_ms >= at_ms else msgspec.structs.replace(entry, at_ms=at_ms)


def _entries_to_take_over(store: UsageStore, levels: StateLevels, at_ms: int) -> list[Entry]:
    """What makes *levels*, on the resources of *store*, hold there from *at_ms* on.

    Nothing in the store is later than that. Users that held something are recorded as holding
    nothing, because a state does not know the user of what is held.
    """
    nothing = (0,) * len(store.resources)
    held = {}
    guarantees: dict[QueueName, Limits] = {}
    capacity: tuple[int, ...] = ()
    users: list[Entry] = []
    for entry in store.entries(at_ms + 1):
        match entry:
            case Held(user=""):
                held[entry.queue] = entry.amounts
            case Held():
                users.append(msgspec.structs.replace(entry, at_ms=at_ms, amounts=nothing))
            case Guarantee():
                guarantees[entry.queue] = entry.amounts
                held.setdefault(entry.queue, nothing)
            case Capacity():
                capacity = entry.amounts
    before = StateLevels(
        resources=store.resources, held=held, guarantees=guarantees, capacity=capacity
    )
    return [*users, *changed_entries(before, levels, at_ms)]


def _gaps_before(
    store: UsageStore, at_ms: int, gap_after_ms: int, known_ms: int | None = None
) -> list[Entry]:
    """The time of which nothing is known before *at_ms*, if it is longer than *gap_after_ms*.

    *known_ms* is a look that found nothing changed, and was not written down.

    Law: no gap reaches back before the newest level, so what was imported after the last look is
    kept. What administrators wrote meanwhile stays: gaps end a millisecond before it.
    """
    last_ms = _last_known_ms(store, known_ms)
    if last_ms is None or at_ms - last_ms <= gap_after_ms:
        return []
    return list(_gaps_between(last_ms, store.moments_after(last_ms), at_ms))


def _last_known_ms(store: UsageStore, known_ms: int | None) -> int | None:
    """Return the last observation: of a level, of no change, or the end of a gap."""
    looks_ms = (store.observed_ms, store.newest_level_ms, known_ms)
    last_ms = max((each for each in looks_ms if each is not None), default=None)
    if last_ms is None:
        return None
    ends_ms = [each.at_ms for each in store.entries(last_ms + 1) if isinstance(each, Gap)]
    return max([last_ms, *ends_ms])


def _gaps_between(last_ms: int, moments_ms: list[int], at_ms: int) -> Iterator[Gap]:
    for moment_ms in moments_ms:
        if moment_ms - 1 > last_ms:
            yield Gap(at_ms=moment_ms - 1, since_ms=last_ms)
        last_ms = moment_ms
    if at_ms > last_ms:
        yield Gap(at_ms=at_ms, since_ms=last_ms)
