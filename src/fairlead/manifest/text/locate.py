"""The line on which a path stands in YAML or JSON: looked up only when it is to be shown.

Of YAML an outline is kept, since findings in each of ten thousand pods would keep the nodes of all
of them. Of JSON the standard parser skips every value that is not on the path, so that one warning
about the last of ten thousand pods does not cost a slow look at all of them.
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate
from typing import Final, TypeAlias

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import is_merge_key
from fairlead.manifest.text.path import Path


class _Keys:
    """The outline of a mapping: by key its line, counted from 0, and what lies below it."""

    __slots__ = ("entries", "merged")

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, _Outline | None]] = {}
        self.merged: list[_Keys] = []  # whose keys count too, where they are not given already


class _Items:
    """The outline of a list: the line of each item, counted from 0, and what lies below some."""

    __slots__ = ("below", "lines")

    def __init__(self) -> None:
        self.lines = array("i")
        self.below: dict[int, _Outline] = {}


_Outline: TypeAlias = _Keys | _Items


class Locator:
    """Finds lines in one tree of nodes, without keeping the nodes."""

    def __init__(self, root: Node) -> None:
        """Look below *root*. Cost: one look at every node."""
        self._line = int(root.start_mark.line)
        self._outline = _Outliner().outline(root)

    def line_of(self, path: Path) -> int:
        """Return the line, counted from 0, of the key or list item at *path*.

        Where the path leads nowhere, as for a missing field, it is the line of the deepest
        mapping or list on the way that does exist. Cost: one look-up per step, after the first
        visit of a mapping.
        """
        line, outline = self._line, self._outline
        for step in path:
            found = _child(outline, step)
            if found is None:
                break
            line, outline = found
        return line


def _child(outline: _Outline | None, step: str | int) -> tuple[int, _Outline | None] | None:
    if isinstance(outline, _Keys) and isinstance(step, str):
        if outline.merged:
            _merge(outline)
        return outline.entries.get(step)
    if isinstance(outline, _Items) and isinstance(step, int) and step < len(outline.lines):
        return outline.lines[step], outline.below.get(step)
    return None


def _merge(keys: _Keys) -> None:
    """Take in the keys of all mappings that are merged, be it by way of others."""
    waiting = keys.merged[::-1]  # the first one listed wins, so it is looked at first
    keys.merged = []
    seen = {id(keys)}  # merges may be circular in a document that was refused
    while waiting:
        source = waiting.pop()
        if id(source) not in seen:
            seen.add(id(source))
            for key, entry in source.entries.items():
                keys.entries.setdefault(key, entry)
            waiting += reversed(source.merged)


class _Outliner:
    """Makes outlines without recursion; what several aliases name is outlined once."""

    def __init__(self) -> None:
        self._outlines: dict[int, _Outline] = {}  # by node
        self._waiting: list[Node] = []  # nodes whose outline is still empty

    def outline(self, root: Node) -> _Outline | None:
        outline = self._of(root)
        while self._waiting:
            node = self._waiting.pop()
            empty = self._outlines[id(node)]
            if isinstance(empty, _Keys):
                self._list_keys(node, empty)
            else:
                self._list_items(node, empty)
        return outline

    def _of(self, node: Node) -> _Outline | None:
        """Return the outline of a node, which may be filled later; None if nothing is below."""
        if isinstance(node, ScalarNode) or not node.value:
            return None
        known = self._outlines.get(id(node))
        if known is None:
            known = _Keys() if isinstance(node, MappingNode) else _Items()
            self._outlines[id(node)] = known
            self._waiting.append(node)
        return known

    def _list_keys(self, node: Node, keys: _Keys) -> None:
        for key_node, value_node in node.value:
            if is_merge_key(key_node):
                is_list = isinstance(value_node, SequenceNode)
                sources = map(self._of, value_node.value if is_list else [value_node])
                keys.merged += [source for source in sources if isinstance(source, _Keys)]
            elif isinstance(key_node, ScalarNode):
                entry = key_node.start_mark.line, self._of(value_node)
                keys.entries.setdefault(key_node.value, entry)

    def _list_items(self, node: Node, items: _Items) -> None:
        for index, item in enumerate(node.value):
            items.lines.append(item.start_mark.line)
            below = self._of(item)
            if below is not None:
                items.below[index] = below


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
