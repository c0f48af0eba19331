"""Takes in facts about single objects: reads them, and keeps their last valid versions.

A fact is of no effect if it is no news (see `Versions`). What is wrong with an object is a finding
on that object alone. Its last valid version goes on to count; only where a pod is, and whether it
leaves or has ended, is taken from the latest. An object that was never valid is not there, but for
pods, groups and Workloads: these are taken as far as they could be read, so that their workload can
be seen waiting.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.core.objects import Object, PodObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import KINDS, identify
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.text.values import Mapping, Value
from fairlead.manifest.translate.family import Mirror, Remarks, Unit
from fairlead.policy.contract import PolicyName

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
    """The versions in which objects were seen last, and the uids of those that went lately.

    A watch delivers the changes of one kind in order. But an answer to a write of ours may overtake
    it, a new watch repeats what was known, and an object may be replaced by another of the same
    name. So a fact counts if it is of a later version than the one that is known, be it of another
    object. API servers promise that two resourceVersions can be compared as numbers; one that is no
    number is taken as it comes.
    """

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

    def forget(self, key: ObjectKey) -> None:
        """Know nothing of an object any more; it may be seen again as it was."""
        del self._seen[key]

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


Change: TypeAlias = tuple[Object | None, Object | None]
"""An object before and after; None: it was not there, or is not any more."""

TypedName: TypeAlias = tuple[type, str]
"""What an object is and is called here. Objects of two API groups may be the same thing to us."""

_GROUPS_AND_KINDS: Final = list(KINDS)


class _Version(NamedTuple):
    """What counts of an object: its last valid version, or one that was never valid as read."""

    found: Object
    wrong: Finding | None  # with its latest version
    is_valid: bool


class Inbox:
    """The facts of a cluster as they come, until the state is brought in line with them.

    Objects of two API groups may be one thing to us. Of several with one name, the first by API
    group counts that was ever valid; if none was, the first.
    """

    def __init__(
        self, policy: PolicyName, mirror: Mirror, head_types: tuple[type, ...], remarks: Remarks
    ) -> None:
        """Keep the objects of *policy* in *mirror*, and what is wrong with them in *remarks*."""
        self._policy = policy
        self._mirror = mirror
        self._shown_types = (PodObject, *head_types)
        self._remarks = remarks
        self._versions = Versions()
        self._names: dict[ObjectKey, TypedName] = {}  # of objects that could be read
        self._known: dict[TypedName, dict[ObjectKey, _Version]] = {}  # nearly always one
        self._faults: dict[TypedName, Finding] = {}  # of the objects that count
        self._changes: list[Change] = []

    def changed(self, document: Document) -> None:
        """Take in that an object is there, in this version."""
        key = key_of(document.value)
        findings = Findings()
        identified = identify(document, findings)
        kind = identified.kind
        if key is None or kind is None or kind.policy not in (None, self._policy):
            return
        news = self._versions.see(key, version_of(document.value))
        if news == "known":
            return
        if news == "replaced":
            self._drop(key)
        objects = identified.read(findings)
        wrong = next((each for each in findings if each.severity == "error"), None)
        for found in objects:
            self._note(key, found, wrong)
        self._remarks.put(key, tuple(findings))

    def removed(self, document: Document) -> None:
        """Take in that an object is gone."""
        key = key_of(document.value)
        if key is not None and self._versions.lose(key, version_of(document.value).uid):
            self._drop(key)

    def listed(
        self, group: str, kind: str, documents: Iterable[Document], resource_version: str
    ) -> None:
        """Take in all objects of an API group and kind, as they were at *resource_version*."""
        listed_at = version_number(resource_version)
        there: set[ObjectKey | None] = set()
        for item in documents:
            document = _as_listed(item, group, kind)
            there.add(key_of(document.value))
            self.changed(document)
        for key in self._versions.keys(group, kind):
            if key not in there and self._versions.lose_unlisted(key, listed_at):
                self._drop(key)

    def unserved(self, group: str, kind: str) -> None:
        """Take in that no object of an API group and kind can be seen any more."""
        for key in self._versions.keys(group, kind):
            self._versions.forget(key)
            self._drop(key)

    def put(self, found: Object, *, is_fault_new: bool = False) -> None:
        """Let *found* be the last valid version of an object.

        One that reads as before is no change: most versions of nodes and queues differ only in a
        status that is not read, and their controllers write one for each workload that starts.
        """
        before = self._mirror.put(found)
        if is_fault_new or before != found:
            self._changes.append((before, found))

    def take_changes(self) -> Sequence[Change]:
        """Return what changed since the last time, in its order."""
        changes, self._changes = self._changes, []
        return changes

    def fault_of(self, unit: Unit[Any]) -> Finding | None:
        """Return what is wrong with an object of *unit*, if anything is."""
        if not self._faults:
            return None
        objects = [*([] if unit.head is None else [unit.head]), *unit.pods_by_name()]
        faults = (self._faults.get((type(each), each.key())) for each in objects)
        return next((each for each in faults if each is not None), None)

    def _note(self, key: ObjectKey, found: Object, wrong: Finding | None) -> None:
        """Keep a version of an object, which is *wrong* or valid, and see which one counts."""
        name = self._names[key] = type(found), found.key()
        known = self._known.setdefault(name, {})
        before = known.get(key)
        if wrong is not None and before is not None and before.is_valid:
            known[key] = _Version(_in_its_place(before.found, found), wrong, is_valid=True)
        elif wrong is None or isinstance(found, self._shown_types):
            known[key] = _Version(found, wrong, is_valid=wrong is None)
        self._choose(name)

    def _drop(self, key: ObjectKey) -> None:
        """Let an object be gone, in all of its versions."""
        self._remarks.put(key, ())
        name = self._names.pop(key, None)
        if name is not None and self._known.get(name, {}).pop(key, None) is not None:
            self._remarks.put(("rival", key), ())
            self._choose(name)

    def _choose(self, name: TypedName) -> None:
        """Let the object count that comes first of those with one name."""
        known = self._known[name]
        if not known:
            del self._known[name]
            self._faults.pop(name, None)
            before = self._mirror.drop(*name)
            if before is not None:
                self._changes.append((before, None))
            return
        owner = min(known, key=lambda key: (not known[key].is_valid, _rank(key)))
        found, wrong, _ = known[owner]
        is_fault_new = self._faults.get(name) != wrong
        if wrong is not None:
            self._faults[name] = wrong
        elif is_fault_new:
            del self._faults[name]
        self.put(found, is_fault_new=is_fault_new)
        if len(known) > 1 or ("rival", owner) in self._remarks:
            self._tell_rivals(known, owner)

    def _tell_rivals(self, known: dict[ObjectKey, _Version], owner: ObjectKey) -> None:
        """Report each object that does not count because another one has its name."""
        self._remarks.put(("rival", owner), ())
        for key, (found, _, _) in known.items():
            if key != owner:
                self._remarks.note(("rival", key), partial(_report_rival, found, key, owner))


def _report_rival(found: Object, key: ObjectKey, owner: ObjectKey, findings: Findings) -> None:
    found.source.warn(
        findings,
        "no-effect",
        ("metadata", "name"),
        f"found a second {key.kind} in the place of one; {owner.name} of {owner.group} counts",
        "remove one of the two",
    )


def _rank(key: ObjectKey) -> tuple[int, str, str]:
    """Return where an object stands among others of its name: by API group, then by name."""
    return _GROUPS_AND_KINDS.index((key.group, key.kind)), key.namespace, key.name


def _as_listed(item: Document, group: str, kind: str) -> Document:
    """Return an item of a list with its kind, which lists of built-in kinds leave out."""
    if "kind" in item.value and "apiVersion" in item.value:
        return item
    known = KINDS.get((group, kind))
    version = known.versions[0] if known else "v1"
    api_version = f"{group}/{version}" if group else version
    return cluster_document({**item.value, "apiVersion": api_version, "kind": kind})


def _in_its_place(known: Object, found: Object) -> Object:
    """Return an object as it was *known*, and a pod where its invalid version *found* is.

    A pod that is bound, leaves or ends does so whatever its annotations say. Else its room would be
    given out twice, or be held for ever. And it is evicted in its latest version, or not at all.
    """
    if not (isinstance(known, PodObject) and isinstance(found, PodObject)):
        return known
    version = found.identity.resource_version
    return msgspec.structs.replace(
        known,
        identity=msgspec.structs.replace(known.identity, resource_version=version),
        node=known.node or found.node,
        phase=found.phase,
        terminating=known.terminating or found.terminating,
        scheduled_ms=known.scheduled_ms if found.scheduled_ms is None else found.scheduled_ms,
        started_ms=known.started_ms if found.started_ms is None else found.started_ms,
    )
