"""Lines that are put together by hand are those that a writer of tables writes."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.results.csv_cells import original_text, safe_text
from fairlead.sim.results.files import CsvFile, quoted, read_rows
from tests.text_table import rows

texts = st.text(st.sampled_from("ab,\"\r\n ;'é"), max_size=6)


@given(st.lists(texts, min_size=2, max_size=4))
def test_a_line_is_that_of_a_writer_of_tables(cells: list[str]) -> None:
    line = StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    assert quoted(cells) == line.getvalue().removesuffix("\r\n")


CELLS = """
    text      cell
    =1+1      '=1+1
    +x        '+x
    -x        '-x
    -1-1      '-1-1
    @x        '@x
    '=x       ''=x
    'x        'x
    -1        -1
    +.5e-3    +.5e-3
    a=b       a=b
"""


@pytest.mark.parametrize("row", rows(CELLS), ids=lambda row: row["text"])
def test_a_text_is_no_formula(row: dict[str, str]) -> None:
    assert safe_text(row["text"]) == row["cell"]


@given(st.text(st.sampled_from("'=+-@\t\r\n1a"), max_size=5))
def test_a_cell_is_no_formula_and_gives_back_its_text(text: str) -> None:
    cell = safe_text(text)
    assert original_text(cell) == text
    assert cell[:1] not in tuple("=+-@\t\r\n") or float(cell) is not None


def test_a_table_gives_back_its_texts(tmp_path: Path) -> None:
    texts = ["=HYPERLINK(1)", "'=x", "-1", "\tx"]
    table = CsvFile(tmp_path / "table.csv", ["name", "number"])
    for text in texts:
        table.add([text, -1])
    table.close()
    assert "'=HYPERLINK(1),-1\n" in (tmp_path / "table.csv").read_text()
    found = read_rows(tmp_path / "table.csv", ["name", "number"], lambda cells: cells)
    assert list(found) == [[text, "-1"] for text in texts]
