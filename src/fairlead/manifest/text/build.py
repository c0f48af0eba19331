"""Nodes to plain values, refusing what a reader of manifests must not accept.

Duplicate keys, tags that would need code, aliases that contain themselves or explode, and numbers
beyond all bounds are reported, each at its own line, and reading goes on, so that one run shows
everything. Merge keys are honoured as Kubernetes honours them.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from fairlead.manifest.text.limits import MAX_ALIASED_NODES, MAX_DEPTH
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.scalar import NumberError, number_value, plain_value
from fairlead.manifest.text.values import REFUSED, Mapping, Refused, Scalar, Value, height
from fairlead.manifest.text.yaml_nodes import (
    RENDER,
    TEMPLATE,
    TEXT_TAG,
    TOO_DEEP,
    UNTAGGED,
    Tally,
)

Remark: TypeAlias = tuple[str, Path, int, str, str]
"""Code, path, line counted from 1, message and fix."""

Report = Callable[[str, Path, int, str, str], None]
"""Takes the parts of a `Remark`."""

MERGE_KEY: Final = "<<"

_PREFIX = "tag:yaml.org,2002:"
_COLLECTION_TAGS = (UNTAGGED, _PREFIX + "map", _PREFIX + "seq")
_NUMBER_TAGS = (_PREFIX + "int", _PREFIX + "float")


def is_merge_key(node: Node) -> bool:
    """Return whether a key stands for "the keys of that mapping too"."""
    return node.tag == UNTAGGED and node.value == MERGE_KEY


class Builder:
    """Builds one value, of a document or a list item; make a new one for each.

    A collection that several aliases name is built once and shared, so the work is linear in the
    text; how often it is repeated is counted against `MAX_ALIASED_NODES` all the same, because
    a walk of the value walks every repetition.
    """

    def __init__(self, report: Report, first_line: int, tally: Tally, path: Path = ()) -> None:
        """Report findings to *report*; *first_line* is where the text of the nodes begins.

        What aliases repeat is added to the *tally* of the file. *path* is where in its document
        the value stands that is built.
        """
        self._report = report
        self._first_line = first_line
        self._trail: list[str | int] = list(path)
        self._near: Node | None = None  # the last key or collection that was passed
        self._built: dict[int, tuple[Value, int] | None] = {}  # by node: value, number of values
        self._count = 0
        self._tally = tally
        self._is_refusing_aliases = False

    def build(self, node: Node) -> Value:
        """Return the value of *node*, with `REFUSED` in place of what was reported."""
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        known = self._built.get(id(node), REFUSED)
        if not isinstance(known, Refused):
            return self._again(node, known)
        self._built[id(node)] = None
        before = self._count
        value = self._collection(node)
        self._built[id(node)] = (value, self._count - before)
        return value

    def _collection(self, node: Node) -> Value:
        if node.tag not in _COLLECTION_TAGS:
            return self._refuse_tag(node)
        if len(self._trail) >= MAX_DEPTH:  # an empty one, which the composer lets pass
            return self._refuse("too-deep", node, TOO_DEEP, "flatten the document")
        self._near = node
        self._count += len(node.value)
        if isinstance(node, MappingNode):
            return self._mapping(node)
        values: list[Value] = []
        for index, child in enumerate(node.value):
            self._trail.append(index)
            values.append(self.build(child))
            self._trail.pop()
        return values

    def _mapping(self, node: MappingNode) -> Mapping:
        mapping: Mapping = {}
        repeated: list[Node] = []
        merged: list[Node] = []
        trail = self._trail
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode) or key_node.tag not in (UNTAGGED, TEXT_TAG):
                self._refuse_key(key_node)
                continue
            self._near = key_node
            key = key_node.value
            if key == MERGE_KEY and is_merge_key(key_node):
                merged.append(value_node)
                continue
            trail.append(key)
            if key in mapping:
                repeated.append(key_node)
                self.build(value_node)  # for its findings only
            else:
                mapping[key] = self.build(value_node)
            trail.pop()
        if repeated:
            self._refuse_repeated(node, repeated)
        for merge_node in merged:
            self._merge(mapping, merge_node)
        return mapping

    def _merge(self, mapping: Mapping, node: Node) -> None:
        """Add the keys of another mapping, or of several, where they are not given already."""
        self._trail.append(MERGE_KEY)
        value = self.build(node)
        self._trail.pop()
        for source in value if isinstance(value, list) else [value]:
            if isinstance(source, dict):
                self._count += len(source)
                for key, each in source.items():
                    mapping.setdefault(key, each)
            elif source is not REFUSED:
                self._refuse(
                    "bad-merge",
                    node,
                    "found a merge key << whose value is no mapping",
                    "let << name the anchor of a mapping, or a list of such names",
                )

    def _again(self, node: Node, known: tuple[Value, int] | None) -> Value:
        """Return what an alias names, if that neither contains the alias nor gets too much."""
        if known is None:
            return self._refuse_alias(node, "that stands within it")
        if self._is_refusing_aliases:
            return REFUSED  # said once is enough: the others follow from the same anchors
        value, count = known
        self._count += count
        self._tally.aliased += count + 1
        if self._tally.aliased > MAX_ALIASED_NODES:
            self._is_refusing_aliases = True
            return self._refuse_alias(
                node, f"after more than {MAX_ALIASED_NODES:,} repeated values in the file"
            )
        if len(self._trail) + height(value) > MAX_DEPTH:
            return self._refuse_alias(node, f"that nests more than {MAX_DEPTH} deep")
        return value

    def _refuse_alias(self, anchored: Node, problem: str) -> Refused:
        # The parser keeps the place of the anchor, not that of the alias: that is here or below.
        message = f"found an alias of the value on line {self._line(anchored)}, {problem}"
        return self._refuse("bad-alias", self._near or anchored, message, "write the values out")

    def _scalar(self, node: ScalarNode) -> Scalar | Refused:
        tag = node.tag
        try:
            if tag == UNTAGGED:
                return plain_value(node.value)
            if tag == TEXT_TAG:
                return str(node.value)
            if tag in _NUMBER_TAGS:
                return number_value(node.value)
        except NumberError as refused:
            fix = "write a number of ordinary size, or put a text in quotes"
            return self._refuse("bad-number", node, str(refused), fix)
        return self._refuse_tag(node)

    def _refuse_tag(self, node: Node) -> Refused:
        tag = str(node.tag).replace(_PREFIX, "!!")
        message = f"found the tag {quote(tag)}, expected plain YAML"
        return self._refuse("custom-tag", node, message, "remove the tag, and write the value out")

    def _refuse_key(self, node: Node) -> None:
        if isinstance(node, MappingNode) and node.flow_style:  # the inner braces of {{ name }}
            self._refuse("template", node, TEMPLATE, RENDER)
        elif isinstance(node, CollectionNode):
            message = "found a mapping or list as a key, expected a text"
            self._refuse("bad-key", node, message, "write the key as a text")
        else:
            message = "found a key with a tag, expected a text"
            self._refuse("bad-key", node, message, "remove the tag")

    def _refuse_repeated(self, node: MappingNode, repeated: list[Node]) -> None:
        first_lines: dict[str, int] = {}
        for key_node, _ in node.value:
            if isinstance(key_node, ScalarNode):
                first_lines.setdefault(key_node.value, self._line(key_node))
        for key_node in repeated:
            key, line = key_node.value, self._line(key_node)
            self._report(
                "duplicate-key",
                (*self._trail, key),
                line,
                f"found the key {quote(key)} twice, on lines {first_lines[key]} and {line}",
                "keep one of the two",
            )

    def _line(self, node: Node) -> int:
        return int(node.start_mark.line) + self._first_line

    def _refuse(self, code: str, node: Node, message: str, fix: str) -> Refused:
        self._report(code, tuple(self._trail), self._line(node), message, fix)
        return REFUSED
