"""Lines that are put together by hand are those that a writer of tables writes."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.results.files import CsvFile, quoted

texts = st.text(st.sampled_from("ab,\"\r\n ;'é"), max_size=6)


@given(texts, texts)
def test_a_line_with_quoted_texts_is_the_line_of_its_cells(queue: str, resource: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        written = []
        for way in ("cells", "text"):
            path = Path(name) / way
            table = CsvFile(path, ("begin", "queue", "resource", "amount"))
            if way == "cells":
                table.add((7, queue, resource, 12))
            else:
                table.add_text(f"7,{quoted((queue, resource))},12\n")
            table.close()
            written.append(path.read_bytes())
    assert written[0] == written[1]
