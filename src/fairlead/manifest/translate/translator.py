"""Keeps one cluster state in line with objects that come, change and go.

Translating is a comparison of what should be with what is, never a forwarding of changes: an object
that changed makes its unit dirty, a dirty unit is read again, and the difference to what the state
holds becomes events. So facts may repeat, overtake each other or be missed, and a complete list is
a fact like others. Commands that read files translate all objects at once, in the same way.

What one unit means may depend on others: which labels count depends on the affinities of all pods,
which devices are shared on all pods of a node. That is kept as counts and by node, so that a change
reaches the units that it concerns and no others.

The resources and quota axes of a state are fixed. Where an object needs others, a new state is
built from all objects, and takes over what only the old one knows. A resource that no object has
any more stays until then: nothing has an amount of it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.errors import Finding, StateError
from fairlead.manifest.core.node_amounts import model_node
from fairlead.manifest.core.objects import ByResource, NodeObject, Object, PodObject, pod_id
from fairlead.manifest.core.pod_selectors import (
    ChangedSelectors,
    CountedSelectors,
    PodSelectors,
    foreign_pod,
)
from fairlead.manifest.core.volume_objects import AttachLimitsObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.text.documents import Document
from fairlead.manifest.translate.align import align_foreign_pod, align_node, align_queues
from fairlead.manifest.translate.device_claims import DeviceClaims
from fairlead.manifest.translate.family import (
    NOTHING,
    OF_A_CLUSTER,
    AssemblyRules,
    Family,
    Measures,
    Mirror,
    Remarks,
    Unit,
    UnitChange,
    UnitKey,
)
from fairlead.manifest.translate.inbox import Change, Inbox
from fairlead.manifest.translate.made import MadeObjects
from fairlead.manifest.translate.volumes import Volumes
from fairlead.model.axes import Axis, QuotaAxes, WorkloadName
from fairlead.model.events import CatalogueChanged, UsageChanged
from fairlead.model.execution.carry_over import carry_over
from fairlead.model.execution.reconcile import ObservedWorkload, bring_in_line
from fairlead.model.node import ForeignPod
from fairlead.model.state import ClusterState
from fairlead.model.workload import Obstacle, PodId
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.obstacles import INVALID_OBJECT


class Dirty(msgspec.Struct, kw_only=True):
    """All that a state may not be in line with."""

    units: set[UnitKey] = set()  # to be read again
    parts: list[Any] = []  # that were read and may need other axes
    workloads: set[WorkloadName] = set()
    dropped: dict[WorkloadName, str] = {}  # to the uids of objects that were read again, or went
    foreign: set[PodId] = set()
    nodes: set[str] = set()
    queues: bool = False
    catalogue: bool = False


class Translator:
    """The objects of a cluster under one rule set, and the state that they describe."""

    def __init__(self, policy: PolicyName, rules: AssemblyRules = OF_A_CLUSTER) -> None:
        """Begin without objects; *rules* say how to take objects that are not complete."""
        self.mirror = Mirror()
        self.state = ClusterState((), QuotaAxes(()))
        self.units: dict[UnitKey, Unit[Any]] = {}
        self.family: Family[Any] = BUNDLES[policy].family(self.mirror, rules)
        self.volumes = Volumes(self.mirror, rules)
        self._device_claims = DeviceClaims(self.mirror)
        self._remarks = Remarks()
        self._inbox = Inbox(policy, self.mirror, self.family.head_types, self._remarks)
        self.made = MadeObjects(self.mirror, self.family, self._remarks)
        self._changes: list[Change] = []  # that were taken in and are not settled yet
        self._is_regrouped = True  # when it is settled next
        self._parts: dict[WorkloadName, tuple[Any, UnitKey]] = {}
        self._foreign: dict[PodId, PodObject] = {}
        self._counted = CountedSelectors()
        self._selectors = PodSelectors()
        self._resources: set[str] = set()  # of the state, and of what is to be put into it
        self._dirty = Dirty()
        self._refused: set[WorkloadName] = set()  # whose objects contradict what the state knows
        self._is_empty = True  # nothing was settled so far

    @property
    def settings(self) -> Settings:
        """The settings that the objects say."""
        return self.family.settings

    def findings(self) -> tuple[Finding, ...]:
        """Return what is wrong or odd about objects as they are now."""
        findings = Findings()
        self.report_owners(findings)
        return (*self._remarks, *findings)

    def report_owners(self, findings: Findings) -> None:
        """Report which owners make no pods, and why. Cost: one look at each."""
        self.made.report(findings)

    def changed(self, document: Document) -> None:
        """Take in that an object is there, in this version. Old and repeated news are harmless.

        Of an object that is not valid its last valid version counts. Its workload waits.
        """
        self._inbox.changed(document)

    def removed(self, document: Document) -> None:
        """Take in that an object is gone, of which *document* is the last version."""
        self._inbox.removed(document)

    def listed(
        self, group: str, kind: str, documents: Iterable[Document], resource_version: str = ""
    ) -> None:
        """Take in all objects of an API group and kind: what is not listed is gone.

        *resource_version* is that of the list. A list out of a cache may be older than what a watch
        has delivered already: objects that were seen in a later version stay.
        """
        self._inbox.listed(group, kind, documents, resource_version)

    def unserved(self, group: str, kind: str) -> None:
        """Take in that no object of an API group and kind can be seen any more.

        Unlike objects that are gone, the same ones may be there again later.
        """
        self._inbox.unserved(group, kind)

    def look_again(self, workload: WorkloadName) -> None:
        """Compare a workload with its objects again when the state is settled next.

        To be called after an outcome of an order changed what the state assumes: a fact may have
        come before that agreed with the assumption, and was no news then.
        """
        self._dirty.workloads.add(workload)

    def take(self, found: Object) -> None:
        """Take in an object that was read already, and is valid."""
        self._inbox.put(found)

    def take_in(self, findings: Findings | None = None) -> None:
        """Let settings count that changed, and make what controllers would make of owners.

        `settle` does so too, if it was not done since the last change.
        """
        self._remarks.shared = findings
        changes = self._inbox.take_changes()
        types = {type(old if new is None else new) for old, new in changes}
        self._is_regrouped |= self.family.refresh(types, self._remarks)
        self._dirty.units.update(self.volumes.refresh(types))
        self._changes += [*changes, *self.made.update(changes)]
        self._remarks.shared = None

    def settle(self, findings: Findings | None = None) -> bool:
        """Bring the state in line with the objects; returns whether it is a new one.

        What is found out about objects among each other goes to *findings* too. Cost: what changed,
        and what depends on it; everything when axes are added or settings change.
        """
        self.take_in(findings)
        self._remarks.shared = findings
        if self._is_regrouped:
            self._regroup()
        else:
            for old, new in self._changes:
                self._note_change(old, new)
        self._changes, self._is_regrouped = [], False
        self._read_units()
        is_new = self._is_outgrown()
        old_state = self.state
        if is_new:
            self._begin_state()
        self._align()
        if is_new and not self._is_empty:
            carry_over(old_state, self.state)
        self._is_empty = False
        self._remarks.shared = None
        return is_new

    def _regroup(self) -> None:
        """Form all units anew."""
        dirty = self._dirty
        dirty.units.update(self.units)
        for unit in self.units.values():
            unit.head, unit.pods = None, {}
        for kind in (*self.family.head_types, PodObject):
            objects: dict[str, Object] = self.mirror.of(kind)
            for name, each in objects.items():
                self._put_into_unit(name, each)
        dirty.nodes.update(self.state.nodes, self.mirror.of(NodeObject))
        dirty.queues = dirty.catalogue = True

    def _note_change(self, old: Object | None, new: Object | None) -> None:
        """Note what is to be looked at again after an object changed."""
        family, dirty = self.family, self._dirty
        one = old if new is None else new
        if isinstance(one, (PodObject, *family.head_types)):
            if old is not None:
                self._take_from_unit(old.key(), old)
            if new is not None:
                self._put_into_unit(new.key(), new)
        if isinstance(one, NodeObject | AttachLimitsObject):
            dirty.nodes.add(one.name)
        dirty.queues |= isinstance(one, family.queue_types)
        dirty.catalogue |= isinstance(one, family.catalogue_types)
        dirty.units.update(
            each.key for each in family.affected_units(old, new, self.units.values())
        )
        dirty.units.update(self.volumes.affected(old, new))
        users = self._device_claims.affected(old, new)
        dirty.units.update(key for key in users if key in self.units)

    def _put_into_unit(self, name: str, each: Object) -> None:
        key = self.family.unit_of(each)
        unit = self.units.get(key)
        if unit is None:
            unit = self.units[key] = Unit(key=key)
        if isinstance(each, PodObject):
            unit.pods[name] = each
        else:
            unit.head = each
        self._dirty.units.add(key)

    def _take_from_unit(self, name: str, each: Object) -> None:
        key = self.family.unit_of(each)
        unit = self.units[key]
        if isinstance(each, PodObject):
            del unit.pods[name]
        else:
            unit.head = None
        self._dirty.units.add(key)

    def _read_units(self) -> None:
        """Sort every dirty unit again, and note what else depends on what changed there."""
        family, dirty = self.family, self._dirty
        changes = [self._sort_unit(self.units[key]) for key in sorted(dirty.units)]
        # First out, then in: a workload or pod may have gone from one unit to another.
        for each in changes:
            for part in each.before.parts:
                self._drop_part(part)
            for pod in map(pod_id, each.before.foreign):
                self._foreign.pop(pod, None)
                dirty.foreign.add(pod)
        for key, each in zip(sorted(dirty.units), changes, strict=True):
            for part in each.after.parts:
                self._put_part(part, key)
            for found in each.after.foreign:
                pod = pod_id(found)
                self._foreign[pod] = found
                dirty.foreign.add(pod)
        changed_devices = family.update_devices(changes, frozenset(dirty.nodes), self._remarks)
        dirty.workloads |= changed_devices.workloads
        dirty.foreign |= changed_devices.foreign
        self._spread_selectors()
        dirty.units.clear()

    def _sort_unit(self, unit: Unit[Any]) -> UnitChange[Any]:
        before = unit.found
        unit.found = NOTHING
        self.volumes.resolve(unit)
        self._device_claims.resolve(unit)
        if unit.pods or unit.head is not None:
            unit.found = self._remarks.note(
                unit.key, lambda findings: self.family.sort(unit, findings)
            )
        else:
            self._remarks.put(unit.key, ())
            del self.units[unit.key]
        return UnitChange(before, unit.found)

    def _put_part(self, part: Any, unit: UnitKey) -> None:
        family = self.family
        name = family.workload_name(part)
        self._parts[name] = part, unit
        self._dirty.workloads.add(name)
        if self._dirty.dropped.get(name, uid := family.uid(part)) != uid:
            bring_in_line(self.state, name, None)  # what it assumes and remembers is of another one
        self._dirty.parts.append(part)
        for constraints in family.constraints(part):
            self._counted.add(constraints)
        self._need(family.amounts(part))

    def _drop_part(self, part: Any) -> None:
        name = self.family.workload_name(part)
        del self._parts[name]
        self._dirty.workloads.add(name)
        self._dirty.dropped[name] = self.family.uid(part)
        for constraints in self.family.constraints(part):
            self._counted.add(constraints, -1)

    def _spread_selectors(self) -> None:
        """Mark workloads and foreign pods of which other labels or ports matter than before."""
        before, self._selectors = self._selectors, self._counted.all()
        if before == self._selectors:
            return
        changed = ChangedSelectors(before, self._selectors)
        for name, (part, _) in self._parts.items():
            if self.family.is_affected(part, changed):
                self._dirty.workloads.add(name)
        for pod, found in self._foreign.items():
            if changed.affect(found):
                self._dirty.foreign.add(pod)

    def _need(self, amounts: Iterable[ByResource]) -> None:
        """Note the resources of *amounts*, on which the state is to be measured."""
        for each in amounts:
            self._resources.update(each)

    def _is_outgrown(self) -> bool:
        """Return whether objects need resources or axes that the state does not have."""
        if self._is_empty:
            return True
        family, dirty = self.family, self._dirty
        foreign = [self._foreign[pod] for pod in dirty.foreign & self._foreign.keys()]
        self._need(family.charged(pod).requests for pod in foreign)
        nodes = self.mirror.of(NodeObject)
        known = [nodes[name] for name in dirty.nodes & nodes.keys()]
        self._need(node.allocatable for node in known if family.has_node(node))
        if dirty.queues:
            self._need(family.other_amounts())
        parts = [part for part, _ in self._parts.values()] if dirty.queues else dirty.parts
        needed = self._needed_axes(parts, with_queues=dirty.queues)
        has_all = needed.issubset(self.state.axes.axes)
        return not has_all or len(self._resources) > len(self.state.resources)

    def _needed_axes(self, parts: Iterable[Any], *, with_queues: bool) -> set[Axis]:
        needed = set(self.family.queue_axes() if with_queues else ())
        return needed.union(*map(self.family.part_axes, parts))

    def _begin_state(self) -> None:
        """Begin with an empty state that can be measured on all that is there, and no more."""
        family, dirty = self.family, self._dirty
        parts = [part for part, _ in self._parts.values()]
        nodes = self.mirror.of(NodeObject)
        self._resources = set()
        for part in parts:
            self._need(family.amounts(part))
        self._need(family.charged(pod).requests for pod in self._foreign.values())
        self._need(node.allocatable for node in nodes.values() if family.has_node(node))
        self._need(family.other_amounts())
        resources = tuple(sorted(self._resources))
        needed = self._needed_axes(parts, with_queues=True)
        self.state = ClusterState(resources, family.axes(resources, needed))
        dirty.workloads.update(self._parts)
        dirty.foreign.update(self._foreign)
        dirty.nodes.update(nodes)
        dirty.queues = dirty.catalogue = True

    def _align(self) -> None:
        """Bring all of the state in line that is dirty."""
        state, family, dirty = self.state, self.family, self._dirty
        measures = Measures(state.resources, self._selectors)
        if dirty.catalogue and state.catalogue != (catalogue := family.catalogue()):
            state.apply(CatalogueChanged(catalogue))
        if dirty.queues:
            self._align_queues()
        # Before the nodes, so that what a node has beside them is worked out once.
        for pod in sorted(dirty.foreign):
            found = self._foreign.get(pod)
            align_foreign_pod(state, pod, None if found is None else self._held(found))
        nodes = self.mirror.of(NodeObject)
        for name in sorted(dirty.nodes):
            node = nodes.get(name)
            found_node = None
            if node is not None and family.has_node(node):
                limits = self.volumes.attach_limits(name)
                found_node = model_node(node, state.resources, limits)
            align_node(state, name, found_node)
        for workload in sorted(dirty.workloads):
            self._align_workload(workload, measures)
        self._dirty = Dirty(workloads=self._refused)  # to be tried again
        self._refused = set()

    def _held(self, pod: PodObject) -> ForeignPod | None:
        return foreign_pod(self.family.charged(pod), self.state.resources, self._selectors)

    def _align_queues(self) -> None:
        state, family = self.state, self.family
        align_queues(state, family.queues(state.axes))
        usage = family.usage()
        if usage and usage != state.usage:
            state.apply(UsageChanged(dict(usage)))

    def _align_workload(self, name: WorkloadName, measures: Measures) -> None:
        known = self._parts.get(name)
        subject = ("part", name)  # not the key of a unit: it may be the name of the workload
        if known is None:
            self._remarks.put(subject, ())
            bring_in_line(self.state, name, None)
            return
        part, unit = known
        observed = self._remarks.note(
            subject, lambda findings: self.family.observe(part, measures, findings)
        )
        wrong = self._remarks.error(subject) or self._remarks.error(unit)
        wrong = wrong or self._inbox.fault_of(self.units[unit])
        if wrong is not None:
            observed = _held_back(observed, wrong)
        try:
            bring_in_line(self.state, name, observed)
        except StateError as refused:
            self._remarks.put(subject, (_refusal(name, refused),))
            self._refused.add(name)


def _held_back(observed: ObservedWorkload, wrong: Finding) -> ObservedWorkload:
    """Return a workload that waits because an object of it is wrong; what runs of it stays."""
    told = f"{wrong.file}: {wrong.path}: {wrong.message}"
    obstacle = Obstacle(code=INVALID_OBJECT, names=(told,))
    workload = msgspec.structs.replace(observed.workload, active=False, obstacle=obstacle)
    return msgspec.structs.replace(observed, workload=workload)


def _refusal(name: WorkloadName, refused: StateError) -> Finding:
    return Finding(
        severity="error",
        code="contradiction",
        file=name,
        line=None,
        path="$",
        message=f"found objects that contradict each other, so that they do not count: {refused}",
        fix="correct or remove one of the objects of the workload",
    )
