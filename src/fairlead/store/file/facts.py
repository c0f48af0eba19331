"""Whole numbers about a store as a whole, by name: one row, with a checksum, that is always there.

Were each a row of its own, a damaged page could lose one, and nobody would know that it was there.
"""

import sqlite3
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.store.file.row_seal import DamagedRowError, seal_of

FactName: TypeAlias = Literal[
    "rewritten",  # how often entries of the past were changed
    "observed_ms",  # when a scheduler last looked
    "rolled_up_until_ms",  # everything before is rolled up
    "newest_change",  # the key of the last row of levels
    "newest_act",  # the key of the last act
    "newest_import",  # the key of the last note about an import
    "names_seal",  # the checksum of all names of holders
    "resources_seal",  # the checksum of all names of resources
]

_decode: Final = msgspec.json.Decoder(dict[str, int]).decode


def fact(connection: sqlite3.Connection, name: FactName) -> int | None:
    """What is known by that name; None if nothing is. Raises DamagedRowError."""
    return _facts(connection).get(name)


def set_fact(connection: sqlite3.Connection, name: FactName, value: int | None) -> None:
    """Let it be *value* from now on."""
    facts = _facts(connection)
    if value is None:
        facts.pop(name, None)
    else:
        facts[name] = value
    write_facts(connection, facts)


def write_facts(connection: sqlite3.Connection, facts: dict[str, int]) -> None:
    """Let these be all that is known."""
    text = msgspec.json.encode(facts).decode()
    connection.execute("INSERT OR REPLACE INTO facts VALUES (1, ?, ?)", (text, seal_of(text)))


def times_rewritten(connection: sqlite3.Connection) -> int:
    """How often entries of the past were changed."""
    return fact(connection, "rewritten") or 0


def _facts(connection: sqlite3.Connection) -> dict[str, int]:
    row = connection.execute("SELECT facts, checksum FROM facts WHERE one = 1").fetchone()
    if row is None or row[1] != seal_of(row[0]):
        raise DamagedRowError("what the file says about itself is not as it was written")
    return _decode(row[0])
