"""Keeps a store short and quick to open: rolls up what is old, and saves how far a ledger has got.

A start reads what was written since the last snapshot, so that must never be much, whenever a crash
comes. Nothing here is needed for the record to be right.
"""

from typing import Final

from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.settings import DAY_MS, UsageRules

SAVE_AFTER_ENTRIES: Final = 20_000


class Upkeep:
    """Knows when a store that one program writes is to be rolled up, and when to be saved."""

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
