"""A packed table says what plain lists of buckets would, whatever is done to it."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.measures.series import BucketTable

HOLDERS = 3
gained = st.just(0) | st.integers(-5, 5) | st.integers(2**62, 2**70)
rows = st.lists(gained, min_size=HOLDERS, max_size=HOLDERS)
steps = st.lists(st.sampled_from(["close", "close", "widen", "halve"]), max_size=12)


def summed(first: list[int], second: list[int]) -> list[int]:
    return [one + other for one, other in zip(first, second, strict=True)]


def columns(buckets: list[list[int]]) -> list[tuple[int, ...]]:
    return [tuple(row[holder] for row in buckets) for holder in range(HOLDERS)]


@given(steps=steps, data=st.data())
def test_columns_are_those_of_plain_lists(steps: list[str], data: st.DataObject) -> None:
    table, plain, totals = BucketTable(HOLDERS), list[list[int]](), [0] * HOLDERS
    for step in steps:
        if step == "halve":
            if len(plain) % 2 == 0:
                table.halve()
                plain = [summed(*plain[at : at + 2]) for at in range(0, len(plain), 2)]
            continue
        more = data.draw(rows)
        if step == "close":
            totals = summed(totals, more)
            table.close(totals)
            plain.append(more)
        elif plain:
            totals = summed(totals, more)
            table.widen_last(totals)
            plain[-1] = summed(plain[-1], more)
    assert [table.column(holder) for holder in range(HOLDERS)] == columns(plain)


@given(buckets=st.lists(rows, min_size=1, max_size=6))
def test_rows_that_were_read_are_the_same_table(buckets: list[list[int]]) -> None:
    table = BucketTable.of_rows(buckets)
    assert [table.column(holder) for holder in range(HOLDERS)] == columns(buckets)
