"""YAML text to a tree of nodes that know their line, with every bound kept while composing.

The C parser does the work. Two things need care: it recurses in C for nested collections, so depth
is bounded here before the stack is (a hundred thousand brackets crash it otherwise), and its error
texts are for people who know YAML, so the common mistakes get a cure in plain words.
"""

import re
from typing import Any, Final

import yaml
from yaml import Mark
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode

from fairlead.manifest.text.limits import MAX_DEPTH, MAX_FILE_NODES, MAX_NODES
from fairlead.manifest.text.line_index import LineIndex, line_at

UNTAGGED = ""  # a plain word, or a collection: its meaning is ours to decide
TEXT_TAG = "tag:yaml.org,2002:str"  # quoted, or a block of text

TOO_DEEP = f"found more than {MAX_DEPTH} mappings and lists within each other"

TEMPLATE: Final = "found a template ({{ ... }}), expected plain YAML"
RENDER: Final = "run helm template first, and read what it writes"

OTHER_BREAKS: Final = "\x85\u2028\u2029"
"""Ends of lines to the parser, but to neither editors nor us."""

_MAX_LEVELS = MAX_DEPTH + 1  # a scalar may stand one level below the deepest collection
_PLACEHOLDER = re.compile(r"^[^\n#'\"]*\{\{", re.MULTILINE)  # in no comment and no quotes
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TextError(Exception):
    """A text that cannot be composed: one finding, with its line counted from 0."""

    def __init__(self, code: str, line: int, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
        self.fix = fix


class Tally:
    """What one file has cost so far: nodes, keys included, and values that aliases repeat."""

    def __init__(self) -> None:
        """Begin with none."""
        self.nodes = 0
        self.aliased = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether the file holds more than it may."""
        return self.nodes > MAX_FILE_NODES


def compose_yaml(text: str, tally: Tally) -> Node | None:
    """Return the root of the one document in *text*, or None; raise `TextError` if it is not YAML.

    Aliases point at the node that they name, so the result may share nodes and may even be
    circular; nothing is copied. Its nodes are added to *tally*. Cost: linear in the text, about
    2 microseconds and 400 bytes for each node.
    """
    # An alias makes no node, but an item of a list all the same.
    if "&" in text and text.count("*") > MAX_NODES:
        raise too_many(0)
    try:
        return _compose(text, tally)
    except yaml.MarkedYAMLError as error:
        wrong = _marked(error, text)
    except yaml.YAMLError:
        wrong = _unreadable(text)
    # Raised out here, it keeps neither the first error nor the parser behind that alive: while
    # the collector is paused, nothing would clear them away.
    try:
        raise wrong
    finally:
        del wrong


def _compose(text: str, tally: Tally) -> Node | None:
    composer = _Composer(text, min(MAX_NODES, MAX_FILE_NODES - tally.nodes))
    try:
        root: Node | None = composer.get_single_node()
    finally:
        tally.nodes += composer.count
    if root and has_other_breaks(text):
        _count_lines_again(root, LineIndex(text))
    return root


def has_other_breaks(text: str) -> bool:
    """Return whether the parser counts more lines in *text* than an editor shows."""
    return any(line_break in text for line_break in OTHER_BREAKS)


def _count_lines_again(root: Node, lines: LineIndex) -> None:
    """Put every node on the line that an editor shows. Cost: one look at every node."""
    waiting, seen = [root], {id(root)}  # aliases share nodes, and may make circles
    while waiting:
        node = waiting.pop()
        at = node.start_mark.index
        node.start_mark = Mark("", at, lines.line_at(at), 0, None, 0)
        if isinstance(node, ScalarNode):
            continue
        pairs = isinstance(node, MappingNode)
        for child in [each for pair in node.value for each in pair] if pairs else node.value:
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)


class _Composer(CParser):
    """The C composer with our tags; it calls the next three methods for every node."""

    __slots__ = ("count", "depth", "most", "text")  # read and written for every node

    def __init__(self, text: str, most: int) -> None:
        super().__init__(text)
        self.depth = 0
        self.count = 0
        self.most = most
        self.text = text

    @staticmethod
    def resolve(kind: type[Node], _value: str | None, implicit: Any) -> str:
        return TEXT_TAG if kind is ScalarNode and not implicit[0] else UNTAGGED

    def descend_resolver(self, parent: Node | None, _index: object) -> None:
        self.depth += 1
        self.count += 1
        if self.depth > _MAX_LEVELS or self.count > self.most:
            raise self._exceeded(line_at(self.text, parent.start_mark.index) if parent else 0)

    def ascend_resolver(self) -> None:
        self.depth -= 1

    def _exceeded(self, line: int) -> TextError:
        if self.depth > _MAX_LEVELS:
            return too_deep(line)
        return too_many(line) if self.count > MAX_NODES else too_many_in_file(line)


def too_deep(line: int) -> TextError:
    """Say that the bound on depth is exceeded."""
    return TextError("too-deep", line, TOO_DEEP, "flatten the document")


def too_many(line: int) -> TextError:
    """Say that the bound on one document is exceeded."""
    message = f"found more than {MAX_NODES:,} keys and values in one document or list item"
    return TextError("too-large", line, message, "split the document, or write it as JSON")


def too_many_in_file(line: int) -> TextError:
    """Say that the bound on one file is exceeded."""
    message = f"found more than {MAX_FILE_NODES:,} keys and values in one file"
    return TextError("too-large", line, message, "split the file")


def _marked(error: yaml.MarkedYAMLError, text: str) -> TextError:
    mark = error.problem_mark or error.context_mark
    at = mark.index if mark else 0
    line = line_at(text, at)
    before = text[text.rfind("\n", 0, at) + 1 : at + 1]
    if before.endswith("\t") and not before.strip():
        return TextError(
            "tab-indentation", line, "found a tab, expected spaces", "indent with spaces only"
        )
    placeholder = _PLACEHOLDER.search(text)
    if placeholder is not None:
        return TextError("template", line_at(text, placeholder.end()), TEMPLATE, RENDER)
    message = f"found no valid YAML: {error.problem}"
    if error.context:
        message += f" ({error.context})"
    return TextError("syntax", line, message, _cure(str(error.problem)))


def _cure(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "put a text that contains a colon in quotes, and indent keys alike"
    if "cannot start any token" in problem:
        return "put a text that begins with a special character, such as @ or %, in quotes"
    if "undefined alias" in problem:
        return (
            "define the anchor with & before it is used, or put a text that begins with * in quotes"
        )
    return (
        "look for a missing colon, quote or bracket, or uneven indentation, at or above this line"
    )


def _unreadable(text: str) -> TextError:
    found = _FORBIDDEN.search(text)
    if found is None:
        return TextError("syntax", 0, "found no valid YAML", "check the file's encoding")
    return TextError(
        "control-character",
        line_at(text, found.start()),
        f"found the character U+{ord(found[0]):04X}, expected text",
        "remove the character",
    )
