"""YAML text to a tree of nodes that know their line, with every bound kept while composing.

The C parser does the work. Two things need care: it recurses in C for nested collections, so depth
is bounded here before the stack is (a hundred thousand brackets crash it otherwise), and its error
texts are for people who know YAML, so the common mistakes get a cure in plain words.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.nodes import Node, ScalarNode

from fairlead.manifest.text.limits import MAX_DEPTH, MAX_NODES

UNTAGGED = ""  # a plain word, or a collection: its meaning is ours to decide
TEXT_TAG = "tag:yaml.org,2002:str"  # quoted, or a block of text

TOO_DEEP = f"found more than {MAX_DEPTH} mappings and lists within each other"

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TextError(Exception):
    """A text that cannot be composed: one finding, with its line counted from 0."""

    def __init__(self, code: str, line: int, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
        self.fix = fix


def compose_yaml(text: str) -> Iterator[Node]:
    """Yield the root of each document in *text*; raise `TextError` where it is not YAML.

    Aliases point at the node that they name, so the result may share nodes and may even be
    circular; nothing is copied. Cost: linear in the text.
    """
    try:
        composer = _Composer(text)
        while composer.check_node():
            root = composer.get_node()
            assert root is not None, "there is a node, says the line above"
            yield root
            composer.count = 0
    except yaml.MarkedYAMLError as error:
        raise _marked(error, text) from None
    except yaml.YAMLError:
        raise _unreadable(text) from None


class _Composer(yaml.CBaseLoader):
    """The C composer with our tags; it calls the three methods below for every node."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.count = 0

    def resolve(self, kind: type[Node], _value: str | None, implicit: Any) -> str:
        return TEXT_TAG if kind is ScalarNode and not implicit[0] else UNTAGGED

    def descend_resolver(self, parent: Node | None, _index: object) -> None:
        self.depth += 1
        self.count += 1
        # A scalar may stand one level below the deepest collection.
        if self.depth > MAX_DEPTH + 1 and parent is not None:
            raise too_deep(parent.start_mark.line)
        if self.count > MAX_NODES and parent is not None:
            raise too_many(parent.start_mark.line)

    def ascend_resolver(self) -> None:
        self.depth -= 1


def too_deep(line: int) -> TextError:
    """Say that the bound on depth is exceeded."""
    return TextError("too-deep", line, TOO_DEEP, "flatten the document")


def too_many(line: int) -> TextError:
    """Say that the bound on the values of one document is exceeded."""
    return TextError(
        "too-large",
        line,
        f"found more than {MAX_NODES:,} values in one document",
        "split the document",
    )


def _marked(error: yaml.MarkedYAMLError, text: str) -> TextError:
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    lines = text.split("\n", line + 1)
    before = lines[line][: mark.column + 1] if mark and line < len(lines) else ""
    if before.endswith("\t") and not before.strip():
        return TextError(
            "tab-indentation", line, "found a tab, expected spaces", "indent with spaces only"
        )
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
        text.count("\n", 0, found.start()),
        f"found the character U+{ord(found[0]):04X}, expected text",
        "remove the character",
    )
