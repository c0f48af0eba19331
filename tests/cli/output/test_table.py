"""Columns of tables stand below each other, whatever letters are in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli.output.table import display_width, table_text

WIDTHS = {
    "": 0,
    "plain": 5,
    "équipe": 6,
    "e\u0301quipe": 6,  # the accent as a mark of its own
    "研究部": 6,
    "ﾊﾝｶｸ": 4,  # half as wide as the ordinary ones
    "\uff21\uff22": 4,  # letters of full width
    "a研b": 4,
    "✈\ufe0f": 1,  # a selector has no width of its own
}


@pytest.mark.parametrize(("text", "width"), WIDTHS.items())
def test_width_on_a_terminal(text: str, width: int) -> None:
    assert display_width(text) == width


def test_wide_letters_shift_no_column() -> None:
    rows = [["QUEUE", "JOBS"], ["研究部", "2"], ["e\u0301quipe", "10"]]
    assert table_text(rows) == "QUEUE   JOBS\n研究部     2\ne\u0301quipe    10"


@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), min_size=1, max_size=5))
def test_each_row_is_one_line_and_the_last_column_ends_where_the_others_do(
    rows: list[list[str]],
) -> None:
    marked = [["x", *row, "|"] for row in rows]
    lines = table_text([["HEAD"] * 5, *marked]).split("\n")
    assert len(lines) == len(rows) + 1
    assert {display_width(line) for line in lines} == {display_width(lines[0])}
