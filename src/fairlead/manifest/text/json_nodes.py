"""JSON text to the same nodes as YAML, for when lines are needed: only after something was found.

JSON is nearly YAML, but not quite (escaped surrogates, long keys, tabs), so it has a small composer
of its own. It also says what is wrong with a text that is no JSON, and where: the words and places
of the standard parser differ between versions of Python.
"""

import re
from bisect import bisect_right
from json import JSONDecodeError, JSONDecoder

from yaml import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.json_space import after_space
from fairlead.manifest.text.limits import MAX_DEPTH, MAX_NODES
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.yaml_nodes import TEXT_TAG, UNTAGGED, TextError, too_deep, too_many

NUMBER_TAG = "tag:yaml.org,2002:float"

_STRINGS = JSONDecoder()
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[-+.0-9A-Za-z_]+")
_VALUE = re.compile(  # the last three are no JSON, but told apart from it by name
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null"
    r"|NaN|-?Infinity"
)


def compose_json(text: str) -> Node:
    """Return the root of the one JSON value in *text*; raise `TextError` where it is none.

    Cost: linear in the text, with recursion no deeper than `MAX_DEPTH`.
    """
    return _Composer(text).compose(1)


class _Composer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.count = 0
        self.breaks = [found.start() for found in re.finditer("\n", text)]

    def compose(self, depth: int) -> Node:
        first = self._next()
        self.count += 1
        if self.count > MAX_NODES:
            raise too_many(self._line())
        if first not in ("{", "["):
            return self._scalar(first)
        if depth > MAX_DEPTH:
            raise too_deep(self._line())
        return self._mapping(depth) if first == "{" else self._list(depth)

    def _mapping(self, depth: int) -> MappingNode:
        mark = self._mark()
        pairs: list[tuple[Node, Node]] = []
        self._pass("{")
        while self._next() != "}":
            if pairs:
                self._pass(",", or_else="}")
            if self._next() != '"':
                raise self._unexpected("a key in double quotes")
            key = self._scalar('"')
            self._pass(":")
            pairs.append((key, self.compose(depth + 1)))
        self._pass("}")
        return MappingNode(UNTAGGED, pairs, mark)

    def _list(self, depth: int) -> SequenceNode:
        mark = self._mark()
        values: list[Node] = []
        self._pass("[")
        while self._next() != "]":
            if values:
                self._pass(",", or_else="]")
            values.append(self.compose(depth + 1))
        self._pass("]")
        return SequenceNode(UNTAGGED, values, mark)

    def _scalar(self, first: str) -> ScalarNode:
        mark = self._mark()
        if first == '"':
            return ScalarNode(TEXT_TAG, self._text(mark.line), mark)
        word = _WORD.match(self.text, self.at)
        if word is None or not _VALUE.fullmatch(word[0]):
            raise self._unexpected("a value")
        self.at = word.end()
        tag = UNTAGGED if word[0] in ("true", "false", "null") else NUMBER_TAG
        return ScalarNode(tag, word[0], mark)

    def _text(self, line: int) -> str:
        try:
            value, self.at = _STRINGS.raw_decode(self.text, self.at)
        except JSONDecodeError:
            message = "found a text without its end, with a line break, or with a wrong escape"
            fix = 'end it with ", and write a line break as \\n and a backslash as \\\\'
            raise TextError("syntax", line, message, fix) from None
        if _SURROGATE.search(value):
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

    def _pass(self, wanted: str, *, or_else: str = "") -> None:
        if self._next() != wanted:
            raise self._unexpected(f"{wanted} or {or_else}" if or_else else wanted)
        self.at += 1

    def _line(self) -> int:
        return bisect_right(self.breaks, self.at - 1)

    def _mark(self) -> Mark:
        return Mark("", self.at, self._line(), 0, None, 0)

    def _unexpected(self, expected: str) -> TextError:
        word = _WORD.match(self.text, self.at)
        found = quote(word[0] if word else self._next()) if self._next() else "the end of the text"
        message = f"found {found}, expected {expected}"
        return TextError("syntax", self._line(), message, "mend the JSON at or above this line")
