"""One line of CSV, as every table of ours is written for spreadsheets and other programs."""

import csv
import io
from collections.abc import Iterable


def csv_line(cells: Iterable[object]) -> str:
    """Return *cells* as one row, with its end of line.

    Law: the standard library's reader gives the same cells as texts, whatever they hold.
    """
    text = io.StringIO(newline="")
    # Only with this end of line does Python 3.11 quote a carriage return in a name.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"
