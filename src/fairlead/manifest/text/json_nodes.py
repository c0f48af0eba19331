"""JSON text to the same nodes as YAML, for when lines are needed: only after something was found.

JSON is nearly YAML, but not quite (escaped surrogates, long keys, tabs), so it has a small composer
of its own. The fast reader has accepted the syntax already, or stopped at the bound on depth.
"""

import re
from json import JSONDecoder

from yaml import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.json_locate import LineIndex, after_space
from fairlead.manifest.text.limits import MAX_DEPTH, MAX_NODES
from fairlead.manifest.text.yaml_nodes import TEXT_TAG, UNTAGGED, TextError, too_deep

NUMBER_TAG = "tag:yaml.org,2002:float"

_STRINGS = JSONDecoder()
_SURROGATE = re.compile(r"[\ud800-\udfff]")
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

    def _mark(self) -> Mark:
        """Return the place of the node that begins here, and count it."""
        self.count += 1
        line = self.lines.line_at(self.at)
        if self.count > MAX_NODES:
            message = f"found a mistake in JSON of more than {MAX_NODES:,} keys and values"
            fix = "split the text to see where: look for a key twice and for numbers without end"
            raise TextError("too-large", line, message, fix)
        return Mark("", self.at, line, 0, None, 0)
