"""Takes in facts about single objects: reads them, and keeps their last valid versions.

A fact is of no effect if it is no news (see `versions`). What is wrong with an object is a finding
on that object alone. Its last valid version goes on to count; only where a pod is, and whether it
leaves or has ended, is taken from the latest. An object that was never valid is not there, but for
pods, groups and Workloads: these are taken as far as they could be read, so that their workload can
be seen waiting.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.core.objects import Object, PodObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.identify import identify
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.read_object import read_identified
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.translate.family import Unit
from fairlead.manifest.translate.mirror import Mirror
from fairlead.manifest.translate.remarks import Remarks
from fairlead.manifest.translate.versions import (
    ObjectKey,
    Versions,
    key_of,
    version_number,
    version_of,
)
from fairlead.policy.contract import PolicyName

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
    """The facts of a cluster as they come, until the state is brought in line with them."""

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
        self._faults: dict[TypedName, Finding] = {}
        self._never_valid: set[TypedName] = set()  # and in the mirror all the same
        self._owners: dict[TypedName, ObjectKey] = {}  # which object counts under a name
        self._rivals: dict[ObjectKey, _Version] = {}  # of objects whose name another one has
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
        read = read_identified(identified, findings)
        wrong = None
        if not read.is_usable:
            wrong = next(each for each in findings if each.severity == "error")
        for found in read.objects:
            name = type(found), found.key()
            self._names[key] = name
            if not self._owns(key, name, is_valid=wrong is None):
                self._note_rival(key, found, wrong)
            elif wrong is None:
                is_repaired = self._faults.pop(name, None) is not None
                self._never_valid.discard(name)
                self.put(found, is_fault_new=is_repaired)
            else:
                self._note_fault(name, found, wrong)
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

    def _note_fault(self, name: TypedName, found: Object, wrong: Finding) -> None:
        self._faults[name] = wrong
        known = self._mirror.get(*name)
        if known is not None and name not in self._never_valid:
            # Its workload is to be looked at again, be it that nothing else is new.
            self.put(_in_its_place(known, found), is_fault_new=True)
        elif isinstance(found, self._shown_types):
            self._never_valid.add(name)
            self.put(found)

    def _drop(self, key: ObjectKey) -> None:
        """Let an object be gone, in all of its versions."""
        self._remarks.put(key, ())
        name = self._names.pop(key, None)
        if name is None:
            return
        self._rivals.pop(key, None)
        self._remarks.put(("rival", key), ())
        if self._owners.get(name) == key:
            self._take_out(name)
            self._promote_rival(name)

    def _take_out(self, name: TypedName) -> _Version | None:
        """Let no object count under a name; returns what counted, if anything did."""
        del self._owners[name]
        wrong = self._faults.pop(name, None)
        is_valid = name not in self._never_valid
        self._never_valid.discard(name)
        before = self._mirror.drop(*name)
        if before is None:
            return None
        self._changes.append((before, None))
        return _Version(before, wrong, is_valid)

    def _owns(self, key: ObjectKey, name: TypedName, *, is_valid: bool) -> bool:
        """Return whether an object counts under its name.

        Of several it is the first one by API group that was ever valid; if none was, the first.
        """
        owner = self._owners.setdefault(name, key)
        if owner == key:
            return True
        has_valid = self._mirror.get(*name) is not None and name not in self._never_valid
        is_valid = is_valid or (key in self._rivals and self._rivals[key].is_valid)
        if (not has_valid, _rank(owner)) <= (not is_valid, _rank(key)):
            return False
        former = self._take_out(name)
        self._owners[name] = key
        self._rivals.pop(key, None)
        self._remarks.put(("rival", key), ())
        if former is not None:
            self._rivals[owner] = former
        self._tell_rivals(name)
        return True

    def _note_rival(self, key: ObjectKey, found: Object, wrong: Finding | None) -> None:
        """Keep an object whose name another object has, which counts until it is gone."""
        known = self._rivals.get(key)
        if wrong is None:
            self._rivals[key] = _Version(found, None, is_valid=True)
        elif known is not None and known.is_valid:
            self._rivals[key] = known._replace(wrong=wrong)
        elif isinstance(found, self._shown_types):
            self._rivals[key] = _Version(found, wrong, is_valid=False)
        self._tell_rivals(self._names[key])

    def _tell_rivals(self, name: TypedName) -> None:
        """Report each object that does not count because another one has its name."""
        for key in self._rivals_of(name):
            self._tell_rival(key, self._owners[name])

    def _tell_rival(self, key: ObjectKey, owner: ObjectKey) -> None:
        self._remarks.note(
            ("rival", key),
            lambda findings: self._rivals[key].found.source.report(
                findings,
                "warning",
                "no-effect",
                ("metadata", "name"),
                f"found a second {key.kind} in the place of one; "
                f"{owner.name} of {owner.group} counts",
                "remove one of the two",
            ),
        )

    def _rivals_of(self, name: TypedName) -> list[ObjectKey]:
        return [key for key in self._rivals if self._names[key] == name]

    def _promote_rival(self, name: TypedName) -> None:
        """Let another object count, if there is one, whose name was taken so far."""
        keys = self._rivals_of(name)
        if not keys:
            return
        key = min(keys, key=lambda each: (not self._rivals[each].is_valid, _rank(each)))
        found, wrong, is_valid = self._rivals.pop(key)
        self._owners[name] = key
        self._remarks.put(("rival", key), ())
        if wrong is not None:
            self._faults[name] = wrong
        if not is_valid:
            self._never_valid.add(name)
        self.put(found)
        self._tell_rivals(name)


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
    given out twice, or be held for ever.
    """
    if not (isinstance(known, PodObject) and isinstance(found, PodObject)):
        return known
    return msgspec.structs.replace(
        known,
        node=known.node or found.node,
        phase=found.phase,
        terminating=known.terminating or found.terminating,
        scheduled_ms=known.scheduled_ms if found.scheduled_ms is None else found.scheduled_ms,
        started_ms=known.started_ms if found.started_ms is None else found.started_ms,
    )
