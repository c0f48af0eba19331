"""Queues in a tree: parents that are swapped by two updates, and cycles in between."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from tests.manifest.translate.api_server import KindKey, Object
from tests.manifest.translate.world import World


class TreeWorld(World):
    """A cluster with objects of which one may name another of its kind as its parent."""

    tree: ClassVar[KindKey]
    parent_field: ClassVar[str]

    def swap_parents(self) -> None:
        """A queue and its parent change places by two updates, with a cycle in between."""
        below = self.some(self.tree, where=lambda each: self.parent_field in each["spec"])
        if below is None:
            return
        parent = self.server.objects[below]["spec"][self.parent_field]
        above = next((key for key in self.server.keys(self.tree) if key.name == parent), None)
        if above is None or above == below:
            return
        self.change(above, lambda each: each["spec"].update({self.parent_field: below.name}))
        self.change(below, self.unhang)

    def unhang(self, value: Object) -> None:
        """Let a queue stand at the top."""
        value["spec"].pop(self.parent_field, None)

    def has_cycle(self, values: Iterable[Object]) -> bool:
        """Return whether a queue among *values* is its own ancestor."""
        parents = self._parents(values)
        return any(_is_above_itself(name, parents) for name in parents)

    def break_cycles(self) -> None:
        """Let every queue that is its own ancestor stand at the top."""
        for key in self.server.keys(self.tree):
            if _is_above_itself(key.name, self._parents(self.server.every(self.tree))):
                self.change(key, self.unhang)

    def _parents(self, values: Iterable[Object]) -> dict[str, str]:
        return {
            each["metadata"]["name"]: each["spec"].get(self.parent_field, "")
            for each in values
            if each["kind"] == self.tree.kind
        }


def _is_above_itself(name: str, parents: Mapping[str, str]) -> bool:
    at, seen = parents[name], {name}
    while at in parents and at not in seen:
        seen.add(at)
        at = parents[at]
    return at == name
