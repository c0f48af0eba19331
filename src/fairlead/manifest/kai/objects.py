"""KAI's objects as read, before they are put together."""

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, Final, Literal

import msgspec

from fairlead.manifest.core.objects import (
    ByResource,
    LimitByResource,
    NamedObject,
    NamespacedObject,
    Object,
)
from fairlead.manifest.text.path import Path
from fairlead.model.workload import SubGroup
from fairlead.policy.kai.settings import KaiSettings


class QueueDemand(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue asks for in total, what it has of that, and what of it cannot be preempted."""

    requested: ByResource
    allocated: ByResource = msgspec.field(default_factory=dict)
    non_preemptible: ByResource = msgspec.field(default_factory=dict)


class KaiQueueObject(NamedObject, frozen=True, kw_only=True):
    """A KAI ``Queue``; the maps have the keys cpu, memory and gpu, and None is unlimited."""

    kind: ClassVar = "Queue"
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    display_name: str = ""
    parent: str = ""
    priority: int
    created_ms: int = 0
    guaranteed: LimitByResource
    ceiling: LimitByResource
    weights: Mapping[str, Decimal]
    preempt_min_runtime_ms: int | None = None
    reclaim_min_runtime_ms: int | None = None
    simulated: QueueDemand | None = None  # in place of workloads, as the share simulator has it
    status: QueueDemand | None = None  # as KAI publishes it
    usage_e9: ByResource | None = None


class KaiPodGroupObject(NamespacedObject, frozen=True, kw_only=True):
    """A KAI ``PodGroup``; its pods name it in a label or annotation."""

    kind: ClassVar = "PodGroup"
    queue: str  # "": that of a label
    is_queue_named: bool = True  # else KAI's default counts
    min_member: int
    min_sub_group: int | None = None
    priority_class: str = ""
    preemptibility: Literal["preemptible", "non-preemptible", ""] = ""
    created_ms: int = 0
    started_ms: int | None = None
    stale_since_ms: int | None = None  # since when it runs with too few pods
    sub_groups: tuple[SubGroup, ...] = ()
    staleness_grace_ms: int | None = None
    preemption_delay_ms: int = 0
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    topology: bool = False  # has a topology constraint, which no filter of ours knows


class KaiShardObject(NamedObject, frozen=True, kw_only=True):
    """A KAI ``SchedulingShard``."""

    kind: ClassVar = "SchedulingShard"
    settings: KaiSettings


class KaiNames(msgspec.Struct, frozen=True, kw_only=True):
    """Which scheduler and labels are KAI's; an installation may choose others."""

    scheduler: str = "kai-scheduler"
    queue_labels: tuple[str, ...] = ("kai.scheduler/queue", "runai/queue")  # the second is old
    pool_label: str = "kai.scheduler/node-pool"

    def labelled_queue(self, labels: Mapping[str, str]) -> tuple[str, Path]:
        """Return the queue that labels name, and in which; "" and the usual one if none does.

        A label without a value names none.
        """
        found = next((label for label in self.queue_labels if labels.get(label)), None)
        label = found or self.queue_labels[0]
        return labels.get(label, ""), ("metadata", "labels", label)


USUAL_NAMES: Final = KaiNames()


class KaiConfigObject(Object, frozen=True, kw_only=True):
    """KAI's ``Config``, as far as scheduling reads it."""

    kind: ClassVar = "Config"
    is_single: ClassVar = True
    prometheus_url: str  # "": it names none
    names: KaiNames = USUAL_NAMES
