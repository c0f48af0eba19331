"""What settling must leave alone: orders on their way, and what is remembered.

Facts end an assumption only where they show what became of it. All else that was assumed before is
assumed afterwards, also in a state that was built anew because axes grew.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import Memory, part_about
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from tests.manifest.translate.api_server import POD, Key, Object, is_bound
from tests.manifest.translate.kueue_world import WORKLOAD, holds


class Assumptions(NamedTuple):
    """What a state assumes and remembers, by the uids of Kueue's Workloads where there are any."""

    places: Mapping[PodKey, Placed]  # of pods that are binding or leaving
    memories: Mapping[WorkloadName, Memory | None]  # of every workload
    uids: Mapping[WorkloadName, str]  # when the state was settled last

    @classmethod
    def of(cls, state: ClusterState, uids: Mapping[WorkloadName, str]) -> "Assumptions":
        """Return those of *state*, whose workloads had these *uids* when it was settled last."""
        return cls(
            places={
                (name, pod): placed
                for name, run in state.runs.items()
                for pod, placed in run.pods.items()
                if placed.phase in ("binding", "leaving")
            },
            memories={name: state.memories.get(name) for name in state.workloads},
            uids=uids,
        )

    def check(self, state: ClusterState, seen: Mapping[Key, Object]) -> None:
        """Assert that *state*, which was settled since, still assumes and remembers them."""
        nodes = {
            each["metadata"]["uid"]: _node(each) for key, each in seen.items() if key.of == POD
        }
        for (name, pod), placed in self.places.items():
            workload = state.workloads.get(name)
            if workload is None or not workload.has_pod(pod) or not self._is_same(name, seen):
                continue
            if name in _admitted(seen):
                continue  # which pods have quota, and since when, is told by the object
            run = state.runs.get(name)
            found = run.pods.get(pod) if run is not None else None
            if placed.phase == "binding" and not nodes.get(pod):
                assert found == placed, f"{pod} of {name} was binding: {placed}, is {found}"
            if placed.phase == "leaving" and nodes.get(pod) == placed.node is not None:
                assert found is not None, f"{pod} of {name} was leaving, has no place"
                assert found.phase == "leaving", f"{pod} of {name} was leaving: {found}"
        for name, memory in self.memories.items():
            workload = state.workloads.get(name)
            if workload is not None and self._is_same(name, seen):
                left = None if memory is None else part_about(workload, memory)
                assert state.memories.get(name) == left, f"what is remembered of {name}"

    def _is_same(self, name: WorkloadName, seen: Mapping[Key, Object]) -> bool:
        """Return whether a workload is still the object that it was."""
        return self.uids.get(name) == _uid(name, seen)


def uids_of(state: ClusterState, seen: Mapping[Key, Object]) -> dict[WorkloadName, str]:
    """Return the uids of Kueue's Workloads as they are *seen*; of other workloads ""."""
    return {name: _uid(name, seen) for name in state.workloads}


def _uid(name: WorkloadName, seen: Mapping[Key, Object]) -> str:
    workload = seen.get(_key(name))
    return "" if workload is None else str(workload["metadata"]["uid"])


def _key(name: WorkloadName) -> Key:
    namespace, _, rest = name.partition("/")
    return Key(WORKLOAD, namespace, rest)


def _node(pod: Object) -> str:
    return str(pod["spec"]["nodeName"]) if is_bound(pod) else ""


def _admitted(seen: Mapping[Key, Object]) -> set[str]:
    return {
        f"{key.namespace}/{key.name}"
        for key, each in seen.items()
        if key.of == WORKLOAD and holds(each, "QuotaReserved")
    }
