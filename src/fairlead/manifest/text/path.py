"""Where in a document a value stands, as data and as text: ``$.spec.resources.gpu.quota``."""

import json
import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys of mappings and indices of lists, from the root down."""

MAX_SHOWN = 60

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def path_text(path: Path) -> str:
    """Write a path for people; keys that are no plain words stand in brackets and quotes."""
    return "$" + "".join(map(_step, path))


def quote(text: str) -> str:
    """Show a user's text on one line, cut when long, with nothing that a terminal would obey."""
    shown = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
    quoted = json.dumps(shown, ensure_ascii=False)
    if quoted.isprintable():
        return quoted
    return "".join(map(_printable, quoted))


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    return "\\u007f" if letter == "\x7f" else json.dumps(letter)[1:-1]  # which lets delete pass


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) <= MAX_SHOWN and _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    return f"[{quote(step)}]"
