"""Columns of tables stand below each other, whatever letters are in them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli.output.table import csv_line, table_text
from fairlead.explain.text.names import display_width
from fairlead.sim.results.csv_cells import original_text

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


WHY = "fits no node: 2 of 5 nodes have too little free nvidia.com/gpu, 3 are not ready"
NAME = "team-vision/a-very-long-name-of-a-training-job-0123456789"
PLAN = [["DECISION", "JOB", "WHY"], ["wait", NAME, WHY], ["start", "a/b", "within the quota"]]


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("fairlead.cli.output.table.terminal_width", lambda: width)


def test_a_pipe_gets_a_line_for_each_row() -> None:
    assert table_text(PLAN, left=3).count("\n") == 2


def test_on_a_terminal_names_are_shortened_and_the_last_words_wrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_terminal(monkeypatch, 80)
    text = table_text(PLAN, left=3)
    lines = text.split("\n")
    assert max(map(display_width, lines)) <= 80
    assert "…" in text
    assert "456789  " in text, "the end of a name stays, where long names differ"
    assert lines[-1].split() == ["start", "a/b", "within", "the", "quota"]
    words = " ".join(line[display_width(lines[1].partition("fits")[0]) :] for line in lines[1:-1])
    assert " ".join(words.split()) == WHY
    assert table_text(PLAN, left=3, wide=True).count("\n") == 2


def test_a_table_with_many_numbers_is_continued_below(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 40)
    titles = ["GUARANTEED", "BORROW-LIMIT", "ALLOCATED", "LENT"]
    assert table_text(
        [["QUEUE", *titles], ["a", "1", "2", "3", "4"], ["b", "5", "6", "7", "8"]]
    ) == (
        "                   BORROW-\n"
        "QUEUE  GUARANTEED    LIMIT  ALLOCATED\n"
        "a               1        2          3\n"
        "b               5        6          7\n"
        "\n"
        "QUEUE  LENT\n"
        "a         4\n"
        "b         8"
    )


@given(st.integers(40, 120), st.lists(st.lists(st.text(max_size=90), min_size=4, max_size=4)))
def test_no_number_is_lost_whatever_the_width(width: int, rows: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        on_terminal(patch, width)
        numbers = [[*row[:2], f"n{at}", f"m{at}"] for at, row in enumerate(rows)]
        text = table_text([["A", "B", "C", "D"], *numbers], left=2)
    assert all(f"n{at}" in text and f"m{at}" in text for at in range(len(rows)))


@given(st.lists(st.text(alphabet="a,\";|\r\n\t= 漢'-1", max_size=6), min_size=1, max_size=4))
def test_a_line_of_csv_gives_back_its_cells(cells: list[str]) -> None:
    line = csv_line(cells)
    assert line.endswith("\n")
    (found,) = csv.reader(io.StringIO(line, newline=""), strict=True)
    assert list(map(original_text, found)) == cells


def test_no_cell_of_csv_is_a_formula() -> None:
    assert csv_line(["=1+1", "-x", "@x", -1, "-1.5e3", None]) == "'=1+1,'-x,'@x,-1,-1.5e3,\n"
