"""Texts in tables that people open: a spreadsheet must not take one for a formula.

A spreadsheet computes a cell that begins with one of `= + - @`, also behind a tab or line end, and
names of queues and jobs come from anybody. An apostrophe before it says that it is a text. Numbers
stay as they are, and so do texts that are a number.
"""

import re
from typing import Final

FORMULA: Final = "[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"  # the last four are full-width
_MAY_BE_FORMULA: Final = re.compile(f"'*{FORMULA}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def safe_text(text: str) -> str:
    """Return *text* as the cell of a table. Law: `original_text` returns it again."""
    if _MAY_BE_FORMULA.match(text) is None or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"


def original_text(cell: str) -> str:
    """Return the text that a cell stands for."""
    return cell[1:] if cell.startswith("'") and _MAY_BE_FORMULA.match(cell) else cell
