"""What each object of an input is in the state that it was translated to.

People ask about what they made or see: a pod, a Job, a LocalQueue, a node. The state knows queues
and workloads. Each object of a unit stands for the workloads of that unit, and an owner for all
that its objects stand for, over as many owners as there are: a pod of a Job for the Workload that
the Job owns too, for instance.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec

from fairlead.manifest.core.objects import (
    NamespacedObject,
    PodObject,
    full_name,
    is_finished,
    is_placed,
)
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import Standing
from fairlead.manifest.translate.family import Family, Unit, UnitKey
from fairlead.manifest.translate.made import MadeObjects
from fairlead.model.axes import WorkloadName
from fairlead.model.workload import GpuShare

ObjectName: TypeAlias = tuple[str, str]
"""The kind of an object, and ``namespace/name``."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What an object stands for.

    One without workloads has *finished*, or belongs to another scheduler, or is an owner for which
    its *standing* says why.
    """

    kind: str
    name: str  # namespace/name
    workloads: tuple[WorkloadName, ...] = ()
    finished: bool = False
    scheduler: str = ""  # another one than ours, which decides about it; "": none is known
    in_other_pool: bool = False  # it belongs to another shard than the one at hand
    standing: Standing | None = None  # of an owner in the input


class PodOnNode(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that holds a place on a node."""

    name: str  # namespace/name
    workload: WorkloadName | None  # None: another scheduler started it
    scheduler: str
    terminating: bool
    requests: Mapping[str, int]
    gpu_share: GpuShare | None = None


class ObjectDirectory:
    """Finds what the objects of an input stand for. It is made when it is first asked."""

    def __init__(
        self, family: Family[Any], units: Mapping[UnitKey, Unit[Any]], made: MadeObjects
    ) -> None:
        """Know the *units* of *family*, as they were translated, and what was *made* of owners."""
        self._family: Final = family
        self._units: Final = units
        self._made: Final = made

    def find(self, text: str) -> Sequence[Entry]:
        """Return what *text* may name: ``NAME``, ``NAMESPACE/NAME``, or either after ``KIND/``.

        The kind is written as for kubectl: ``pod``, ``Pods`` and ``job.batch`` are all right.
        """
        first, _, rest = text.partition("/")
        return [
            entry
            for (kind, name), entry in self._entries.items()
            if _is_named(name, text) or (_is_kind(kind, first) and _is_named(name, rest))
        ]

    def names(self) -> Iterable[str]:
        """Return the names of all objects, with their kinds."""
        return [f"{kind.lower()}/{name}" for kind, name in self._entries]

    def pods_on(self, node: str) -> Sequence[PodOnNode]:
        """Return the pods that hold a place on *node*, by name."""
        return [
            PodOnNode(
                name=name,
                workload=next(iter(self._entries["Pod", name].workloads), None),
                scheduler=pod.scheduler,
                terminating=pod.terminating,
                requests=pod.requests,
                gpu_share=pod.gpu_share,
            )
            for name, pod in sorted(self._family.mirror.of(PodObject).items())
            if pod.node == node and is_placed(pod)
        ]

    @cached_property
    def _entries(self) -> dict[ObjectName, Entry]:
        """Everything that has a name, sorted. Cost: a look at each object and its owners."""
        own = {name: entry for unit in self._units.values() for name, entry in self._own(unit)}
        own.update(self._own_of_owners())
        owners = self._owners()
        members: dict[ObjectName, list[Entry]] = {name: [entry] for name, entry in own.items()}
        for name, entry in own.items():
            for above in _all_above(name, owners):
                members.setdefault(above, []).append(entry)
        found = {name: _sum_of(name, entries) for name, entries in members.items()}
        accounts = self._accounts()
        for name, entry in found.items():
            if not (entry.workloads or entry.finished or entry.scheduler):
                accounting = [
                    accounts[each] for each in _all_above(name, owners) if each in accounts
                ]
                nearest = tuple(sorted(accounting[0])) if accounting else ()
                found[name] = msgspec.structs.replace(entry, workloads=nearest)
        return dict(sorted(found.items()))

    def _own(self, unit: Unit[Any]) -> Iterable[tuple[ObjectName, Entry]]:
        """Yield the objects of a unit, with what they stand for by themselves."""
        family = self._family
        workloads = tuple(family.workload_name(part) for part in unit.found.parts)
        foreign = {full_name(pod) for pod in unit.found.foreign}
        for name, pod in unit.pods.items():
            is_foreign, ended = name in foreign, is_finished(pod)
            yield (
                (pod.kind, name),
                Entry(
                    kind=pod.kind,
                    name=name,
                    workloads=() if is_foreign or ended else workloads or family.accounted_by(pod),
                    finished=ended,
                    scheduler=pod.scheduler if is_foreign else "",
                    in_other_pool=is_foreign and bool(unit.found.in_other_pools),
                ),
            )
        head = unit.head
        if isinstance(head, NamespacedObject):
            name, ended = full_name(head), not workloads and family.has_finished(unit)
            yield (
                (head.kind, name),
                Entry(kind=head.kind, name=name, workloads=workloads, finished=ended),
            )

    def _own_of_owners(self) -> Iterable[tuple[ObjectName, Entry]]:
        """Yield the owners in the input, with what they stand for by themselves: nothing."""
        standings = self._made.standings()
        for key, owner in self._family.mirror.of(OwnerObject).items():
            entry = Entry(
                kind=owner.owner_kind,
                name=full_name(owner),
                finished=owner.finished,
                standing=standings.get(key),
            )
            yield _name_of(owner), entry

    def _accounts(self) -> dict[ObjectName, set[WorkloadName]]:
        """Return the workloads that groups or Workloads of an owner are: all that it has is theirs.

        What belongs to another part of the same owner says nothing of them.
        """
        found: dict[ObjectName, set[WorkloadName]] = {}
        for unit in self._units.values():
            if isinstance(unit.head, NamespacedObject):
                names = {self._family.workload_name(part) for part in unit.found.parts}
                for owner in unit.head.identity.owners:
                    above = (owner.kind, f"{unit.head.namespace}/{owner.name}")
                    found.setdefault(above, set()).update(names)
        return found

    def _owners(self) -> dict[ObjectName, list[ObjectName]]:
        """Return the owners of each object that has any, by reference or by the labels of pods."""
        found: dict[ObjectName, list[ObjectName]] = {}
        for each in self._family.mirror.namespaced():
            for owner in each.identity.owners:
                name = (owner.kind, f"{each.namespace}/{owner.name}")
                found.setdefault(_name_of(each), []).append(name)
        for above in self._family.mirror.of(OwnerObject).values():
            for dependent in self._made.kinship.dependents(above):
                if isinstance(dependent, PodObject):
                    found.setdefault(_name_of(dependent), []).append(_name_of(above))
        return found


def _name_of(each: NamespacedObject) -> ObjectName:
    return each.owner_kind if isinstance(each, OwnerObject) else each.kind, full_name(each)


def _is_named(name: str, text: str) -> bool:
    return text in (name, name.partition("/")[2])


def _is_kind(kind: str, text: str) -> bool:
    word = text.partition(".")[0].lower()
    return kind.lower() in (word, word.removesuffix("s"), word.removesuffix("es"))


def _all_above(
    name: ObjectName, owners: Mapping[ObjectName, Sequence[ObjectName]]
) -> Sequence[ObjectName]:
    """Return the owners of an object, their owners, and so on, each once."""
    found: dict[ObjectName, None] = {}
    waiting = list(owners.get(name, ()))
    while waiting:
        above = waiting.pop()
        if above not in found and above != name:
            found[above] = None
            waiting += owners.get(above, ())
    return list(found)


def _sum_of(name: ObjectName, members: Sequence[Entry]) -> Entry:
    """Return what an object stands for by its *members*, of which it is the first if it is there.

    An owner that is there says itself whether it has finished.
    """
    first = members[0]
    own = first if first.standing is not None and (first.kind, first.name) == name else None
    below = members if own is None else members[1:]
    workloads = {workload for each in members for workload in each.workloads}
    schedulers = {each.scheduler for each in below}
    return Entry(
        kind=name[0],
        name=name[1],
        workloads=tuple(sorted(workloads)),
        finished=own.finished if own else all(each.finished for each in below),
        scheduler=schedulers.pop() if len(schedulers) == 1 else "",
        in_other_pool=any(each.in_other_pool for each in below),
        standing=own.standing if own else None,
    )
