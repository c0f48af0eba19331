"""Where in a scenario file a defect of a description of work stands, and how to say it there."""

import re
from typing import Final

from fairlead.manifest.text.path import Path
from fairlead.manifest.text.values import Value
from fairlead.model.duration import format_duration
from fairlead.sim.scenario.form.fields import in_file

_STEP: Final = re.compile(r"\[(?P<place>[0-9]+)\]|(?P<name>[^.\[\]]+)")
_SPELT: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_WHOLE: Final = re.compile(r"(?<![0-9.eE+-])-?[0-9]+(?![0-9.eE])")
_NO_TIMES: Final = frozenset({"sigma", "shape", "alpha", "values"})
"""Numbers in findings about these are no lengths of time: weights, for example."""
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


def in_words_of_file(said: str, field: str) -> str:
    """Return what is *said* of *field* as the file would: names of fields, and lengths of time."""
    steps = [step["name"] for step in _STEP.finditer(field) if step["name"] is not None]
    if any(step.endswith("_ms") for step in steps) and steps[-1] not in _NO_TIMES:
        said = _WHOLE.sub(lambda number: format_duration(int(number[0])), said)
    return _SPELT.sub(lambda word: _OTHER_NAMES.get(word[0], in_file(word[0])), said)


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
