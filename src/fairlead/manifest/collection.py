"""All objects of one input, sorted by what they are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from fairlead.manifest.core.objects import Object

Kind = TypeVar("Kind", bound=Object)


class Collection:
    """What was read, in the order of reading, and how many objects were left alone."""

    def __init__(self) -> None:
        """Start empty."""
        self.left_alone: Counter[str] = Counter()  # by kind
        self._by_type: dict[type, list[Object]] = {}

    def add(self, found: Object) -> None:
        """Take in one object."""
        self._by_type.setdefault(type(found), []).append(found)

    def by_type(self) -> Mapping[type, Sequence[Object]]:
        """Return the objects of each type that there is."""
        return self._by_type

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Return the objects of one type."""
        return cast("list[Kind]", self._by_type.get(kind, []))
