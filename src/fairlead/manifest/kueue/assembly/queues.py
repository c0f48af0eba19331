"""Turns Kueue's objects into one tree of queues on the axes flavor x resource.

A ClusterQueue keeps its name, a Cohort gets that of `cohort_queue`. A cohort that objects only
refer to exists all the same, as in Kueue: at the top, with weight 1 and no quota.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

import msgspec

from fairlead.manifest.core.device_claims import DeviceClaimTemplateObject
from fairlead.manifest.core.objects import (
    LimitRangeObject,
    NamespaceObject,
    PriorityClassObject,
    RuntimeClassObject,
    SettingsObject,
)
from fairlead.manifest.core.tree_checks import refuse_cycles
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.objects import (
    ClusterQueueObject,
    CohortObject,
    FlavorObject,
    FlavorQuota,
    KueueSettingsObject,
    KueueWorkloadObject,
    LocalQueueObject,
    RequestRules,
    WorkloadPriorityClassObject,
)
from fairlead.manifest.kueue.reading.configuration import KUEUE_SECTION
from fairlead.manifest.translate.family import Mirror
from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.queue import ClusterQueue, Cohort, Queue, cohort_queue
from fairlead.policy.kueue.settings import KueueSettings


class KueueObjects:
    """What there is for Kueue's rules. Local queues and workloads go by ``namespace/name``."""

    def __init__(self, mirror: Mirror, cohorts: Mapping[str, CohortObject]) -> None:
        """Look at the objects of *mirror*, of its cohorts only at *cohorts*. Copies nothing."""
        self._mirror = mirror
        self.cohorts = cohorts
        self.cluster_queues = mirror.of(ClusterQueueObject)
        self.flavors = mirror.of(FlavorObject)
        self.local_queues = mirror.of(LocalQueueObject)
        self.workloads = mirror.of(KueueWorkloadObject)
        self.workload_classes = mirror.of(WorkloadPriorityClassObject)
        self.priority_classes = mirror.of(PriorityClassObject)
        self.namespaces = mirror.of(NamespaceObject)
        self.device_templates = mirror.of(DeviceClaimTemplateObject)
        self.limit_ranges = mirror.of(LimitRangeObject)
        self.runtime_classes = mirror.of(RuntimeClassObject)

    @property
    def configuration(self) -> KueueSettingsObject | None:
        """Kueue's Configuration; None: there is none."""
        return self._mirror.single(KueueSettingsObject)

    @property
    def request_rules(self) -> RequestRules:
        """How the Configuration changes what pods request."""
        return RequestRules() if self.configuration is None else self.configuration.request_rules

    @property
    def own_settings(self) -> SettingsObject | None:
        """Fairlead's own Settings; None: there are none."""
        return self._mirror.single(SettingsObject)

    @property
    def settings(self) -> KueueSettings:
        """What Kueue's Configuration says, with what our own Settings add."""
        settings = self.configuration.settings if self.configuration else KueueSettings()
        if self.own_settings is None:
            return settings
        own: KueueSettings = self.own_settings.sections[KUEUE_SECTION]
        return msgspec.structs.replace(settings, options=own.options, faithful=own.faithful)

    def unfinished_workloads(self) -> list[KueueWorkloadObject]:
        """Return the workloads that hold or want something."""
        return [each for each in self.workloads.values() if not each.finished]


def refuse_cohort_cycles(cohorts: Mapping[str, CohortObject], findings: Findings) -> None:
    """Report an error for each cycle of cohorts."""
    refuse_cycles(list(cohorts.values()), "Cohort", lambda each: each.parent_path, findings)


def quota_axes(objects: KueueObjects) -> set[Axis]:
    """Return every flavor x resource that an object lists."""
    owners: list[ClusterQueueObject | CohortObject] = [
        *objects.cluster_queues.values(),
        *objects.cohorts.values(),
    ]
    return {Axis(quota.resource, quota.flavor) for owner in owners for quota in owner.quotas}


def model_queues(objects: KueueObjects, axes: QuotaAxes) -> list[Queue]:
    """Return the queues of all ClusterQueues and Cohorts, named or only referred to.

    Cohorts come first. Cost: O(queues x axes).
    """
    implicit = [
        Queue(
            name=cohort_queue(name),
            weights=(Decimal(1),) * len(axes),
            guaranteed=axes.zero,
            ceiling=axes.unlimited,
            borrow_limit=axes.unlimited,
            lend_limit=axes.unlimited,
            extension=Cohort(implicit=True),
        )
        for name in implicit_cohorts(objects)
    ]
    cohorts = [
        _queue(
            each,
            cohort_queue(each.name),
            each.parent,
            Cohort(resource_groups=each.resource_groups),
            axes,
        )
        for each in objects.cohorts.values()
    ]
    cluster_queues = [
        _queue(each, QueueName(each.name), each.cohort, each.rules, axes)
        for each in objects.cluster_queues.values()
    ]
    return [*implicit, *cohorts, *cluster_queues]


def implicit_cohorts(objects: KueueObjects) -> list[str]:
    """Return the cohorts that are only referred to, by name."""
    named = {each.cohort for each in objects.cluster_queues.values()}
    named |= {each.parent for each in objects.cohorts.values()}
    return sorted(named - objects.cohorts.keys() - {""})


def _queue(
    found: ClusterQueueObject | CohortObject,
    name: QueueName,
    parent: str,
    extension: ClusterQueue | Cohort,
    axes: QuotaAxes,
) -> Queue:
    guaranteed, borrow_limit, lend_limit = _vectors(found.quotas, axes)
    return Queue(
        name=name,
        parent=cohort_queue(parent) if parent else None,
        created_ms=found.created_ms,
        weights=(found.weight,) * len(axes),
        guaranteed=tuple(guaranteed),
        ceiling=axes.unlimited,
        borrow_limit=tuple(borrow_limit),
        lend_limit=tuple(lend_limit),
        extension=extension,
    )


def _vectors(
    quotas: Iterable[FlavorQuota], axes: QuotaAxes
) -> tuple[list[int], list[int | None], list[int | None]]:
    guaranteed = list(axes.zero)
    borrow_limit, lend_limit = list(axes.unlimited), list(axes.unlimited)
    for quota in quotas:
        place = axes.index(quota.resource, quota.flavor)
        assert place is not None, quota
        guaranteed[place] = quota.guaranteed
        borrow_limit[place] = quota.borrow_limit
        lend_limit[place] = quota.lend_limit
    return guaranteed, borrow_limit, lend_limit
