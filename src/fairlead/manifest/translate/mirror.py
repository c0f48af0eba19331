"""The objects of a cluster by type and name, each in its last usable version."""

from typing import TypeVar, cast

from fairlead.manifest.core.objects import Object

Kind = TypeVar("Kind", bound=Object)


class Mirror:
    """The last usable version of each object. The inbox writes it, and rule sets read it."""

    def __init__(self) -> None:
        """Begin without objects."""
        self._by_type: dict[type, dict[str, Object]] = {}

    def of(self, kind: type[Kind]) -> dict[str, Kind]:
        """Return the objects of one type by name: the same mapping for as long as the mirror is."""
        return cast("dict[str, Kind]", self._by_type.setdefault(kind, {}))

    def put(self, found: Object) -> Object | None:
        """Take an object in; returns the version that it replaces, if any."""
        known, name = self._by_type.setdefault(type(found), {}), found.key()
        before = known.get(name)
        known[name] = found
        return before

    def get(self, kind: type, name: str) -> Object | None:
        """Return an object; None: it is not there."""
        return self._by_type.get(kind, {}).get(name)

    def drop(self, kind: type, name: str) -> Object | None:
        """Let an object be gone; returns its last version, if there was one."""
        return self._by_type.get(kind, {}).pop(name, None)

    def single(self, kind: type[Kind]) -> Kind | None:
        """Return the one object of a type that a cluster has at most one of."""
        return next(iter(self.of(kind).values()), None)
