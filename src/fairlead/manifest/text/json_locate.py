"""The line on which a path stands in JSON, without taking apart what lies beside the way.

The fast parser skips over every value that is not on the path, so that one warning about the last
of ten thousand pods does not cost a slow look at all of them.
"""

import json
import re
from itertools import accumulate
from typing import Final

from fairlead.manifest.text.path import Path

_STEP = 4096  # characters; one number is kept for each step


class LineIndex:
    """Counts the line ends before a place. Cost: one look at the text, then bounded."""

    def __init__(self, text: str) -> None:
        """Index *text*."""
        self._text = text
        counts = (text.count("\n", at, at + _STEP) for at in range(0, len(text), _STEP))
        self._before = list(accumulate(counts, initial=0))

    def line_at(self, at: int) -> int:
        """Return the line, counted from 0, of the character at *at*."""
        step = at // _STEP
        return self._before[step] + self._text.count("\n", step * _STEP, at)


SPACE: Final = r"[ \t\n\r]*+"  # as a part of a pattern

_SPACE = re.compile(SPACE)


def after_space(text: str, at: int) -> int:
    """Return where the next thing that is no white space begins, from *at* on."""
    space = _SPACE.match(text, at)
    assert space is not None, "the pattern matches nothing as well"
    return space.end()


Children = dict[str | int, tuple[int, int]]
"""Of a mapping or list: where each key or item begins, and where its value does."""

_SKIPPER = json.JSONDecoder(parse_int=str, parse_float=str)  # numbers of any size


class JsonLocator:
    """Finds lines in one JSON text that is known to be valid. Remembers what it has passed."""

    def __init__(self, text: str) -> None:
        """Look in *text*, which holds one value."""
        self._text = text
        self._lines = LineIndex(text)
        self._children: dict[int, Children] = {}  # by where the mapping or list begins

    def line_of(self, path: Path) -> int:
        """Return the line, counted from 0, of the key or list item at *path*.

        Where the path leads nowhere, it is the line of the deepest mapping or list on the way.
        Cost: one look-up per step, after the first visit of a mapping or list.
        """
        at = value_at = after_space(self._text, 0)
        for step in path:
            if value_at not in self._children:
                self._children[value_at] = self._children_of(value_at)
            found = self._children[value_at].get(step)
            if found is None:
                break
            at, value_at = found
        return self._lines.line_at(at)

    def _children_of(self, at: int) -> Children:
        text, children = self._text, Children()
        opening = text[at]
        if opening not in "{[":
            return children
        at = after_space(self._text, at + 1)
        while text[at] not in "}]":
            if text[at] == ",":
                at = after_space(self._text, at + 1)
            start, key = at, len(children)
            if opening == "{":
                key, colon_at = self._skip(at)
                at = after_space(self._text, colon_at + 1)
            children.setdefault(key, (start, at))
            _, at = self._skip(at)
        return children

    def _skip(self, at: int) -> tuple[int, int]:
        """Return the value that begins here, and where the next thing after it begins."""
        value, end = _SKIPPER.raw_decode(self._text, at)
        return value, after_space(self._text, end)
