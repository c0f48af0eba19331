"""Workloads as Kueue's rules see them: pending, admitted, and as preemptors."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.memory import KueueMemory, Promise
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload

Usage: TypeAlias = tuple[tuple[int, int], ...]
"""Amounts above 0 by the number of their axis, in the order of the axes."""

EvictionKey: TypeAlias = tuple[bool, int, float, int, WorkloadName]


class AdmittedWorkload(msgspec.Struct, frozen=True, gc=False):
    """An admitted workload and what it uses."""

    name: WorkloadName
    queue: QueueName
    priority: int
    usage: Usage
    queued_ms: int  # its place among pending workloads: its creation, or when it was requeued
    reserved_ms: int  # since when it is admitted
    is_evicted: bool = False  # and still there
    is_protected: bool = False  # admitted for less than the minimum run time
    size: float = 0.0  # on its dominant resource; 0 where size does not matter

    def key(self) -> EvictionKey:
        """Return what orders candidates for preemption, the first one first.

        Already evicted, then of lower priority, then smaller where size matters, then admitted for
        a shorter time, then by name.
        """
        return not self.is_evicted, self.priority, self.size, -self.reserved_ms, self.name

    def uses_the_same(self, other: "AdmittedWorkload") -> bool:
        """Return whether *other* uses as much of the same queue."""
        return (self.queue, self.usage) == (other.queue, other.usage)


class Restraint(NamedTuple):
    """Which workloads of other queues our options forbid a workload to preempt."""

    spared: frozenset[WorkloadName] = frozenset()
    spared_within_nominal: frozenset[WorkloadName] = (
        frozenset()
    )  # instead, within its nominal quota
    may_use_fair_sharing: bool = True  # False: not beyond its nominal quota yet


UNRESTRAINED = Restraint()


class Preemptor(msgspec.Struct, frozen=True, gc=False):
    """A workload with flavors assigned that does not fit, and on which axes it does not."""

    name: WorkloadName
    queue: QueueName
    priority: int
    usage: Usage
    queued_ms: int
    need: frozenset[int]
    spared: frozenset[WorkloadName] = frozenset()  # of other queues, not to be preempted
    spared_within_nominal: frozenset[WorkloadName] = (
        frozenset()
    )  # instead, within its nominal quota
    may_use_fair_sharing: bool = True  # False: not beyond its nominal quota yet


class Demand(msgspec.Struct, frozen=True):
    """What the pods of one set request, and the flavors whose nodes they could run on."""

    requests: Mapping[str, int]  # of one pod
    count: int = 1
    min_count: int | None = None  # the fewest pods to admit; None: all of them
    flavors: Sequence[Collection[str]] | None = None  # by resource group; None: any

    def fewest_pods(self) -> int:
        """Return how many pods there must be at least."""
        return self.count if self.min_count is None else self.min_count

    def total(self) -> dict[str, int]:
        """Return what all pods request together."""
        return {name: amount * self.count for name, amount in self.requests.items()}


class PendingWorkload(msgspec.Struct, frozen=True, gc=False):
    """A workload without quota that may be admitted."""

    name: WorkloadName
    queue: QueueName
    priority: int
    queued_ms: int
    demands: tuple[Demand, ...]
    restraint: Restraint = UNRESTRAINED

    def preemptor(self, usage: Usage, need: frozenset[int]) -> Preemptor:
        """Return it as a preemptor for *usage* that lacks on *need*."""
        return Preemptor(
            self.name, self.queue, self.priority, usage, self.queued_ms, need, *self.restraint
        )

    def counts(self) -> tuple[int, ...]:
        """Return how many pods it has of each set."""
        return tuple(demand.count for demand in self.demands)

    def may_shrink(self) -> bool:
        """Return whether it may be admitted with fewer pods than it requests."""
        return any(demand.fewest_pods() < demand.count for demand in self.demands)

    def with_counts(self, counts: Sequence[int]) -> "PendingWorkload":
        """Return the same workload with so many pods of each set."""
        pairs = zip(self.demands, counts, strict=True)
        return replace(self, demands=tuple(replace(each, count=count) for each, count in pairs))


def run_usage(run: Run) -> Usage:
    """Return what an admitted workload is charged for all its pods, evicted ones included."""
    if len(run.charges) == 1:  # nearly all workloads: a shortcut
        count = len(run.pods)
        return tuple(
            [(at, amount * count) for at, amount in enumerate(run.charges[0]) if amount and count]
        )
    counts = [0] * len(run.charges)
    for pod in run.pods:
        counts[run.pod_sets.set_index[pod]] += 1
    totals: dict[int, int] = {}
    for charge, count in zip(run.charges, counts, strict=True):
        for axis, amount in enumerate(charge):
            if amount and count:
                totals[axis] = totals.get(axis, 0) + amount * count
    return tuple(sorted(totals.items()))


def local_queue_name(workload: Workload) -> str:
    """Return the LocalQueue that *workload* names, as NAMESPACE/NAME."""
    rules = workload.extension
    assert isinstance(rules, KueueWorkload), workload.name
    return f"{workload.namespace}/{rules.local_queue}"


def awaits_checks(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether *name* has quota and is not admitted, because its checks are not all ready."""
    rules = state.workloads[name].extension
    return name in state.runs and isinstance(rules, KueueWorkload) and rules.awaits_checks


def is_preempting(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether workloads were evicted for *name*, so that it is the head of its queue."""
    memory = state.memories.get(name)
    return isinstance(memory, KueueMemory) and memory.preempting


def promise_to(state: ClusterState, name: WorkloadName) -> Promise | None:
    """Return what earlier plans promised to a workload, as far as it is known."""
    memory = state.memories.get(name)
    return memory.promise if isinstance(memory, KueueMemory) else None
