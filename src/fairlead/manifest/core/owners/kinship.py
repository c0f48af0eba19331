"""Which objects belong to which owner.

An object names its controller among its owners; that is sure where the uids agree, and enough by
name where a file says no uid. A pod whose controller is not in the input, such as the ReplicaSet of
a Deployment, is known by the labels with which the owner finds its pods.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from fairlead.manifest.core.objects import Identity, Owner, PodObject
from fairlead.manifest.core.owners.objects import OwnerObject, kind_and_group

MAX_DEPTH: Final = 10  # of owners of owners


class Dependent(Protocol):
    """An object that others may own."""

    @property
    def namespace(self) -> str:
        """Where it is, and so its owners."""

    @property
    def identity(self) -> Identity:
        """Its owners, among other things."""

    def key(self) -> str:
        """Return by what it is known among those of its type."""


DependentName: TypeAlias = tuple[type, str]
_Label: TypeAlias = tuple[str, str, str]
"""A namespace, and the key and value of a label."""


def controller(each: Dependent) -> Owner | None:
    """Return the owner that controls an object; where none says so, the first."""
    owners = each.identity.owners
    return next((one for one in owners if one.is_controller), owners[0] if owners else None)


class Kinship:
    """The dependents of owners, kept as objects come and go."""

    def __init__(self, owners: Mapping[str, OwnerObject]) -> None:
        """Follow what belongs to *owners*, which come and go."""
        self._owners = owners
        self._pods: dict[str, PodObject] = {}
        self._children: defaultdict[str, dict[DependentName, Dependent]] = defaultdict(dict)
        self._labelled: defaultdict[_Label, set[str]] = defaultdict(set)  # names of pods
        self._watched: set[str] = set()  # the keys of labels by which pods are found
        self._seekers: defaultdict[_Label, set[str]] = defaultdict(set)  # keys of owners

    def put(self, each: Dependent) -> None:
        """Take in that an object is there. Cost: its labels that are looked at."""
        owner = controller(each)
        if owner is not None:
            self._children[_key(owner, each.namespace)][type(each), each.key()] = each
        if isinstance(each, PodObject):
            self._pods[each.key()] = each
            for label in self._labels(each):
                self._labelled[label].add(each.key())
        elif isinstance(each, OwnerObject) and (sought := _sought(each)) is not None:
            self._watch(sought[1])
            self._seekers[sought].add(each.key())

    def drop(self, each: Dependent) -> None:
        """Take in that an object is gone."""
        owner = controller(each)
        if owner is not None:
            self._children[_key(owner, each.namespace)].pop((type(each), each.key()), None)
        if isinstance(each, PodObject):
            self._pods.pop(each.key(), None)
            for label in self._labels(each):
                self._labelled[label].discard(each.key())
        elif isinstance(each, OwnerObject) and (sought := _sought(each)) is not None:
            self._seekers[sought].discard(each.key())

    def parent(self, each: Dependent) -> OwnerObject | None:
        """Return the controller of an object, if it is there."""
        reference = controller(each)
        if reference is None:
            return None
        found = self._owners.get(_key(reference, each.namespace))
        return found if found is not None and _is_same(found, reference) else None

    def chain(self, each: Dependent) -> Sequence[OwnerObject]:
        """Return the controller of an object, that of the controller, and so on."""
        found: list[OwnerObject] = []
        above = self.parent(each)
        while above is not None and len(found) < MAX_DEPTH:
            found.append(above)
            above = self.parent(above)
        return found

    def dependents(self, owner: OwnerObject) -> Iterator[Dependent]:
        """Yield what belongs to *owner*, and to no owner in between that is there."""
        for each in self._children.get(owner.key(), {}).values():
            reference = controller(each)
            if reference is not None and _is_same(owner, reference):
                yield each
        sought = _sought(owner)
        for name in self._labelled.get(sought, ()) if sought else ():
            pod = self._pods[name]
            assert owner.selector is not None
            if self.parent(pod) is None and owner.selector.matches(pod.labels):
                yield pod

    def has_dependents(self, owner: OwnerObject) -> bool:
        """Return whether anything belongs to *owner*."""
        return next(self.dependents(owner), None) is not None

    def affected(self, each: Dependent) -> set[str]:
        """Return the keys of the owners that an object may matter to, be they there or not.

        To be asked before it is dropped, and after it was put. Cost: what is above and below it.
        """
        found = {one.key() for one in self.chain(each)}
        reference = controller(each)
        if reference is not None:
            found.add(_key(reference, each.namespace))
        found.update(self._found_by_labels(each))
        if isinstance(each, OwnerObject):
            self._add_below(each, found, MAX_DEPTH)
        return found

    def _found_by_labels(self, each: Dependent) -> Iterable[str]:
        if isinstance(each, PodObject):
            for label in self._labels(each):
                yield from self._seekers.get(label, ())

    def _add_below(self, owner: OwnerObject, found: set[str], depth: int) -> None:
        """Add an owner, the owners below it, and those that may have its pods without it."""
        found.add(owner.key())
        for child in list(self.dependents(owner)) if depth else ():
            if isinstance(child, OwnerObject):
                self._add_below(child, found, depth - 1)
            found.update(self._found_by_labels(child))

    def _labels(self, pod: PodObject) -> Iterable[_Label]:
        labels = pod.labels
        return [(pod.namespace, key, labels[key]) for key in self._watched if key in labels]

    def _watch(self, key: str) -> None:
        """Look at a label from now on. Cost: one look at each pod, once for each label."""
        if key in self._watched:
            return
        self._watched.add(key)
        for name, pod in self._pods.items():
            if key in pod.labels:
                self._labelled[pod.namespace, key, pod.labels[key]].add(name)


def _key(reference: Owner, namespace: str) -> str:
    return f"{kind_and_group(reference.kind, reference.api_version)}/{namespace}/{reference.name}"


def _is_same(owner: OwnerObject, reference: Owner) -> bool:
    known = owner.identity.uid
    return not known or not reference.uid or known == reference.uid


def _sought(owner: OwnerObject) -> _Label | None:
    """Return the label by which the pods of *owner* are found first; the others are compared."""
    if owner.selector is None:
        return None
    for each in owner.selector.requirements:
        if each.operator == "In" and len(each.values) == 1:
            return owner.namespace, each.key, each.values[0]
    return None
