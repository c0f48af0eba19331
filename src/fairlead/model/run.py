"""What of a workload has a place."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import Amounts
from fairlead.model.device_share import DeviceShare
from fairlead.model.workload import PodId, PodSets

Phase: TypeAlias = Literal["binding", "running", "leaving", "reserved"]
"""Binding: given its node, which the cluster has not confirmed yet. Leaving: evicted, and
still holding its node. Reserved: to run where others are leaving."""


class Placed(msgspec.Struct, frozen=True):
    """Where a pod runs and since when; one with a reservation has not started.

    ``until_ms`` is when a place that is binding or reserved is to be looked into, because neither
    a success nor a failure was reported.
    """

    node: str | None
    started_ms: int
    phase: Phase = "running"
    share: DeviceShare | None = None
    until_ms: int | None = None

    def is_running(self) -> bool:
        """Return whether the pod has its place and keeps it, be it that this is not confirmed."""
        return self.phase in ("running", "binding")


class Run(msgspec.Struct, kw_only=True):
    """The placed pods of a workload. ``charges`` is what one pod of each set costs its queue.

    ``own_charges`` is what those pods cost of which that is only known at their place: a request
    for memory of a GPU is a larger part of a small one.
    """

    pods: dict[PodId, Placed]
    pod_sets: PodSets  # of the workload
    reserved: dict[PodId, None]  # those of them that have a reservation
    charges: tuple[Amounts, ...]
    own_charges: dict[PodId, Amounts]
    flavors: tuple[dict[str, str], ...]  # per pod set, from resource to flavor

    def charge(self, pod: PodId) -> Amounts:
        """Return what *pod*, which has a place, costs its queue."""
        return self.own_charges.get(pod) or self.charges[self.pod_sets.set_index[pod]]

    def flavors_for(self, pod_sets: PodSets) -> tuple[dict[str, str], ...]:
        """Return the flavors of *pod_sets*, another version of these: sets keep theirs by name."""
        by_name = {
            each.name: given for each, given in zip(self.pod_sets, self.flavors, strict=True)
        }
        return tuple([by_name.get(each.name, {}) for each in pod_sets])

    def started_ms(self) -> int | None:
        """Return when the first of the pods that run now started; None if none runs yet."""
        started = [at.started_ms for at in self.pods.values() if at.phase != "reserved"]
        return min(started, default=None)
