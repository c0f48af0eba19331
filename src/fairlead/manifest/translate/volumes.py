"""Where the volumes of pods let them run, as kube-scheduler has it.

A claim that is bound keeps its pods where its volume can be reached. One that is not is bound once
its first pod has a node, if its class says so: then the nodes count where a free volume is, or one
may be made. With every other claim a pod has to wait, and the reason says for what.

What was looked up for a unit is noted, so that an object that changes reaches the units that it
concerns and no others. Pods without claims cost nothing.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import msgspec

from fairlead.manifest.core.claim_spec import ClaimSpec
from fairlead.manifest.core.objects import Object, PodObject, full_name, is_live, is_placed
from fairlead.manifest.core.read_volumes import NO_PROVISIONER
from fairlead.manifest.core.volume_objects import (
    AttachLimitsObject,
    ClaimObject,
    StorageClassObject,
    VolumeObject,
    Zones,
)
from fairlead.manifest.finding import Findings
from fairlead.manifest.translate.family import AssemblyRules, Mirror, Unit, UnitKey
from fairlead.model.selector import LabelRequirement, NodeTerm
from fairlead.model.workload import Obstacle, VolumeNeeds
from fairlead.policy.obstacles import (
    CLAIM_IS_DELETED,
    CLAIM_LOST,
    CLAIM_NOT_BOUND,
    CLAIM_NOT_FOUND,
    NO_FREE_VOLUME,
    STORAGE_CLASS_NOT_FOUND,
    VOLUME_NOT_FOUND,
)

VOLUME_TYPES: Final = (ClaimObject, VolumeObject, StorageClassObject)
_ONE_POD: Final = "ReadWriteOncePod"
_NOTHING: Final = VolumeNeeds()

Question: TypeAlias = tuple[type, str]
"""An object that was looked up, by type and name; "": all objects of the type."""

Alternatives: TypeAlias = tuple[NodeTerm, ...]


class _Reach(NamedTuple):
    """The nodes that a volume can be used on; None: all of them."""

    terms: Alternatives | None = None
    zones: Zones = ()
    volume: tuple[str, str] | None = None  # driver and volume; None: nothing is attached


_EVERYWHERE: Final = _Reach()


class _Choice(NamedTuple):
    """The free volumes of a class for claims of one kind, and where a volume can be had."""

    kept: Mapping[str, Sequence[VolumeObject]]  # by the claim that they are kept for
    others: Sequence[VolumeObject]
    terms: Alternatives | None  # without those that are kept; None: everywhere


class Volumes:
    """The volumes, claims and classes of a mirror."""

    def __init__(self, mirror: Mirror, rules: AssemblyRules) -> None:
        """Follow *mirror*; *rules* say how to take claims of which nothing is known."""
        self._claims = mirror.of(ClaimObject)
        self._volumes = mirror.of(VolumeObject)
        self._classes = mirror.of(StorageClassObject)
        self._limits = mirror.of(AttachLimitsObject)
        self._limited: frozenset[str] = frozenset()  # drivers that some node has a limit for
        self._rules = rules
        self._asked: dict[UnitKey, set[Question]] = {}
        self._askers: dict[Question, set[UnitKey]] = {}
        self._free: dict[str, list[VolumeObject]] | None = None  # by class; None: to be found again
        self._choices: dict[tuple[ClaimSpec, str], _Choice] = {}

    def attach_limits(self, node: str) -> Mapping[str, int]:
        """Return how many volumes of each driver a node can attach; of others, any number."""
        found = self._limits.get(node)
        return {} if found is None else found.limits

    def refresh(self, changed: Set[type]) -> Iterable[UnitKey]:
        """Take in that objects of the types *changed* did; see `affected` for the units.

        Returns the units to read again because other drivers have limits than before.
        """
        if not changed.isdisjoint(VOLUME_TYPES):
            self._free = None
            self._choices.clear()
        if AttachLimitsObject not in changed:
            return ()
        before, limits = self._limited, self._limits.values()
        self._limited = frozenset(chain.from_iterable(each.limits for each in limits))
        return () if before == self._limited else tuple(self._asked)

    def resolve(self, unit: Unit[object]) -> None:
        """Let the pods of *unit* have what their claims mean among their constraints."""
        asked: set[Question] = set()
        for name, pod in unit.pods.items():
            if pod.claims or pod.ephemeral_volumes:
                unit.pods[name] = self._resolved(pod, asked)
        if asked or unit.key in self._asked:
            self._note(unit.key, asked)

    def affected(self, old: Object | None, new: Object | None) -> Iterable[UnitKey]:
        """Return the units to read again because an object changed."""
        one = old if new is None else new
        if not isinstance(one, VOLUME_TYPES):
            return ()
        kind = type(one)
        names = ("", one.key())
        return set().union(*[self._askers.get((kind, name), ()) for name in names])

    def report(self, units: Iterable[Unit[object]], findings: Findings) -> None:
        """Say once that claims are taken to fit everywhere, where the input has none at all."""
        if self._knows_claims() and self._knows_volumes():
            return
        waiting = [pod for unit in units for pod in _waiting_pods(unit)]
        if self._knows_claims():
            waiting = [pod for pod in waiting if any(map(self._is_bound, _claims_of(pod)))]
        if not waiting:
            return
        first = min(waiting, key=full_name)
        kind = "PersistentVolume" if self._knows_claims() else "PersistentVolumeClaim"
        first.source.warn(
            findings,
            "missing-reference",
            ("spec", "volumes"),
            f"found no {kind} in the input, but pending pods with claims: {len(waiting)}; "
            "their volumes are taken to fit on every node",
            "add the output of: kubectl get pv,pvc,storageclass -A -o yaml",
        )

    def _note(self, unit: UnitKey, asked: set[Question]) -> None:
        before = self._asked.pop(unit, set())
        for question in before - asked:
            self._askers[question].discard(unit)
        for question in asked - before:
            self._askers.setdefault(question, set()).add(unit)
        if asked:
            self._asked[unit] = asked

    def _resolved(self, pod: PodObject, asked: set[Question]) -> PodObject:
        needs = self._needs(pod, asked) if is_live(pod) else None
        if needs == pod.constraints.volumes:
            return pod
        constraints = msgspec.structs.replace(pod.constraints, volumes=needs)
        return msgspec.structs.replace(pod, constraints=constraints)

    def _needs(self, pod: PodObject, asked: set[Question]) -> VolumeNeeds | None:
        """Return what the claims of a pod mean together; None: it may run anywhere.

        The first obstacle counts. Claims are taken in an order in which pods of one template have
        the same.
        """
        made = {each.claim_name(pod.name): each.claim for each in pod.ephemeral_volumes}
        reach: dict[Alternatives, None] = {}
        zones: set[tuple[str, tuple[str, ...]]] = set()
        attached: set[tuple[str, str]] = set()
        obstacle: Obstacle | None = None
        for name in (*pod.claims, *made):
            found = self._of_claim(f"{pod.namespace}/{name}", made.get(name), asked)
            if isinstance(found, Obstacle):
                obstacle = obstacle or found
                continue
            if found.terms is not None:
                reach[found.terms] = None
            zones.update(found.zones)
            if found.volume is not None and found.volume[0] in self._limited:
                attached.add(found.volume)
        exclusive = filter(self._is_exclusive, [f"{pod.namespace}/{name}" for name in pod.claims])
        needs = VolumeNeeds(
            reach=tuple(reach),
            zones=tuple(sorted(zones)),
            obstacle=obstacle,
            exclusive=tuple(exclusive),
            attached=tuple(sorted(attached)),
        )
        return None if needs == _NOTHING else needs

    def _is_exclusive(self, name: str) -> bool:
        claim = self._claims.get(name)
        return claim is not None and _ONE_POD in claim.spec.access_modes

    def _of_claim(
        self, name: str, template: ClaimSpec | None, asked: set[Question]
    ) -> _Reach | Obstacle:
        """Return where a claim lets its pods run; one that is not there may have a *template*."""
        asked.add((ClaimObject, name))
        claim = self._claims.get(name)
        if claim is None:
            if template is not None:
                return self._of_unbound(name, template, "", asked)
            asked.add((ClaimObject, ""))
            asked.add((VolumeObject, ""))
            if not self._knows_claims():
                return _EVERYWHERE
            return Obstacle(code=CLAIM_NOT_FOUND, names=(name,))
        if claim.leaving:
            return Obstacle(code=CLAIM_IS_DELETED, names=(name,))
        match claim.phase:
            case "Lost":
                return Obstacle(code=CLAIM_LOST, names=(name,))
            case "Bound":
                return self._of_bound(name, claim.spec.volume, asked)
            case "Pending":
                return self._of_unbound(name, claim.spec, claim.selected_node, asked)

    def _of_bound(self, claim: str, name: str, asked: set[Question]) -> _Reach | Obstacle:
        asked.add((VolumeObject, name))
        volume = self._volumes.get(name)
        if volume is not None:
            attached = (volume.driver, volume.handle) if volume.driver else None
            return _Reach(volume.node_terms, volume.zones, attached)
        asked.add((VolumeObject, ""))
        if not self._knows_volumes():
            return _EVERYWHERE
        return Obstacle(code=VOLUME_NOT_FOUND, names=(name, claim))

    def _of_unbound(
        self, claim: str, spec: ClaimSpec, selected_node: str, asked: set[Question]
    ) -> _Reach | Obstacle:
        """Return where a volume for a claim is, or may be made, once a pod that uses it starts."""
        name = self._class_name(spec, asked)
        asked.add((StorageClassObject, name))
        storage_class = self._classes.get(name)
        if storage_class is None:
            asked.add((ClaimObject, ""))
            asked.add((VolumeObject, ""))
            if not self._knows_claims():
                return _EVERYWHERE
            if name:
                return Obstacle(code=STORAGE_CLASS_NOT_FOUND, names=(name, claim))
        if storage_class is None or not storage_class.waits_for_pod or spec.volume:
            return Obstacle(code=CLAIM_NOT_BOUND, names=(claim,))
        made = (storage_class.provisioner, claim)
        if selected_node:
            chosen = LabelRequirement(key="metadata.name", operator="In", values=(selected_node,))
            return _Reach((NodeTerm(names=(chosen,)),), (), made)
        if not self._rules.binds_volumes:
            return Obstacle(code=CLAIM_NOT_BOUND, names=(claim,))
        asked.add((VolumeObject, ""))
        choice = self._choice(spec, storage_class)
        kept = choice.kept.get(claim)
        if kept:
            return _Reach(_terms(kept, storage_class), (), made)
        if not choice.others and storage_class.provisioner == NO_PROVISIONER:
            return Obstacle(code=NO_FREE_VOLUME, names=(claim, name))
        return _Reach(choice.terms, (), made)

    def _class_name(self, spec: ClaimSpec, asked: set[Question]) -> str:
        """Return the class of a claim, or the default one; "": none."""
        if spec.storage_class is not None:
            return spec.storage_class
        asked.add((StorageClassObject, ""))
        defaults = [each for each in self._classes.values() if each.is_default]
        newest = min(defaults, key=lambda each: (-each.created_ms, each.name), default=None)
        return newest.name if newest else ""

    def _choice(self, spec: ClaimSpec, storage_class: StorageClassObject) -> _Choice:
        """Return the volumes that may be bound to claims of one kind, found once for all of them.

        A volume that is kept for a claim goes before all others.
        """
        found = self._choices.get((spec, storage_class.name))
        if found is None:
            kept: dict[str, list[VolumeObject]] = {}
            for each in self._free_by_class().get(storage_class.name, ()):
                if _matches(each, spec):
                    kept.setdefault(each.claim, []).append(each)
            others = kept.pop("", [])
            found = _Choice(kept, others, _terms(others, storage_class))
            self._choices[spec, storage_class.name] = found
        return found

    def _free_by_class(self) -> dict[str, list[VolumeObject]]:
        if self._free is None:
            self._free = {}
            for name in sorted(self._volumes):
                volume = self._volumes[name]
                if volume.is_free:
                    self._free.setdefault(volume.storage_class, []).append(volume)
        return self._free

    def _knows_claims(self) -> bool:
        """Return whether a claim that is not there is missing, and was not just left out."""
        return bool(self._claims or self._volumes) or self._rules.missing_claims == "wait"

    def _knows_volumes(self) -> bool:
        return bool(self._volumes) or self._rules.missing_claims == "wait"

    def _is_bound(self, name: str) -> bool:
        claim = self._claims.get(name)
        return claim is not None and claim.phase == "Bound"


def _claims_of(pod: PodObject) -> list[str]:
    made = [each.claim_name(pod.name) for each in pod.ephemeral_volumes]
    return [f"{pod.namespace}/{name}" for name in (*pod.claims, *made)]


def _waiting_pods(unit: Unit[object]) -> Sequence[PodObject]:
    """Return the pods of a unit that have claims, and that a plan may start."""
    if not unit.found.parts:
        return ()
    return [
        pod
        for pod in unit.pods.values()
        if (pod.claims or pod.ephemeral_volumes) and is_live(pod) and not is_placed(pod)
    ]


def _matches(volume: VolumeObject, spec: ClaimSpec) -> bool:
    return (
        volume.mode == spec.mode
        and volume.capacity >= spec.storage
        and set(spec.access_modes).issubset(volume.access_modes)
        and (spec.selector is None or spec.selector.matches(volume.labels))
    )


def _terms(
    volumes: Iterable[VolumeObject], storage_class: StorageClassObject
) -> Alternatives | None:
    """Return where one of *volumes* is, or where the class may make one; None: everywhere."""
    found = [volume.node_terms for volume in volumes]
    if storage_class.provisioner != NO_PROVISIONER:
        found.append(storage_class.topologies or None)
    terms = [each for each in found if each is not None]
    return None if len(terms) < len(found) else _alternatives(terms)


def _alternatives(found: Iterable[Alternatives]) -> Alternatives:
    """Return all alternatives as one list; those that only name a value of one label are joined.

    Local volumes each name their host: a thousand of them become one condition.
    """
    values: dict[str, set[str]] = {}
    others: dict[NodeTerm, None] = {}
    for term in (term for terms in found for term in terms):
        only = term.labels[0] if len(term.labels) == 1 and not term.names else None
        if only is not None and only.operator == "In":
            values.setdefault(only.key, set()).update(only.values)
        else:
            others[term] = None
    joined = [
        NodeTerm(labels=(LabelRequirement(key=key, operator="In", values=tuple(sorted(among))),))
        for key, among in sorted(values.items())
    ]
    return (*joined, *others)
