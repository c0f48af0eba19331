"""JSON text to values, fast: the standard parser with exact numbers and an eye on every object.

The parser cannot say where a duplicate key or a bad number stands. So its hooks only note that
something is odd; then the text is read again, slowly, to the same nodes as YAML, which have lines.
JSON is nearly YAML, but not quite (escaped surrogates, long keys, tabs), so these nodes have a
small composer of their own.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from json import JSONDecoder

from yaml import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import Builder, Report
from fairlead.manifest.text.limits import MAX_DEPTH, MAX_FILE_NODES, MAX_NODES
from fairlead.manifest.text.locate import LineIndex, after_space
from fairlead.manifest.text.scalar import NumberError, number_value
from fairlead.manifest.text.values import REFUSED, Mapping, Value, height
from fairlead.manifest.text.yaml_nodes import (
    TEXT_TAG,
    UNTAGGED,
    Tally,
    TextError,
    too_deep,
    too_many_in_file,
)

_FIX = "look for a missing comma, quote or bracket, or one too many, at or above this line"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NODE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[]|[^\s"{}\[\],:]++')


def looks_like_json(text: str) -> bool:
    """Return whether the text begins as a JSON object or list does."""
    at = after_space(text, 0)
    return text[at : at + 1] in ("{", "[")


def cut_json(text: str, report: Report) -> Iterator[tuple[int, str, Value]]:
    """Yield line, text and value of each JSON value in *text*; values may simply follow each other.

    The first syntax error ends it and is raised as `TextError`, with its line from 1. Cost: linear.
    """
    if _has_too_many_nodes(text):
        told = too_many_in_file(0)
        report(told.code, (), 1, told.message, told.fix)
        return
    at, line = after_space(text, 0), 1
    line += text.count("\n", 0, at)
    while at < len(text):
        reader = _FastReader()
        try:
            value, end = reader.read(text, at)
        except json.JSONDecodeError as wrong:
            raise TextError(
                "syntax", wrong.lineno, f"found no valid JSON: {wrong.msg}", _FIX
            ) from None
        piece = text[at:end]
        if reader.is_odd or _is_odd(value, piece):
            value = _slowly(piece, line, report)
        yield line, piece, value
        after = after_space(text, end)
        line += text.count("\n", at, after)
        at = after


def _has_too_many_nodes(text: str) -> bool:
    """Return whether the text holds more keys and values than a file may, before any is made."""
    # Every value but the first follows one of these, and every key a colon; those in texts do no
    # harm, but ask for a closer look.
    if sum(map(text.count, ",{[:")) < MAX_FILE_NODES:
        return False
    return next(islice(_NODE.finditer(text), MAX_FILE_NODES, None), None) is not None


def _is_odd(value: Value, text: str) -> bool:
    """Return whether the careful reader must look at what the fast one has accepted."""
    return height(value) > MAX_DEPTH or _has_half_a_character(value, text)


def _has_half_a_character(value: Value, text: str) -> bool:
    if not _SURROGATE.search(text):
        return False
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return True
    return False


def _slowly(piece: str, first_line: int, report: Report) -> Value:
    try:
        return Builder(report, first_line, Tally()).build(compose_json(piece))
    except TextError as refused:
        report(refused.code, (), refused.line + first_line, refused.message, refused.fix)
        return REFUSED


class _FastReader:
    def __init__(self) -> None:
        self.is_odd = False

    def read(self, text: str, at: int) -> tuple[Value, int]:
        decoder = json.JSONDecoder(
            object_pairs_hook=self._mapping,
            parse_int=self._number,
            parse_float=self._number,
            parse_constant=self._constant,
        )
        try:
            return decoder.raw_decode(text, at)
        except RecursionError:
            self.is_odd = True
            return None, len(text)

    def _mapping(self, pairs: list[tuple[str, Value]]) -> Mapping:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            self.is_odd = True
        return mapping

    def _number(self, text: str) -> int | Decimal:
        try:
            return number_value(text)
        except NumberError:
            self.is_odd = True
            return 0

    def _constant(self, _text: str) -> int:
        self.is_odd = True
        return 0


NUMBER_TAG = "tag:yaml.org,2002:float"

_STRINGS = JSONDecoder()
_HALF_A_PAIR = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[-+.0-9A-Za-z]+")


def compose_json(text: str) -> Node:
    """Return the root of the one JSON value in *text*; raise `TextError` beyond the bounds.

    The text must be JSON, down to `MAX_DEPTH`. Cost: linear, with at most `MAX_NODES` nodes.
    """
    return _Composer(text).compose(1)


class _Composer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.count = 0
        self.lines = LineIndex(text)

    def compose(self, depth: int) -> Node:
        first = self._next()
        if first not in ("{", "["):
            return self._scalar(first)
        if depth > MAX_DEPTH:
            raise too_deep(self.lines.line_at(self.at))
        mark = self._mark()
        if first == "{":
            return MappingNode(UNTAGGED, self._pairs(depth), mark)
        return SequenceNode(UNTAGGED, self._items(depth), mark)

    def _pairs(self, depth: int) -> list[tuple[Node, Node]]:
        pairs: list[tuple[Node, Node]] = []
        self.at += 1
        while (following := self._next()) != "}":
            self.at += following == ","
            key = self._scalar(self._next())
            assert self._next() == ":"
            self.at += 1
            pairs.append((key, self.compose(depth + 1)))
        self.at += 1
        return pairs

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        self.at += 1
        while (following := self._next()) != "]":
            self.at += following == ","
            items.append(self.compose(depth + 1))
        self.at += 1
        return items

    def _scalar(self, first: str) -> ScalarNode:
        mark = self._mark()
        if first == '"':
            return ScalarNode(TEXT_TAG, self._text(mark.line), mark)
        word = _WORD.match(self.text, self.at)
        assert word is not None, self.text[self.at :][:20]
        self.at = word.end()
        tag = UNTAGGED if word[0] in ("true", "false", "null") else NUMBER_TAG
        return ScalarNode(tag, word[0], mark)

    def _text(self, line: int) -> str:
        value, self.at = _STRINGS.raw_decode(self.text, self.at)
        if _HALF_A_PAIR.search(value):
            raise TextError(
                "not-utf8",
                line,
                "found half of a surrogate pair, expected a whole character",
                "write the character itself",
            )
        return str(value)

    def _next(self) -> str:
        """Pass over white space and return the character after it; "" at the end."""
        self.at = after_space(self.text, self.at)
        return self.text[self.at : self.at + 1]

    def _mark(self) -> Mark:
        """Return the place of the node that begins here, and count it."""
        self.count += 1
        line = self.lines.line_at(self.at)
        if self.count > MAX_NODES:
            message = f"found a mistake in JSON of more than {MAX_NODES:,} keys and values"
            fix = "split the text to see where: look for a key twice and for numbers without end"
            raise TextError("too-large", line, message, fix)
        return Mark("", self.at, line, 0, None, 0)
