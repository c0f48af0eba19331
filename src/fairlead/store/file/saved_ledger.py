"""A ledger that has taken the journal up to some key: kept in memory, and saved in the file.

With it, only later entries have to be read. It is not used when the settings differ, when resources
were added, when entries before its key were changed, or when the window begins before its entries.
"""

import sqlite3
from typing import Final

import msgspec

from fairlead.errors import UsageError
from fairlead.store.file.checked_rows import CheckedRows, DamagedRowError
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.snapshot import restored, snapshot


class TakenLedger(msgspec.Struct):
    """A ledger, and the part of the journal that it has taken."""

    ledger: Ledger
    begin_ms: int  # before it, only the levels still in force then were taken
    position: int  # the last key taken
    rewritten: int  # how often the past had been changed by then


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The body of the row; its key is the position."""

    begin_ms: int
    ledger: bytes


_decode: Final = msgspec.msgpack.Decoder(_Saved).decode


def saved_ledger(
    connection: sqlite3.Connection, rules: UsageRules, resources: tuple[str, ...], rewritten: int
) -> TakenLedger | None:
    """Return the saved ledger; None if there is none for these rules, or it is damaged.

    It can be computed from entries, so damage costs only time.
    """
    try:
        row = CheckedRows(connection, "snapshot").last()
        if row is None:
            return None
        position, body = row
        saved = _decode(body)
        ledger = restored(saved.ledger, resources, rules)
    except (DamagedRowError, UsageError):  # UsageError: it counts by other rules, or resources
        return None
    return TakenLedger(ledger, saved.begin_ms, position, rewritten)


def save_ledger(connection: sqlite3.Connection, taken: TakenLedger) -> None:
    """Save *taken* in place of the ledger saved before."""
    saved = _Saved(
        begin_ms=taken.begin_ms,
        ledger=snapshot(taken.ledger),
    )
    rows = CheckedRows(connection, "snapshot")
    rows.delete()
    rows.write([(taken.position, msgspec.msgpack.encode(saved))])


def drop_saved_ledger(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Delete the saved ledger if its position is from *first* to *last*."""
    CheckedRows(connection, "snapshot").delete(first, last)
