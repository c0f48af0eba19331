"""Lines that are put together by hand are those that a writer of tables writes."""

import csv
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.results.files import quoted

texts = st.text(st.sampled_from("ab,\"\r\n ;'é"), max_size=6)


@given(st.lists(texts, min_size=2, max_size=4))
def test_a_line_is_that_of_a_writer_of_tables(cells: list[str]) -> None:
    line = StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    assert quoted(cells) == line.getvalue().removesuffix("\r\n")
