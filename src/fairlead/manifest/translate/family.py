"""What differs between rule sets when objects are translated to a cluster state.

Objects are read in *units*: a group with the pods that name it, a pod by itself, a Workload. A unit
is read as *parts*, each of which is one workload of the state, and pods that are not ours. To
observe a part is to say what the state should hold of its workload.
"""

from abc import ABC, abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.core.objects import (
    ByResource,
    NamespacedObject,
    NodeObject,
    Object,
    PodObject,
    is_finished,
)
from fairlead.manifest.core.owners.kinship import Dependent, Kinship
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import Standing, standing
from fairlead.manifest.core.pod_selectors import ChangedSelectors, PodSelectors
from fairlead.manifest.finding import Findings
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodId
from fairlead.policy.contract import Settings


class AssemblyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How to take objects that name others.

    ``missing_group``: a pod that names a PodGroup which is not there runs *alone*, because a user
    may have left the group out of a file; or it *waits*, because a cluster may show pods before
    their group.

    ``missing_claims``: where there are neither volumes nor claims for them, those of pods *fit* on
    every node, because a user may have left all of them out of a file; or the pods *wait*.

    ``binds_volumes``: a claim that waits for its first pod is bound once that has a node, as
    kube-scheduler sees to. Where nothing does, its pod would hold a place and never run: it waits.

    ``queue_totals``: where no pods are there at all, the status of queues says what they ask for
    and have. Pods may have been left out of a file; a cluster without pods asks for nothing.

    ``makes_pods``: an owner without pods, such as a Job, counts with those that its controller
    would make. A cluster has that controller, and only what it made can be started.

    ``refuses_invalid``: an object with an error is refused with the whole input, so that its author
    corrects it; or, where it is one of a cluster, it is reported, and is taken as a scheduler takes
    it: most are as if they were not there, and pods wait.

    ``shard``: which of several shards the state is of; None: the rule set chooses one.
    """

    missing_group: Literal["alone", "waits"] = "alone"
    missing_claims: Literal["fit", "wait"] = "fit"
    binds_volumes: bool = True
    queue_totals: bool = True
    makes_pods: bool = True
    refuses_invalid: bool = True
    shard: str | None = None


OF_FILES: Final = AssemblyRules()
OF_SCENARIOS: Final = AssemblyRules(makes_pods=False)  # which list all of their work
OF_A_CLUSTER: Final = AssemblyRules(
    missing_group="waits",
    missing_claims="wait",
    queue_totals=False,
    makes_pods=False,
    refuses_invalid=False,
)
OF_OUR_CLUSTER: Final = msgspec.structs.replace(OF_A_CLUSTER, binds_volumes=False)
"""Of a cluster whose pods we bind: for now we bind no volumes."""


AnyObject = TypeVar("AnyObject", bound=Object)


class Mirror:
    """The last usable version of each object. The inbox writes it, and rule sets read it."""

    def __init__(self) -> None:
        """Begin without objects."""
        self._by_type: dict[type, dict[str, Object]] = {}

    def of(self, kind: type[AnyObject]) -> dict[str, AnyObject]:
        """Return the objects of one type by name: the same mapping for as long as the mirror is."""
        return cast("dict[str, AnyObject]", self._by_type.setdefault(kind, {}))

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

    def objects(self) -> Iterator[Object]:
        """Yield every object."""
        for known in self._by_type.values():
            yield from known.values()

    def namespaced(self) -> Iterator[NamespacedObject]:
        """Yield every object that has its name within a namespace."""
        for kind, known in self._by_type.items():
            if issubclass(kind, NamespacedObject):
                yield from cast("dict[str, NamespacedObject]", known).values()

    def single(self, kind: type[AnyObject]) -> AnyObject | None:
        """Return the one object of a type that a cluster has at most one of."""
        return next(iter(self.of(kind).values()), None)


T = TypeVar("T")


class Remarks:
    """Findings by their subject; what is found next time takes their place."""

    def __init__(self) -> None:
        """Begin with nothing found."""
        self._by_subject: dict[Hashable, tuple[Finding, ...]] = {}
        self.shared: Findings | None = None  # where to put all findings too, in their order

    def __iter__(self) -> Iterator[Finding]:
        for found in self._by_subject.values():
            yield from found

    def __contains__(self, subject: Hashable) -> bool:
        return subject in self._by_subject

    def note(self, subject: Hashable, read: Callable[[Findings], T]) -> T:
        """Return what *read* does, and keep what it finds as all that is found about *subject*."""
        findings = Findings() if self.shared is None else self.shared
        kept = findings.kept_count
        result = read(findings)
        self.put(subject, findings.kept_since(kept))
        return result

    def put(self, subject: Hashable, found: tuple[Finding, ...]) -> None:
        """Let *found* be all that is found about *subject*."""
        if found:
            self._by_subject[subject] = found
        else:
            self._by_subject.pop(subject, None)

    def error(self, subject: Hashable) -> Finding | None:
        """Return the first error about *subject*, if there is one."""
        found = self._by_subject.get(subject, ())
        return next((each for each in found if each.severity == "error"), None)


UnitKey: TypeAlias = tuple[str, str]
"""What kind of unit it is, and the name of the object that it is about."""

P = TypeVar("P")


class UnitContent(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """The workloads of a unit, and its pods that other schedulers run."""

    parts: tuple[P, ...] = ()
    foreign: tuple[PodObject, ...] = ()
    in_other_pools: tuple[str, ...] = ()  # names of jobs whose pods are foreign here


NOTHING: UnitContent[Any] = UnitContent()


class Unit(msgspec.Struct, Generic[P], kw_only=True):
    """Objects that are read together, and what was made of them when they were read last."""

    key: UnitKey
    head: Object | None = None  # a group or Workload; None: it is not there, or there is none
    pods: dict[str, PodObject] = {}  # by full name
    found: UnitContent[P] = NOTHING

    def pods_by_name(self) -> list[PodObject]:
        """Return the pods, sorted by name, so that no order of facts matters."""
        return [self.pods[name] for name in sorted(self.pods)]


class UnitChange(msgspec.Struct, Generic[P], frozen=True):
    """The content of a unit before and after it was read again."""

    before: UnitContent[P]
    after: UnitContent[P]


class DeviceChanges(msgspec.Struct, frozen=True):
    """The workloads and foreign pods whose devices changed."""

    workloads: Set[WorkloadName] = frozenset()
    foreign: Set[PodId] = frozenset()


class Measures(msgspec.Struct, frozen=True):
    """The resources of a state, and which labels and ports of pods matter."""

    resources: tuple[str, ...]
    selectors: PodSelectors


Unique: TypeAlias = Callable[[Any, Findings], Iterable[Object]]
"""Returns which objects of one type count; every other one is an error."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What the controllers of a cluster would make of an owner, or why they would make nothing."""

    standing: Standing
    objects: tuple[Object, ...] = ()


class Family(ABC, Generic[P]):
    """How the objects of one rule set become queues, workloads and foreign pods."""

    head_types: ClassVar[tuple[type, ...]]  # of units, besides pods
    queue_types: ClassVar[tuple[type, ...]]  # of which the tree of queues is made
    catalogue_types: ClassVar[tuple[type, ...]]
    unique: ClassVar[Mapping[type, Unique]] = MappingProxyType({})  # other rules than a name once
    looked_at_to_make: ClassVar[frozenset[type]] = frozenset()  # besides owners and dependents
    finds_while_settling: ClassVar[bool] = True  # False: `check_objects` finds all that matters

    def __init__(self, mirror: Mirror, rules: AssemblyRules) -> None:
        """Read the objects of *mirror* as *rules* say."""
        self.mirror = mirror
        self.rules = rules

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The settings that the objects say, which hold until the next `refresh`."""

    @abstractmethod
    def refresh(self, changed: Set[type], remarks: Remarks) -> bool:
        """Take in settings and the tree of queues after objects of the types *changed* did.

        Returns whether each unit may be another one now, so that all are to be formed anew.
        """

    def as_dependent(self, each: Object) -> Dependent | None:
        """Return an object, neither pod nor owner, that an owner may have made; None: none may."""
        return None

    def make(self, owner: OwnerObject, kinship: Kinship, findings: Findings) -> Made:
        """Return what controllers would make of *owner* that is not there yet.

        It depends on what is above and below the owner in *kinship*, on objects of the types
        `looked_at_to_make`, and on nothing else.
        """
        return Made(standing=standing(owner, kinship))

    @abstractmethod
    def unit_of(self, each: Object) -> UnitKey:
        """Return the unit of a pod, or of an object of `head_types`."""

    def affected_units(
        self, old: Object | None, new: Object | None, units: Collection[Unit[P]]
    ) -> Iterable[Unit[P]]:
        """Return the *units* to read again because an object changed that they refer to."""
        return ()

    @abstractmethod
    def sort(self, unit: Unit[P], findings: Findings) -> UnitContent[P]:
        """Return what a unit is made of."""

    @abstractmethod
    def workload_name(self, part: P) -> WorkloadName:
        """Return the name of a part's workload, which depends on nothing but its own object."""

    def uid(self, part: P) -> str:
        """Return the uid of the object that a part's workload is; "": its pods are the objects.

        With another uid it is another workload, although it has the same name.
        """
        return ""

    def has_finished(self, unit: Unit[P]) -> bool:
        """Return whether a unit without workloads has none because its work is done."""
        return bool(unit.pods) and all(map(is_finished, unit.pods.values()))

    def accounted_by(self, pod: PodObject) -> tuple[WorkloadName, ...]:
        """Return the workload of another unit that accounts for a pod, where the pod names it."""
        return ()

    @abstractmethod
    def constraints(self, part: P) -> Iterable[PodConstraints]:
        """Return the constraints of the pods of a part."""

    @abstractmethod
    def amounts(self, part: P) -> Iterable[ByResource]:
        """Return all amounts of a part, by resource."""

    def other_amounts(self) -> Iterable[ByResource]:
        """Return what else is measured on resources, besides parts, foreign pods and nodes."""
        return ()

    def is_affected(self, part: P, changed: ChangedSelectors) -> bool:
        """Return whether the pod sets of a part may change because other labels matter."""
        return False

    def update_devices(
        self, units: Sequence[UnitChange[P]], nodes: Set[str], remarks: Remarks
    ) -> DeviceChanges:
        """Assign shared devices again on the nodes that *units* or *nodes* changed."""
        return DeviceChanges()

    def charged(self, pod: PodObject) -> PodObject:
        """Return a foreign pod with all that it holds among its requests."""
        return pod

    def has_node(self, node: NodeObject) -> bool:
        """Return whether a node is ours to use."""
        return True

    @abstractmethod
    def queue_axes(self) -> Set[Axis]:
        """Return the quota axes that the queues list."""

    def part_axes(self, part: P) -> Set[Axis]:
        """Return the quota axes that a part needs besides."""
        return frozenset()

    def axes(self, resources: tuple[str, ...], needed: Set[Axis]) -> QuotaAxes:
        """Return the axes for a state on *resources*."""
        return QuotaAxes(sorted(needed))

    @abstractmethod
    def queues(self, axes: QuotaAxes) -> Sequence[Queue]:
        """Return the queues that take part, none of which is its own ancestor."""

    def usage(self) -> Mapping[QueueName, tuple[int, ...]]:
        """Return what queues used lately, where their objects say so."""
        return {}

    @abstractmethod
    def catalogue(self) -> Catalogue:
        """Return what is looked up by name."""

    def check_objects(self, findings: Findings) -> None:
        """Report what is wrong among all objects of an input, before they are translated."""

    def check_units(self, units: Sequence[Unit[P]], findings: Findings) -> None:
        """Report what is wrong with units of an input, after they are translated."""

    def complete(self, state: ClusterState, findings: Findings) -> None:
        """Add to the state of an input what no unit says, and advise on it."""

    @abstractmethod
    def observe(self, part: P, measures: Measures, findings: Findings) -> ObservedWorkload:
        """Return what the state should hold of a part's workload."""
