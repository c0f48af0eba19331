"""Where in a scenario file a defect of a description of work stands, and how to say it there."""

import re
from typing import Final

from fairlead.manifest.text.path import Path
from fairlead.manifest.text.values import Value
from fairlead.sim.scenario.field_types import in_file

_STEP: Final = re.compile(r"\[(?P<place>[0-9]+)\]|(?P<name>[^.\[\]]+)")
_SPELT: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_OTHER_NAMES: Final = {
    "submit_ms": "times",
    "jobs_at_most": "atMost",
    "resource": "loadOf",
    "arrivals": "perHour",
}
"""What the file calls otherwise; ``arrivals`` only where there is no such key."""


def defect_path(written: Value, field: str) -> Path:
    """Return where the *field* of a description stands below what is *written* of it.

    The file has words in between that a description has not, such as the way in which a number is
    drawn; and a description has words that the file has not. Both are passed over.
    """
    path: list[str | int] = []
    for step in _STEP.finditer(field):
        for key in _names(step):
            found = _found(written, key)
            if found is not None:
                way, written = found
                path += way
                break
    return tuple(path)


def in_words_of_file(problem: str) -> str:
    """Return *problem* with fields called as the file calls them."""
    return _SPELT.sub(lambda word: _OTHER_NAMES.get(word[0], in_file(word[0])), problem)


def _names(step: re.Match[str]) -> list[str | int]:
    if step["place"] is not None:
        return [int(step["place"])]
    name = step["name"]
    return [in_file(name), name, _OTHER_NAMES.get(name, name)]


def _found(written: Value, key: str | int) -> tuple[list[str | int], Value] | None:
    if isinstance(written, list):
        is_there = isinstance(key, int) and key < len(written)
        return ([key], written[key]) if is_there and isinstance(key, int) else None
    if not isinstance(written, dict) or not isinstance(key, str):
        return None
    if key in written:
        return [key], written[key]
    for between, inner in written.items():
        if isinstance(inner, dict) and key in inner:
            return [between, key], inner[key]
    return None
