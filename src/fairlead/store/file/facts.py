"""Whole numbers about a store as a whole, by name."""

import sqlite3
from typing import Literal, TypeAlias

FactName: TypeAlias = Literal[
    "rewritten",  # how often entries of the past were changed
    "observed_ms",  # when a scheduler last looked
    "rolled_up_until_ms",  # everything before is rolled up
]


def fact(connection: sqlite3.Connection, name: FactName) -> int | None:
    """What is known by that name; None if nothing is."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else int(row[0])


def set_fact(connection: sqlite3.Connection, name: FactName, value: int) -> None:
    """Let it be *value* from now on."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def times_rewritten(connection: sqlite3.Connection) -> int:
    """How often entries of the past were changed."""
    return fact(connection, "rewritten") or 0
