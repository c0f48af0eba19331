"""Lists of objects to the objects in them: ``kubectl get -o yaml`` writes a ``List``."""

from collections.abc import Callable, Iterator
from typing import Final

from fairlead.manifest.text.path import Path
from fairlead.manifest.text.values import REFUSED, Mapping, Value

ITEMS: Final = "items"

_LIST = "List"

Refuse = Callable[[Path, Value], None]


def unfold(value: Value, refuse: Refuse, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield *value*, or each of its items if it is a list of objects, with their paths.

    Items of a typed list such as ``QueueList`` may leave out their own type, as the API server
    does; they get it from the list. Lists may hold lists. Items that are no list go to *refuse*.
    """
    if not isinstance(value, dict) or not is_list(value):
        yield path, value
        return
    items = value[ITEMS]
    if not isinstance(items, list):
        if items is not None and items is not REFUSED:
            refuse((*path, ITEMS), items)
        return
    for index, item in enumerate(items):
        yield from unfold(typed(item, value), refuse, (*path, ITEMS, index))


def is_list(value: Mapping) -> bool:
    """Tell whether a mapping stands for the objects in its items."""
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith(_LIST) and ITEMS in value


def typed(item: Value, of: Mapping) -> Value:
    """Give an item the type that its list says, if it says none itself."""
    kind = of["kind"]
    if not isinstance(item, dict) or "kind" in item or not isinstance(kind, str) or kind == _LIST:
        return item
    return {"apiVersion": of.get("apiVersion"), "kind": kind.removesuffix(_LIST), **item}
