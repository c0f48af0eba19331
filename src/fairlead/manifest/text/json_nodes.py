"""JSON text to the same nodes as YAML, for when lines are needed: only after something was found.

JSON is nearly YAML, but not quite (escaped surrogates, long keys, tabs), so it has a small composer
of its own. The fast reader has accepted the syntax already, or stopped at the bound on depth.
"""

import re
from bisect import bisect_right
from json import JSONDecodeError, JSONDecoder

from yaml import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.limits import MAX_DEPTH, MAX_NODES
from fairlead.manifest.text.yaml_nodes import TEXT_TAG, UNTAGGED, TextError, too_deep, too_many

NUMBER_TAG = "tag:yaml.org,2002:float"

_SPACE = re.compile(r"[ \t\n\r]*")
_STRINGS = JSONDecoder()
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[-+.0-9A-Za-z]+")


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
                self._pass(",")
            if self._next() != '"':
                raise self._unexpected()
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
                self._pass(",")
            values.append(self.compose(depth + 1))
        self._pass("]")
        return SequenceNode(UNTAGGED, values, mark)

    def _scalar(self, first: str) -> ScalarNode:
        mark = self._mark()
        if first == '"':
            try:
                value, self.at = _STRINGS.raw_decode(self.text, self.at)
            except JSONDecodeError:
                raise self._unexpected() from None
            if _SURROGATE.search(value):
                raise TextError(
                    "not-utf8",
                    mark.line,
                    "found half of a surrogate pair, expected a whole character",
                    "write the character itself",
                )
            return ScalarNode(TEXT_TAG, value, mark)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self._unexpected()
        self.at = word.end()
        tag = UNTAGGED if word[0] in ("true", "false", "null") else NUMBER_TAG
        return ScalarNode(tag, word[0], mark)

    def _next(self) -> str:
        """Pass over white space and return the character after it; "" at the end."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None, "the pattern matches nothing as well"
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def _pass(self, wanted: str) -> None:
        if self._next() != wanted:
            raise self._unexpected()
        self.at += 1

    def _line(self) -> int:
        return bisect_right(self.breaks, self.at - 1)

    def _mark(self) -> Mark:
        return Mark("", self.at, self._line(), 0, None, 0)

    def _unexpected(self) -> TextError:
        return TextError("syntax", self._line(), "found no valid JSON", "check the brackets")
