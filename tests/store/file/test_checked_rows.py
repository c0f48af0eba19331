"""Rows are read in the order of keys, and any changed row is noticed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.file.checked_rows import CheckedRows, DamagedRowError

KEYS = st.integers(-20, 20)
BATCHES = st.lists(st.lists(KEYS, unique=True, max_size=6), max_size=6)


@contextmanager
def some_rows(*keys: int) -> Iterator[tuple[sqlite3.Connection, CheckedRows]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for table in ("acts", "levels"):
            connection.execute(f"CREATE TABLE {table} (key INTEGER PRIMARY KEY, body BLOB)")
        rows = CheckedRows(connection, "acts")
        rows.write([(key, body(key)) for key in keys])
        yield connection, rows


def body(key: int) -> bytes:
    return f"row {key}".encode()


@given(batches=BATCHES, ranges=st.lists(st.tuples(KEYS, KEYS)))
def test_rows_are_read_as_from_a_plain_mapping(
    batches: list[list[int]], ranges: list[tuple[int, int]]
) -> None:
    """Batches of rows are written anywhere, and ranges deleted in between."""
    plain: dict[int, bytes] = {}
    with some_rows() as (_, rows):
        for batch in batches:
            added = {key: body(key) for key in batch if key not in plain}
            rows.write(list(added.items()))
            plain |= added
            if ranges:
                first, last = sorted(ranges.pop())
                rows.delete(first, last)
                plain = {key: row for key, row in plain.items() if not first <= key <= last}
            assert list(rows.read()) == sorted(plain.items())
        for after, until in ranges:
            expected = [row for row in sorted(plain.items()) if after < row[0] <= until]
            assert list(rows.read(after, until)) == expected
            assert rows.last_key(after) == max([k for k in plain if k <= after], default=None)
            assert rows.next_key(after) == min([k for k in plain if k > after], default=None)


def test_more_rows_than_are_read_at_once_are_all_read() -> None:
    with some_rows(*range(3_000)) as (_, rows):
        assert [key for key, _ in rows.read()] == list(range(3_000))


def test_a_replaced_row_has_the_new_body() -> None:
    with some_rows(1) as (_, rows):
        rows.replace(1, b"one")
        rows.replace(2, b"two")
        assert list(rows.read()) == [(1, b"one"), (2, b"two")]


DAMAGE = {
    "one is moved between its neighbours": "UPDATE acts SET key = 6 WHERE key = 5",
    "one is moved behind the others": "UPDATE acts SET key = 10 WHERE key = 5",
    "one is there twice": "INSERT INTO acts SELECT 6, body FROM acts WHERE key = 5",
    "one has the body of another": (
        "UPDATE acts SET body = (SELECT body FROM acts WHERE key = 3) WHERE key = 5"
    ),
    "one has another type": "UPDATE acts SET body = 7 WHERE key = 5",
    "one has no body": "UPDATE acts SET body = NULL WHERE key = 5",
    "one is shorter": "UPDATE acts SET body = substr(body, 1, 6) WHERE key = 5",
    "one is empty": "UPDATE acts SET body = x'' WHERE key = 5",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_row_that_has_changed_is_noticed(damage: str) -> None:
    with some_rows(1, 3, 5, 7, 9) as (connection, rows):
        connection.execute(damage)
        with pytest.raises(DamagedRowError):
            list(rows.read())


def test_a_row_of_another_table_is_noticed() -> None:
    with some_rows(1) as (connection, _):
        connection.execute("INSERT INTO levels SELECT * FROM acts")
        with pytest.raises(DamagedRowError):
            CheckedRows(connection, "levels").last()


def test_every_flipped_bit_of_a_row_and_its_key_is_noticed() -> None:
    with some_rows(5) as (connection, rows):
        [(stored,)] = connection.execute("SELECT body FROM acts")
        for bit in range(8 * len(stored)):
            flipped = (int.from_bytes(stored) ^ 1 << bit).to_bytes(len(stored))
            connection.execute("UPDATE acts SET body = ?", (flipped,))
            with pytest.raises(DamagedRowError):
                rows.last()
        connection.execute("UPDATE acts SET body = ?", (stored,))
        for bit in range(62):
            connection.execute("UPDATE acts SET key = ?", (5 ^ 1 << bit,))
            with pytest.raises(DamagedRowError):
                rows.last()
