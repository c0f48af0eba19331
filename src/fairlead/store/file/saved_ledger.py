"""A ledger that has taken the journal up to some key: kept in memory, and saved in the file.

With it, only what was written since has to be read. It is of no use any more when the settings
differ, when more resources are counted, when entries before its key were changed, or when it
is asked about a window that begins before what it has taken.
"""

import sqlite3
from typing import Any, Final, Literal, TypeAlias

import msgspec

from fairlead.errors import UsageError
from fairlead.store.file.row_seal import DamagedRowError, seal_of
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.snapshot import restored, snapshot
from fairlead.usage.window import Cron, Sliding, Tumbling, Window

_Way: TypeAlias = Literal["exact", "sampled"]

# What `_counts_by` writes, by the kind of window.
_DECODERS: Final[dict[str, msgspec.json.Decoder[tuple[Window, int | None, _Way, int]]]] = {
    "Sliding": msgspec.json.Decoder(tuple[Sliding, int | None, _Way, int]),
    "Tumbling": msgspec.json.Decoder(tuple[Tumbling, int | None, _Way, int]),
    "Cron": msgspec.json.Decoder(tuple[Cron, int | None, _Way, int]),
}


class TakenLedger(msgspec.Struct):
    """A ledger, by which rules it counts, and what it has taken of the journal."""

    ledger: Ledger
    rules: UsageRules
    begin_ms: int  # of what was before, it has only what was still held then
    position: int  # the last key
    rewritten: int  # how often the past had been changed by then

    def counts_by(self, rules: UsageRules) -> bool:
        """Whether *rules* would make the same ledger."""
        return _counts_by(self.rules) == _counts_by(rules)

    def serves(self, rules: UsageRules, resources: tuple[str, ...], rewritten: int) -> bool:
        """Whether it counts by *rules*, and nothing was changed of what it has taken."""
        return (
            self.counts_by(rules)
            and self.ledger.resources == resources
            and self.rewritten == rewritten
        )


def saved_ledger(
    connection: sqlite3.Connection, rules: UsageRules, resources: tuple[str, ...], rewritten: int
) -> TakenLedger | None:
    """The ledger that was saved; None if there is none, or none of these rules, or it is damaged.

    All that it says can be worked out from entries, so damage costs time and nothing else.
    """
    row = _saved_row(connection)
    if row is None or not _is_as_saved(row) or row[0] != _counts_by(rules):
        return None
    _, begin_ms, position, ledger_bytes, _ = row
    try:
        ledger = restored(ledger_bytes, resources, rules)
    except UsageError:  # another version wrote it, or another count of resources: read entries
        return None
    return TakenLedger(ledger, rules, begin_ms, position, rewritten)


def saved_rules(connection: sqlite3.Connection) -> UsageRules | None:
    """The rules by which the ledger counts that was saved, in a file of any version.

    None if there is none, or it does not say. Rules that make no difference to it are the usual.
    """
    row = connection.execute("SELECT rules FROM snapshot").fetchone()
    if row is None or not isinstance(row[0], str):
        return None
    kind, _, settings = row[0].partition(" ")
    try:
        window, half_life_ms, way, resolution_ms = _DECODERS[kind].decode(settings)
        rules = UsageRules(
            window=window, half_life_ms=half_life_ms, way=way, resolution_ms=resolution_ms
        )
        Ledger.by((), rules)  # which refuses what no ledger can count by
    except (KeyError, msgspec.MsgspecError, UsageError):
        return None
    return rules


def save_ledger(connection: sqlite3.Connection, taken: TakenLedger) -> None:
    """Save it in place of the one that was saved before."""
    row = (_counts_by(taken.rules), taken.begin_ms, taken.position, snapshot(taken.ledger))
    connection.execute(
        "INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?, ?)", (*row, seal_of(*row))
    )


def check_saved_ledger(connection: sqlite3.Connection) -> None:
    """Raise DamagedRowError unless there is none, or it is as it was saved."""
    row = _saved_row(connection)
    if row is not None and not _is_as_saved(row):
        raise DamagedRowError("the ledger that was saved is not as it was")


def _saved_row(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = connection.execute(
        "SELECT rules, begin_ms, position, ledger, checksum FROM snapshot"
    ).fetchone()
    return row


def _is_as_saved(row: tuple[Any, ...]) -> bool:
    return bool(row[-1] == seal_of(*row[:-1]))


def _counts_by(rules: UsageRules) -> str:
    """The settings on which a ledger depends, as text."""
    settings = (rules.window, rules.half_life_ms, rules.way, rules.resolution_ms)
    return f"{type(rules.window).__name__} {msgspec.json.encode(settings).decode()}"
