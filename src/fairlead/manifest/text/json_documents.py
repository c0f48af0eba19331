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

from yaml import Mark
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import Builder, Report
from fairlead.manifest.text.limits import MAX_DEPTH, MAX_FILE_NODES, MAX_NODES
from fairlead.manifest.text.locate import after_space
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
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|[^\s"{}\[\],:]++')
_CLOSING = ("}", "]")
_WORDS = ("true", "false", "null")


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
    nodes = (token for token in _TOKEN.finditer(text) if token[0] not in _CLOSING)
    return next(islice(nodes, MAX_FILE_NODES, None), None) is not None


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

_HALF_A_PAIR = re.compile(r"[\ud800-\udfff]")


def compose_json(text: str) -> Node:
    """Return the root of the one JSON value in *text*; raise `TextError` beyond the bounds.

    The text must be JSON, down to `MAX_DEPTH`. Cost: linear, with at most `MAX_NODES` nodes.
    """
    around = SequenceNode(UNTAGGED, [])
    open_nodes: list[CollectionNode] = [around]
    count = line = passed = 0
    for token in _TOKEN.finditer(text):
        if token[0] in _CLOSING:
            _pair_keys(open_nodes.pop())
            continue
        line += text.count("\n", passed, token.start())
        passed = token.start()
        if token[0] in "{[" and len(open_nodes) > MAX_DEPTH:
            raise too_deep(line)
        count += 1
        if count > MAX_NODES:
            message = f"found a mistake in JSON of more than {MAX_NODES:,} keys and values"
            fix = "split the text to see where: look for a key twice and for numbers without end"
            raise TextError("too-large", line, message, fix)
        node = _node(token[0], line)
        open_nodes[-1].value.append(node)
        if isinstance(node, CollectionNode):
            open_nodes.append(node)
    root: Node = around.value[0]
    return root


def _pair_keys(node: CollectionNode) -> None:
    """Let a mapping have pairs where keys and values followed each other."""
    if isinstance(node, MappingNode):
        node.value = list(zip(node.value[::2], node.value[1::2], strict=True))


def _node(token: str, line: int) -> Node:
    mark = Mark("", 0, line, 0, None, 0)
    if token == "{":
        return MappingNode(UNTAGGED, [], mark)
    if token == "[":
        return SequenceNode(UNTAGGED, [], mark)
    if not token.startswith('"'):
        return ScalarNode(UNTAGGED if token in _WORDS else NUMBER_TAG, token, mark)
    text = json.loads(token)
    if _HALF_A_PAIR.search(text):
        message = "found half of a surrogate pair, expected a whole character"
        raise TextError("not-utf8", line, message, "write the character itself")
    return ScalarNode(TEXT_TAG, text, mark)
