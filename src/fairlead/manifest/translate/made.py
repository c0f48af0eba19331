"""Objects that controllers would make of the owners in the input, kept in line with them.

What is made stands in the mirror as if it were there, so that nothing else knows the difference. An
object that is really there counts instead of a made one of its name. Like everything that is
translated, this is a comparison: an owner that changed, or to which something belongs that came or
went, is looked at again, and only the difference is passed on.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from fairlead.manifest.core.objects import Object, PodObject
from fairlead.manifest.core.owners.kinship import Dependent, Kinship
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.remarks import report_owners
from fairlead.manifest.core.owners.standing import Standing
from fairlead.manifest.finding import Findings
from fairlead.manifest.translate.family import Family, Made, Mirror, Remarks
from fairlead.manifest.translate.inbox import Change, TypedName

_NONE = Made(standing="nothing-wanted")


class MadeObjects:
    """What is made of each owner, and how each owner stands."""

    def __init__(self, mirror: Mirror, family: Family[object], remarks: Remarks) -> None:
        """Put into *mirror* what *family* makes; what it finds goes to *remarks*."""
        self._mirror = mirror
        self._family = family
        self._remarks = remarks
        self._owners = mirror.of(OwnerObject)
        self.kinship: Final = Kinship(self._owners)
        self._made: dict[str, Made] = {}  # by the key of the owner
        self._wanted: defaultdict[TypedName, dict[str, Object]] = defaultdict(dict)
        self._placed: set[TypedName] = set()  # what is in the mirror and was made

    def update(self, changes: Sequence[Change]) -> list[Change]:
        """Return what else changes after the *changes* of real objects.

        Cost: the owners that the changes matter to, and what is made of them.
        """
        if not self._family.rules.makes_pods:
            return []
        types = {type(old if new is None else new) for old, new in changes}
        dirty = set(self._owners) if types & self._family.looked_at_to_make else set()
        touched: set[TypedName] = set()
        for old, new in changes:
            one = old if new is None else new
            assert one is not None
            name = type(one), one.key()
            touched.add(name)
            if name in self._placed and new is not None:  # a real object takes its place
                self._placed.discard(name)
                old = None
            dirty |= self._note_change(old, new)
        for key in sorted(dirty & (self._owners.keys() | self._made.keys())):
            touched |= self._make_again(key)
        return [
            change
            for name in sorted(touched, key=lambda name: (name[0].__name__, name[1]))
            if (change := self._place(name)) is not None
        ]

    def _note_change(self, old: Object | None, new: Object | None) -> set[str]:
        """Take a change of a real object in; returns the owners that it matters to."""
        dirty: set[str] = set()
        if old is not None and (before := self._as_dependent(old)) is not None:
            dirty |= self.kinship.affected(before)
            self.kinship.drop(before)
        if new is not None and (after := self._as_dependent(new)) is not None:
            self.kinship.put(after)
            dirty |= self.kinship.affected(after)
        return dirty

    def _as_dependent(self, each: Object) -> Dependent | None:
        if isinstance(each, (PodObject, OwnerObject)):
            return each
        return self._family.as_dependent(each)

    def _make_again(self, key: str) -> set[TypedName]:
        """Make what an owner makes again; returns the names of what may be another one now."""
        owner, before = self._owners.get(key), self._made.pop(key, _NONE)
        subject = ("owner", key)
        after = _NONE
        if owner is None:
            self._remarks.put(subject, ())
        else:
            after = self._made[key] = self._remarks.note(
                subject, lambda findings: self._family.make(owner, self.kinship, findings)
            )
        old = {(type(each), each.key()): each for each in before.objects}
        new = {(type(each), each.key()): each for each in after.objects}
        for name in old.keys() - new.keys():
            del self._wanted[name][key]
        for name, each in new.items():
            self._wanted[name][key] = each
        return old.keys() | new.keys()

    def _place(self, name: TypedName) -> Change | None:
        """Let the mirror have what is wanted under a name; returns what that changes.

        Two owners may want a name; that of the first by its key counts.
        """
        is_made = name in self._placed
        current = self._mirror.get(*name)
        if current is not None and not is_made:
            return None
        wanted = self._wanted.get(name)
        if not wanted:
            self._wanted.pop(name, None)
            self._placed.discard(name)
            return (self._mirror.drop(*name), None) if is_made else None
        chosen = wanted[min(wanted)]
        self._placed.add(name)
        return None if chosen == current else (self._mirror.put(chosen), chosen)

    def report(self, findings: Findings) -> None:
        """Report which owners make nothing, one remark for each kind and reason."""
        report_owners(self._owners, self.standings(), findings)

    def standings(self) -> dict[str, Standing]:
        """Return how each owner stands, by its key."""
        return {key: each.standing for key, each in self._made.items()}
