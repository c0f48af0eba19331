"""What can happen to a cluster, as data. The state takes these in, one by one."""

from typing import TypeAlias

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.device_share import DeviceShare
from fairlead.model.holds import Holds
from fairlead.model.memory import Memory
from fairlead.model.node import ForeignPod, Node
from fairlead.model.queue import Queue
from fairlead.model.workload import PodId, Workload


class Placement(msgspec.Struct, frozen=True):
    """A pod and its node; no node where quota is granted before pods are placed.

    ``share`` is which devices of the node it shares, for a pod that asks for parts of some.
    """

    pod: PodId
    node: str | None
    share: DeviceShare | None = None


class WorkloadAdded(msgspec.Struct, frozen=True, tag=True):
    """Work was submitted."""

    workload: Workload


class WorkloadChanged(msgspec.Struct, frozen=True, tag=True):
    """What is known of a workload changed: its queue, priority, pods, or whether it is active.

    Pods that it still has keep their places, whatever set they are in now; those that it has no
    more are gone, with their places. What is remembered of the workload stays.
    """

    workload: Workload


class MemoryChanged(msgspec.Struct, frozen=True, tag=True):
    """What a rule set remembers of a workload is now this, and nothing else; None: nothing."""

    workload: WorkloadName
    memory: Memory | None


class _Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of a workload have places since ``at_ms``.

    ``flavors`` has one entry per pod set, from resource to flavor, where quotas are flavored.
    """

    workload: WorkloadName
    placements: tuple[Placement, ...]
    flavors: tuple[dict[str, str], ...] = ()
    at_ms: int


class _OfPods(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened to pods of a workload."""

    workload: WorkloadName
    pods: tuple[PodId, ...]


class WorkloadStarted(_Placed, frozen=True, kw_only=True, tag=True):
    """Pods of a workload got their places (all of them, or some more of an elastic one)."""


class WorkloadBinding(_Placed, frozen=True, kw_only=True, tag=True):
    """Pods were given places, and the cluster was asked to bind them there.

    They count as running from now on. Either the cluster confirms it, or they are reported stopped
    because it failed; until ``until_ms`` one of the two is expected.
    """

    until_ms: int | None = None


class WorkloadConfirmed(_OfPods, frozen=True, kw_only=True, tag=True):
    """The cluster shows pods on the nodes that they were given, running since ``at_ms``.

    Those that were binding are so no more.
    """

    at_ms: int


class WorkloadReserved(_Placed, frozen=True, kw_only=True, tag=True):
    """Pods are to run where others are leaving. Their queue is charged from now on.

    They have not started; once they stop waiting, they are reported stopped, then started.
    """

    until_ms: int | None = None


class WorkloadLeaving(_OfPods, frozen=True, kw_only=True, tag=True):
    """Pods are being evicted. They hold their node until they have stopped."""


class WorkloadStays(_OfPods, frozen=True, kw_only=True, tag=True):
    """Pods that were being evicted run on: the eviction was refused, or withdrawn."""


class WorkloadStopped(_OfPods, frozen=True, kw_only=True, tag=True):
    """Pods gave up their places and wait again."""


class WorkloadDisplaced(_OfPods, frozen=True, kw_only=True, tag=True):
    """Pods gave up their places and wait again, but have not left their nodes yet.

    A pod that moves is displaced here and reserved there. It has left once it has a place on the
    same node again, or is reported departed.
    """


class WorkloadDeparted(_OfPods, frozen=True, kw_only=True, tag=True):
    """Displaced pods have left the nodes that they had."""


class WorkloadFinished(msgspec.Struct, frozen=True, tag=True):
    """Work is done; it gives up everything it held."""

    workload: WorkloadName


class WorkloadRemoved(msgspec.Struct, frozen=True, tag=True):
    """Work was withdrawn, waiting or running."""

    workload: WorkloadName


class NodeAdded(msgspec.Struct, frozen=True, tag=True):
    """A node joined."""

    node: Node


class NodeChanged(msgspec.Struct, frozen=True, tag=True):
    """A node's size, labels, taints or readiness changed."""

    node: Node


class NodeRemoved(msgspec.Struct, frozen=True, tag=True):
    """A node is gone. Pods there keep their place until they are reported stopped."""

    node: str


class ForeignPodChanged(msgspec.Struct, frozen=True, tag=True):
    """A pod that is not ours to schedule appeared on a node, or something about it changed."""

    pod: ForeignPod


class ForeignPodRemoved(msgspec.Struct, frozen=True, tag=True):
    """A pod that is not ours to schedule is gone."""

    pod: PodId


class QueueChanged(msgspec.Struct, frozen=True, tag=True):
    """A queue appeared, or its quota, its parent or its rules changed."""

    queue: Queue


class QueueRemoved(msgspec.Struct, frozen=True, tag=True):
    """A queue is gone. Its children and its workloads are orphans until it returns."""

    queue: QueueName


class UsageChanged(msgspec.Struct, frozen=True, tag=True):
    """What queues used lately, in billionths of the cluster's capacity, per quota axis.

    Replaces all that was known of usage; without any, history has no effect.
    """

    usage: dict[QueueName, tuple[int, ...]]


class CatalogueChanged(msgspec.Struct, frozen=True, tag=True):
    """Flavors, local queues, namespaces or disruption budgets changed."""

    catalogue: Catalogue


class HoldsChanged(msgspec.Struct, frozen=True, tag=True):
    """A plan is to be made in which this is held back; undone when it is (see `holding`)."""

    holds: Holds


Event: TypeAlias = (
    WorkloadAdded
    | WorkloadChanged
    | MemoryChanged
    | WorkloadStarted
    | WorkloadBinding
    | WorkloadConfirmed
    | WorkloadReserved
    | WorkloadLeaving
    | WorkloadStays
    | WorkloadStopped
    | WorkloadDisplaced
    | WorkloadDeparted
    | WorkloadFinished
    | WorkloadRemoved
    | NodeAdded
    | NodeChanged
    | NodeRemoved
    | ForeignPodChanged
    | ForeignPodRemoved
    | QueueChanged
    | QueueRemoved
    | UsageChanged
    | CatalogueChanged
    | HoldsChanged
)
