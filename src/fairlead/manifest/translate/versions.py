"""Which facts about objects are news.

A watch delivers the changes of one kind in order. But an answer to a write of ours may overtake it,
a new watch repeats what was known, and an object may be replaced by another of the same name. So a
fact counts if it is of a later version than the one that is known, be it of another object.

A resourceVersion grows with every write, and API servers promise that two of them can be compared
as numbers. One that is no number is taken as it comes.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.manifest.text.values import Mapping, Value

_MOST_GONE: Final = 10_000  # uids; late facts come within seconds of a removal
_MOST_DIGITS: Final = 100  # of a resourceVersion; Python refuses to read thousands of them
_NAMESPACE: Final = "default"


News: TypeAlias = Literal["known", "changed", "replaced"]
"""What a fact says: nothing new, a new version of an object, or that another has its name."""


class ObjectKey(NamedTuple):
    """An object of a cluster by its API group, kind and name."""

    group: str
    kind: str
    namespace: str
    name: str


class Version(msgspec.Struct, frozen=True):
    """Which object has a name, and in which version it was seen last."""

    uid: str
    number: int | None  # None: the resourceVersion is missing, or no number


class Versions:
    """The versions in which objects were seen last, and the uids of those that went lately."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._seen: dict[ObjectKey, Version] = {}
        self._gone: dict[str, None] = {}

    def keys(self, group: str, kind: str) -> list[ObjectKey]:
        """Return the objects of one kind that are there."""
        return [key for key in self._seen if key[:2] == (group, kind)]

    def see(self, key: ObjectKey, version: Version) -> News:
        """Note that an object is there in *version*; returns what is new about that."""
        if version.uid in self._gone:
            return "known"
        seen = self._seen.get(key)
        if seen is not None and _is_late(version, seen):
            return "known"
        self._seen[key] = version
        if seen is None or seen.uid == version.uid:
            return "changed"
        self._remember_gone(seen.uid)
        return "replaced"

    def lose_unlisted(self, key: ObjectKey, listed_at: int | None) -> bool:
        """Note that a list of version *listed_at* lacks an object; returns whether it is gone.

        One that was seen in a later version came to be after the list was made.
        """
        seen = self._seen[key].number
        if listed_at is not None and seen is not None and seen > listed_at:
            return False
        return self.lose(key, "")

    def lose(self, key: ObjectKey, uid: str) -> bool:
        """Note that an object is gone; returns whether it was there. "": whatever its uid was."""
        self._remember_gone(uid)
        seen = self._seen.get(key)
        if seen is None or (uid and seen.uid != uid):
            return False
        self._remember_gone(seen.uid)
        del self._seen[key]
        return True

    def _remember_gone(self, uid: str) -> None:
        if uid:
            self._gone[uid] = None
            if len(self._gone) > _MOST_GONE:
                del self._gone[next(iter(self._gone))]


def _is_late(version: Version, seen: Version) -> bool:
    if version.number is None or seen.number is None:
        return False
    # Of two objects of one name, versions of the later one are later than all of the earlier one.
    return version.number < seen.number or version == seen


def key_of(value: Mapping) -> ObjectKey | None:
    """Return which object a manifest is of; None: it does not say so."""
    api_version, kind = _text(value, "apiVersion"), _text(value, "kind")
    metadata = value.get("metadata")
    name = _text(metadata, "name") if isinstance(metadata, dict) else ""
    if not (api_version and kind and name and isinstance(metadata, dict)):
        return None
    namespace = _text(metadata, "namespace") or _NAMESPACE
    return ObjectKey(api_version.rpartition("/")[0], kind, namespace, name)


def version_of(value: Mapping) -> Version:
    """Return uid and resourceVersion of a manifest, as far as it has them."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return Version("", None)
    return Version(_text(metadata, "uid"), version_number(_text(metadata, "resourceVersion")))


def version_number(resource_version: str) -> int | None:
    """Return a resourceVersion as a number; None: it is missing, or none."""
    is_number = resource_version.isdecimal() and len(resource_version) <= _MOST_DIGITS
    return int(resource_version) if is_number else None


def _text(value: Mapping, key: str) -> str:
    found: Value = value.get(key)
    return found if isinstance(found, str) else ""
