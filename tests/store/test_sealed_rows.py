"""Rows in their order, wherever they were put; one that is lost, moved or changed is noticed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.file.migrations import MIGRATIONS, take_steps
from fairlead.store.file.row_seal import BEFORE_ALL, DamagedRowError
from fairlead.store.file.sealed_rows import ActForm, LevelForm, RowForm, SealedRows

FORMS: list[RowForm] = [LevelForm(), ActForm()]
LAST = 2**63 - 1
KEYS = st.integers(-20, 20)
BATCHES = st.lists(st.lists(KEYS, unique=True, max_size=6), max_size=6)


@contextmanager
def rows_of(form: RowForm) -> Iterator[tuple[sqlite3.Connection, SealedRows]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        take_steps(connection, MIGRATIONS)
        yield connection, SealedRows(connection, form)


def body(key: int) -> bytes:
    return f"row {key}".encode()


@given(form=st.sampled_from(FORMS), batches=BATCHES, ranges=st.lists(st.tuples(KEYS, KEYS)))
def test_rows_are_read_as_from_a_plain_mapping(
    form: RowForm, batches: list[list[int]], ranges: list[tuple[int, int]]
) -> None:
    """Batches of rows are put anywhere, ranges are deleted in between; nothing is found damaged."""
    plain: dict[int, bytes] = {}
    with rows_of(form) as (_, rows):
        for batch in batches:
            added = {key: body(key) for key in batch if key not in plain}
            rows.write(list(added.items()))
            plain |= added
            if ranges:
                first, last = sorted(ranges.pop())
                rows.delete(first, last)
                plain = {key: row for key, row in plain.items() if not first <= key <= last}
            assert list(rows.read(BEFORE_ALL, LAST)) == sorted(plain.items())
            assert rows.newest_key() == max(plain, default=None)
        for after, until in ranges:
            wanted = [row for row in sorted(plain.items()) if after < row[0] <= until]
            assert list(rows.read(after, until)) == wanted
            around = (
                max([key for key in plain if key <= after], default=None),
                min([key for key in plain if key > after], default=None),
            )
            assert rows.keys_around(after) == around


DAMAGE = {
    "the first is lost": "DELETE FROM {table} WHERE key = 1",
    "one in the middle is lost": "DELETE FROM {table} WHERE key = 5",
    "the last is lost": "DELETE FROM {table} WHERE key = 9",
    "all are lost": "DELETE FROM {table}",
    "one is moved between its neighbours": "UPDATE {table} SET key = 6 WHERE key = 5",
    "one is moved behind the others": "UPDATE {table} SET key = 10 WHERE key = 5",
    "the last is later": "UPDATE {table} SET key = 10 WHERE key = 9",
    "one is told twice": "INSERT INTO {table} SELECT 6, {columns} FROM {table} WHERE key = 5",
    "one has the content of another": (
        "UPDATE {table} SET ({columns}) = (SELECT {columns} FROM {table} WHERE key = 3)"
        " WHERE key = 5"
    ),
    "one is not of its kind": "UPDATE {table} SET {first} = 7 WHERE key = 5",
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.table)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_not_as_it_was_written_is_told(form: RowForm, damage: str) -> None:
    with rows_of(form) as (connection, rows):
        rows.write([(key, body(key)) for key in range(1, 10, 2)])
        first = form.columns.split(",")[0]
        connection.execute(damage.format(table=form.table, columns=form.columns, first=first))
        with pytest.raises(DamagedRowError):
            list(rows.read(BEFORE_ALL, LAST))


@pytest.mark.parametrize("lost", [3, 5])
def test_who_reads_a_part_is_told_what_is_lost_at_either_end_of_it(lost: int) -> None:
    """Read are the keys above 2 and up to 5: both of them, or the row before or behind tells."""
    with rows_of(LevelForm()) as (connection, rows):
        rows.write([(key, body(key)) for key in range(1, 10, 2)])
        connection.execute("DELETE FROM sealed_levels WHERE key = ?", (lost,))
        with pytest.raises(DamagedRowError):
            list(rows.read(2, 5))


@pytest.mark.parametrize("lost", [1, 3, 5, 7])
def test_a_key_that_is_looked_up_is_sealed_with_its_neighbours(lost: int) -> None:
    """Around 4 are 3 and 5; that 1 is gone, 3 knows, and that 7 is gone is not asked."""
    with rows_of(LevelForm()) as (connection, rows):
        rows.write([(key, body(key)) for key in range(1, 10, 2)])
        connection.execute("DELETE FROM sealed_levels WHERE key = ?", (lost,))
        if lost == 7:
            assert rows.keys_around(4) == (3, 5)
        else:
            with pytest.raises(DamagedRowError):
                rows.keys_around(4)


def test_a_damaged_row_is_not_sealed_anew_by_what_is_written_before_it() -> None:
    with rows_of(ActForm()) as (connection, rows):
        rows.write([(1, b"one"), (9, b"nine")])
        connection.execute("UPDATE sealed_acts SET entry = 'nein' WHERE key = 9")
        with pytest.raises(DamagedRowError):
            rows.write([(5, b"five")])
        with pytest.raises(DamagedRowError):
            rows.delete(1, 5)
