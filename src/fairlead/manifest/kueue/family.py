"""How the objects of Kueue become a cluster state.

Kueue grants quota and leaves the choice of nodes to others, so admitted pods run on no node here.
Nodes are known all the same: for advice, and for placing pods later. Pods that Kueue does not
manage take their part of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Final

import msgspec

from fairlead.manifest.bundle import Bundle, SettingsSection, one_object
from fairlead.manifest.core.device_claims import DeviceClaimTemplateObject
from fairlead.manifest.core.objects import (
    ByResource,
    LimitRangeObject,
    NamespaceObject,
    Object,
    PodObject,
    PriorityClassObject,
    RuntimeClassObject,
    full_name,
    is_live,
)
from fairlead.manifest.core.owners.kinship import Dependent, Kinship
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.bare_pods import warn_of_bare_pods
from fairlead.manifest.kueue.assembly.checks import advise_kueue, warn_of_missing, warn_of_no_effect
from fairlead.manifest.kueue.assembly.devices import warn_of_uncharged_devices
from fairlead.manifest.kueue.assembly.queues import (
    KueueObjects,
    model_queues,
    quota_axes,
    refuse_cohort_cycles,
)
from fairlead.manifest.kueue.assembly.requests import with_requests
from fairlead.manifest.kueue.assembly.reservations import warn_of_reservations
from fairlead.manifest.kueue.assembly.slices import as_difference, is_replaced, newer_slices
from fairlead.manifest.kueue.assembly.workloads import observed_workload, refuse_too_many_pods
from fairlead.manifest.kueue.jobs.make import Priorities, make_workloads
from fairlead.manifest.kueue.jobs.managed import QUEUE_LABEL, kueue_standing, queue_name
from fairlead.manifest.kueue.objects import (
    ClusterQueueObject,
    CohortObject,
    FlavorObject,
    KueueSettingsObject,
    KueueWorkloadObject,
    LocalQueueObject,
    WorkloadPriorityClassObject,
)
from fairlead.manifest.kueue.reading.cluster_queue import read_cluster_queue, read_cohort
from fairlead.manifest.kueue.reading.configuration import (
    KUEUE_SECTION,
    read_kueue_configuration,
    read_kueue_options,
)
from fairlead.manifest.kueue.reading.local_queue import (
    read_flavor,
    read_local_queue,
    read_workload_priority_class,
)
from fairlead.manifest.kueue.reading.workload import read_kueue_workload
from fairlead.manifest.translate.align import without_cycles
from fairlead.manifest.translate.family import (
    NOTHING,
    AssemblyRules,
    Family,
    Made,
    Measures,
    Mirror,
    Remarks,
    Unit,
    UnitContent,
    UnitKey,
)
from fairlead.model.axes import Axis, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.policy.kueue.settings import KueueSettings

_KUEUE_PREFIX: Final = "kueue.x-k8s.io/"


class KueueFamily(Family[KueueWorkloadObject]):
    """Kueue's objects. A unit is a Workload, or a pod."""

    head_types = (KueueWorkloadObject,)
    queue_types = (ClusterQueueObject, CohortObject)
    catalogue_types = (FlavorObject, LocalQueueObject, NamespaceObject)
    finds_while_settling = False
    looked_at_to_make = frozenset(
        {
            KueueSettingsObject,
            LocalQueueObject,
            PriorityClassObject,
            WorkloadPriorityClassObject,
        }
    )

    def __init__(self, mirror: Mirror, rules: AssemblyRules) -> None:
        """Read the objects of *mirror*."""
        super().__init__(mirror, rules)
        self.objects = KueueObjects(mirror, {})  # its cohorts have no cycles
        self._newer_slices: Mapping[str, Sequence[str]] = {}

    @property
    def settings(self) -> KueueSettings:
        """What Kueue's Configuration and our own Settings say together."""
        return self.objects.settings

    def refresh(self, changed: Set[type], remarks: Remarks) -> bool:
        """Take in the tree of cohorts, and which slices of elastic jobs replace others."""
        if KueueWorkloadObject in changed:
            self._newer_slices = newer_slices(self.objects.workloads.values())
        if CohortObject in changed:
            remarks.note("queues", self._read_cohorts)
        return False

    def _read_cohorts(self, findings: Findings) -> None:
        cohorts = self.mirror.of(CohortObject)
        refuse_cohort_cycles(cohorts, findings)
        self.objects.cohorts = without_cycles(cohorts, self.objects.cohorts)

    def as_dependent(self, each: Object) -> Dependent | None:
        """Return a Workload, which Kueue makes of an owner."""
        return each if isinstance(each, KueueWorkloadObject) else None

    def make(self, owner: OwnerObject, kinship: Kinship, findings: Findings) -> Made:
        """Return the Workloads that Kueue would make of an owner for its queue."""
        objects = self.objects
        queue = queue_name(owner, objects.local_queues)
        frameworks = objects.configuration.frameworks if objects.configuration else None
        found = kueue_standing(owner, kinship, queue, frameworks)
        if found != "due":
            return Made(standing=found)
        priorities = Priorities(objects.workload_classes, objects.priority_classes)
        workloads = tuple(make_workloads(owner, queue, priorities))
        return Made(standing=found, objects=workloads)

    def unit_of(self, each: Object) -> UnitKey:
        """Return the object itself."""
        if isinstance(each, PodObject):
            return "pod", full_name(each)
        assert isinstance(each, KueueWorkloadObject), each
        return "workload", full_name(each)

    def affected_units(
        self,
        old: Object | None,
        new: Object | None,
        units: Collection[Unit[KueueWorkloadObject]],
    ) -> Iterable[Unit[KueueWorkloadObject]]:
        """Return the Workloads of a LocalQueue that changed; after classes or settings did, all."""
        match old if new is None else new:
            case KueueWorkloadObject():
                return self._related_slices(old, new, units)
            case PriorityClassObject() | WorkloadPriorityClassObject() | KueueSettingsObject():
                return units
            case RuntimeClassObject():
                return units
            case LimitRangeObject() | DeviceClaimTemplateObject() as one:
                namespace = one.namespace
                return [unit for unit in units if unit.key[1].startswith(f"{namespace}/")]
            case LocalQueueObject(local_queue=queue):
                key = queue.namespace, queue.name
                return [unit for unit in units if _local_queue(unit) == key]
        return ()

    def _related_slices(
        self,
        old: Object | None,
        new: Object | None,
        units: Collection[Unit[KueueWorkloadObject]],
    ) -> Iterable[Unit[KueueWorkloadObject]]:
        """Return the slices that a Workload replaced, replaces or is replaced by."""
        names: set[str] = set()
        for each in (old, new):
            if isinstance(each, KueueWorkloadObject):
                names.update(self._newer_slices.get(full_name(each), ()))
                names.update({each.replaces} - {""})
        return [unit for unit in units if unit.key[1] in names] if names else ()

    def sort(
        self, unit: Unit[KueueWorkloadObject], findings: Findings
    ) -> UnitContent[KueueWorkloadObject]:
        """Return the Workload, unless it is finished, or the pod, unless Kueue manages it."""
        workload = unit.head
        if isinstance(workload, KueueWorkloadObject) and not self._has_ended(workload):
            if refuse_too_many_pods([workload], findings):
                # Without quota: as many pods as it says would leave no memory for all others.
                workload = msgspec.structs.replace(workload, admitted_ms=None)
            workload = as_difference(workload, self.objects)
            return UnitContent(parts=(with_requests(workload, self.objects),))
        foreign = [pod for pod in unit.pods_by_name() if is_live(pod) and not _is_managed(pod)]
        return UnitContent(foreign=tuple(foreign)) if foreign else NOTHING

    def _has_ended(self, workload: KueueWorkloadObject) -> bool:
        newer = self._newer_slices.get(full_name(workload), ())
        return workload.finished or is_replaced(newer, self.objects.workloads)

    def workload_name(self, part: KueueWorkloadObject) -> WorkloadName:
        """Return ``namespace/name``."""
        return WorkloadName(full_name(part))

    def uid(self, part: KueueWorkloadObject) -> str:
        """Return the uid of the Workload, whose pods are only counted."""
        return part.identity.uid

    def has_finished(self, unit: Unit[KueueWorkloadObject]) -> bool:
        """Return whether the Workload says so."""
        return isinstance(unit.head, KueueWorkloadObject) and unit.head.finished

    def accounted_by(self, pod: PodObject) -> tuple[WorkloadName, ...]:
        """Return the Workload that Kueue has noted on the pod."""
        name = pod.annotations.get(f"{_KUEUE_PREFIX}workload")
        return (WorkloadName(f"{pod.namespace}/{name}"),) if name else ()

    def constraints(self, part: KueueWorkloadObject) -> Iterable[PodConstraints]:
        """Return the constraints of each pod set."""
        return [each.constraints for each in part.pod_sets]

    def amounts(self, part: KueueWorkloadObject) -> Iterable[ByResource]:
        """Return what one pod of each set asks for."""
        return [each.requests for each in part.pod_sets]

    def queue_axes(self) -> Set[Axis]:
        """Return every flavor x resource that a queue lists."""
        return quota_axes(self.objects)

    def queues(self, axes: QuotaAxes) -> Sequence[Queue]:
        """Return ClusterQueues and Cohorts, named or only referred to."""
        return model_queues(self.objects, axes)

    def catalogue(self) -> Catalogue:
        """Return flavors, local queues and namespaces."""
        objects = self.objects
        return Catalogue(
            flavors={name: each.flavor for name, each in objects.flavors.items()},
            local_queues={name: each.local_queue for name, each in objects.local_queues.items()},
            namespaces={name: dict(each.labels) for name, each in objects.namespaces.items()},
        )

    def check_objects(self, findings: Findings) -> None:
        """Report what is wrong among the objects, before any of them is translated."""
        cohorts = self.mirror.of(CohortObject)
        refuse_cohort_cycles(cohorts, findings)
        objects = KueueObjects(self.mirror, cohorts)
        warn_of_missing(objects, findings)
        warn_of_no_effect(objects, findings)
        refuse_too_many_pods(objects.unfinished_workloads(), findings)
        owners = self.mirror.of(OwnerObject).values()
        warn_of_bare_pods(self.mirror.of(PodObject), objects.workloads, owners, findings)
        warn_of_uncharged_devices(objects, findings)

    def complete(self, state: ClusterState, findings: Findings) -> None:
        """Advise on the objects and the state that they became."""
        warn_of_reservations(self.objects.cluster_queues, state, findings)
        advise_kueue(KueueObjects(self.mirror, self.mirror.of(CohortObject)), state, findings)

    def observe(
        self, part: KueueWorkloadObject, measures: Measures, findings: Findings
    ) -> ObservedWorkload:
        """Return a Workload as its object shows it."""
        return observed_workload(part, self.objects, measures.resources)


def _local_queue(unit: Unit[KueueWorkloadObject]) -> tuple[str, str] | None:
    workload = unit.head
    if not isinstance(workload, KueueWorkloadObject):
        return None
    return workload.namespace, workload.local_queue


def _is_managed(pod: PodObject) -> bool:
    """Return whether Kueue has a hand in the pod, so that a Workload accounts for it."""
    return any(key.startswith(_KUEUE_PREFIX) for key in (*pod.labels, *pod.annotations))


_GROUP: Final = "kueue.x-k8s.io"
_BETA: Final = ("v1beta2", "v1beta1")

KUEUE: Final = Bundle(
    policy="kueue",
    queues="Kueue ClusterQueue",
    queue_label=QUEUE_LABEL,
    kinds={
        (_GROUP, "ClusterQueue"): one_object(read_cluster_queue, *_BETA, is_queue=True),
        (_GROUP, "Cohort"): one_object(read_cohort, *_BETA, "v1alpha1", is_queue=True),
        (_GROUP, "LocalQueue"): one_object(read_local_queue, *_BETA),
        (_GROUP, "ResourceFlavor"): one_object(read_flavor, *_BETA),
        (_GROUP, "Workload"): one_object(read_kueue_workload, *_BETA),
        (_GROUP, "WorkloadPriorityClass"): one_object(read_workload_priority_class, *_BETA),
        ("config.kueue.x-k8s.io", "Configuration"): one_object(read_kueue_configuration, *_BETA),
    },
    section=SettingsSection(name=KUEUE_SECTION, title="kueue", read=read_kueue_options),
    family=KueueFamily,
)
