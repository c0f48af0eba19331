"""The line on which a path stands in YAML or JSON: looked up only when it is to be shown.

Of YAML an outline is kept, since findings in each of ten thousand pods would keep the nodes of all
of them. Of JSON the standard parser skips every value that is not on the path, so that one warning
about the last of ten thousand pods does not cost a slow look at all of them.
"""

from __future__ import annotations

import json
import re
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import is_merge_key
from fairlead.manifest.text.line_index import LineIndex
from fairlead.manifest.text.path import Path


class _Outline:
    """What is below a mapping or list: by key or index its line, from 0, and what is below that."""

    __slots__ = ("entries", "merged")

    def __init__(self) -> None:
        self.entries: dict[str | int, tuple[int, _Outline]] = {}
        self.merged: list[_Outline] = []  # whose keys count too, where they are not given already


_NOTHING: Final = _Outline()


class Locator:
    """Finds lines in one tree of nodes, without keeping the nodes."""

    def __init__(self, root: Node) -> None:
        """Look below *root*. Cost: one look at every node."""
        self._line = int(root.start_mark.line)
        self._outline = _outline_of(root, {})

    def line_of(self, path: Path) -> int:
        """Return the line, counted from 0, of the key or list item at *path*.

        Where the path leads nowhere, as for a missing field, it is the line of the deepest
        mapping or list on the way that does exist. Cost: one look-up per step, after the first
        visit of a mapping.
        """
        line, outline = self._line, self._outline
        for step in path:
            _merge(outline)
            found = outline.entries.get(step)
            if found is None:
                break
            line, outline = found
        return line


def _outline_of(node: Node, known: dict[int, _Outline]) -> _Outline:
    """Return the outline of a node; what several aliases name is outlined once.

    Every node is visited in the order of the text, so that an alias never leads on to nodes that
    are not *known*, and the recursion goes no deeper than the text is nested.
    """
    if isinstance(node, ScalarNode) or not node.value:
        return _NOTHING
    if id(node) in known:
        return known[id(node)]
    outline = known[id(node)] = _Outline()
    if isinstance(node, SequenceNode):
        for at, item in enumerate(node.value):
            outline.entries[at] = item.start_mark.line, _outline_of(item, known)
        return outline
    for key, value in node.value:
        _outline_of(key, known)
        below = _outline_of(value, known)
        if is_merge_key(key):
            sources = value.value if isinstance(value, SequenceNode) else [value]
            mappings = (each for each in sources if isinstance(each, MappingNode))
            outline.merged += [_outline_of(each, known) for each in mappings]
        elif isinstance(key, ScalarNode):
            outline.entries.setdefault(key.value, (key.start_mark.line, below))
    return outline


def _merge(outline: _Outline) -> None:
    """Take in the keys of all mappings that are merged, be it by way of others."""
    waiting = outline.merged[::-1]  # the first one listed wins, so it is looked at first
    outline.merged = []
    seen = {id(outline)}  # merges may be circular in a document that was refused
    while waiting:
        source = waiting.pop()
        if id(source) not in seen:
            seen.add(id(source))
            for key, entry in source.entries.items():
                outline.entries.setdefault(key, entry)
            waiting += reversed(source.merged)


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
