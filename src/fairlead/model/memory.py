"""What a rule set remembers of its own decisions about a workload.

A plan looks at the state alone, so what the next plan must know of this one is kept in the state,
beside the workload and apart from it: an update of the object cannot overwrite it. Carrying out a
plan changes a memory. Readers seed it from what objects record, once, when a workload is added.
Each struct says where it survives a restart; docs/decisions/memory.md has all of it in a table.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import ElasticPods, KaiJob, KueueWorkload, PodId, Workload


class GaveWay(msgspec.Struct, frozen=True, order=True):
    """The workload that preempted this one, and by which rule; it may have been a while ago."""

    beneficiary: WorkloadName
    code: str  # that of the reason
    by_own_quota: bool = False  # it was taken back: the quota is the beneficiary's queue's own
    created_ms: int | None = None  # of the beneficiary, since another may come to have its name


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What a workload gets when its victims have left."""

    flavors: tuple[dict[str, str], ...]  # per pod set, from resource to flavor
    counts: tuple[int, ...]  # how many pods of each set
    waits_for: tuple[WorkloadName, ...]


class KueueMemory(msgspec.Struct, frozen=True, kw_only=True, tag="kueue"):
    """What Kueue's rules remember of a workload.

    On the Workload object survive ``preempting`` (condition QuotaReserved is False with the reason
    WaitingForPreemptedWorkloads) and ``preempted_ms`` (condition Preempted, until it has quota
    again). A promise survives nowhere: its workload stays first of its queue and searches anew, so
    more victims may have to leave. Nor does ``gave_way``: the rule against loops starts anew.
    """

    preempting: bool = False  # others give way to it, so it stays the first of its queue
    promise: Promise | None = None  # of one that is preempting; None: not known
    gave_way: tuple[GaveWay, ...] = ()  # to workloads that are still there, by name
    preempted_ms: int | None = None  # when it last gave way; it may have had quota again since

    def promises_place(self) -> bool:
        """Return whether an earlier plan promised a place that counts in the next one."""
        return self.preempting or self.promise is not None


class ElasticMemory(msgspec.Struct, frozen=True, kw_only=True, tag="elastic-quota"):
    """Which pods under an ElasticQuota wait for others to leave a node: those are *nominated*.

    ``nominated`` survives in status.nominatedNodeName of each pod, ``nominated_ms`` in
    status.scheduleStartTime of the PodGroup; without a PodGroup nothing times out. If a nomination
    is lost, another pod may get the room, and more victims may have to leave.
    """

    nominated: dict[PodId, str] = {}  # to the node of each that has one
    nominated_ms: int | None = None  # since when; None: not known

    def promises_place(self) -> bool:
        """Return whether an earlier plan promised a place that counts in the next one."""
        return bool(self.nominated) or self.nominated_ms is not None


class KaiMemory(msgspec.Struct, frozen=True, kw_only=True, tag="kai"):
    """Since when a gang runs with fewer pods than it needs.

    Survives in the annotation kai.scheduler/stale-podgroup-timestamp of the PodGroup, in whole
    seconds. If it is lost, the grace period of the gang starts anew.
    """

    stale_since_ms: int | None = None  # None: it has what it needs, as far as is known

    def promises_place(self) -> bool:
        """Return False: KAI's rules find reservations anew in every cycle."""
        return False


Memory: TypeAlias = KaiMemory | KueueMemory | ElasticMemory

_EXTENSIONS: Final[Mapping[type, type]] = {
    KaiMemory: KaiJob,
    KueueMemory: KueueWorkload,
    ElasticMemory: ElasticPods,
}


def is_empty(memory: Memory) -> bool:
    """Return whether *memory* says nothing."""
    return memory == type(memory)()


def part_about(workload: Workload, memory: Memory) -> Memory | None:
    """Return what of *memory* can be true of *workload*: all of it, a part, or None.

    A memory belongs to the rule set of its workload, a nomination to a pod that is there.
    """
    if not isinstance(workload.extension, _EXTENSIONS[type(memory)]):
        return None
    if not isinstance(memory, ElasticMemory) or all(map(workload.has_pod, memory.nominated)):
        return memory
    left = {pod: node for pod, node in memory.nominated.items() if workload.has_pod(pod)}
    return ElasticMemory(nominated=left, nominated_ms=memory.nominated_ms) if left else None
