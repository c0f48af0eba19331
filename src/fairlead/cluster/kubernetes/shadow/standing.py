"""Where the pods of all workloads are, and what the running scheduler has changed about that."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadStays, WorkloadStopped
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey

Standing: TypeAlias = Mapping[PodKey, Placed]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What happened between two looks: pods that got a place, and pods that began to leave."""

    started: Mapping[PodKey, Placed]
    leaving: Mapping[PodKey, Placed]

    def undo(self, state: ClusterState) -> None:
        """Let *state* be as if none of it had happened. To be called within a trial."""
        for workload, pods in _by_workload(self.leaving).items():
            state.apply(WorkloadStays(workload=workload, pods=pods))
        for workload, pods in _by_workload(self.started).items():
            state.apply(WorkloadStopped(workload=workload, pods=pods))


def standing_of(state: ClusterState) -> Standing:
    """Return the place of each pod that has one. Cost: each of them."""
    return {
        (name, pod): placed for name, run in state.runs.items() for pod, placed in run.pods.items()
    }


def news_between(before: Standing, after: Standing) -> News:
    """Return what happened from one look to the next.

    A pod that got a place and left it in between has no news. One that was gone before it was seen
    leaving has none either: it may have ended by itself.
    """
    return News(
        started={
            key: placed
            for key, placed in after.items()
            if placed.phase == "running" and key not in before
        },
        leaving={
            key: placed
            for key, placed in after.items()
            if placed.phase == "leaving" and key in before and before[key].is_running()
        },
    )


def _by_workload(pods: Mapping[PodKey, Placed]) -> dict[WorkloadName, tuple[PodId, ...]]:
    found: dict[WorkloadName, list[PodId]] = {}
    for workload, pod in pods:
        found.setdefault(workload, []).append(pod)
    return {workload: tuple(each) for workload, each in sorted(found.items())}
