"""The line on which a path stands: looked up only when there is something to say about it."""

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import is_merge_key
from fairlead.manifest.text.path import Path

Entries = dict[str, tuple[int, Node]]
"""Of a mapping: the line of each key, counted from 0, and its value."""


class Locator:
    """Finds lines in one tree of nodes. Remembers the keys of the mappings that it has passed."""

    def __init__(self, root: Node) -> None:
        """Look below *root*."""
        self._root = root
        self._entries: dict[int, Entries] = {}  # by node

    def line_of(self, path: Path) -> int:
        """Return the line, counted from 0, of the key or list item at *path*.

        Where the path leads nowhere, as for a missing field, it is the line of the deepest
        mapping or list on the way that does exist. Cost: one look-up per step, after the first
        visit of a mapping.
        """
        node, line = self._root, int(self._root.start_mark.line)
        for step in path:
            found = self._child(node, step)
            if found is None:
                break
            line, node = found
        return line

    def _child(self, node: Node, step: str | int) -> tuple[int, Node] | None:
        if isinstance(step, str):
            if id(node) not in self._entries:
                self._entries[id(node)] = _entries(node)
            return self._entries[id(node)].get(step)
        if not isinstance(node, SequenceNode) or step >= len(node.value):
            return None
        item = node.value[step]
        return item.start_mark.line, item


def _entries(node: Node) -> Entries:
    """List the keys of a mapping, then those of the mappings that are merged into it."""
    entries: Entries = {}
    waiting = [node]
    seen: set[int] = set()  # merges may be circular in a document that was refused
    while waiting:
        mapping = waiting.pop()
        if not isinstance(mapping, MappingNode) or id(mapping) in seen:
            continue
        seen.add(id(mapping))
        merged: list[Node] = []
        for key_node, value_node in mapping.value:
            if is_merge_key(key_node):
                is_list = isinstance(value_node, SequenceNode)
                merged += value_node.value if is_list else [value_node]
            elif isinstance(key_node, ScalarNode):
                entries.setdefault(key_node.value, (key_node.start_mark.line, value_node))
        waiting += reversed(merged)  # the first one listed wins, so it is looked at first
    return entries
