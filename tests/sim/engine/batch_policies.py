"""Two batch schedulers that are known by heart, as checks of the simulator's core.

*First come, first served* starts jobs in the order in which they came and waits for the first that
does not fit. *EASY backfilling* does the same, but lets a later job go ahead if, by the run times
that owners asked for, that does not delay the first one. One resource, no nodes to choose from.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Plan, Reason, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import numbered_pod
from fairlead.sim.engine.job import Job

CPU = 0
POD = numbered_pod("main", 0)


class FirstComeFirstServed:
    """Nobody passes anybody."""

    def __init__(self, queue: str, node: str) -> None:
        self._queue = QueueName(queue)
        self._node = node

    def plan(self, state: ClusterState, now_ms: int, **_: Any) -> Plan:
        free = state.capacity[CPU] - state.sums[self._queue].allocated[CPU]
        started = self._pick(state, self._waiting(state), free, now_ms)
        return Plan(taken_ms=now_ms, decisions=tuple(self._start(name) for name in started))

    def _pick(
        self, state: ClusterState, waiting: Iterator[WorkloadName], free: int, now_ms: int
    ) -> Iterator[WorkloadName]:
        del now_ms  # it does not matter
        for name in waiting:
            size = size_of(state, name)
            if size > free:
                return
            free -= size
            yield name

    def _waiting(self, state: ClusterState) -> Iterator[WorkloadName]:
        """Names grow with the time at which jobs come, so that their order is that of time."""
        yield from state.waiting(self._queue)

    def _start(self, name: WorkloadName) -> Start:
        return Start(
            workload=name,
            placements=(Placement(POD, self._node),),
            charged=(self._queue,),
            reason=Reason(code="Fits"),
        )


class EasyBackfilling(FirstComeFirstServed):
    """Whoever does not delay the first in line may pass."""

    def __init__(self, queue: str, node: str, jobs: Mapping[str, Job]) -> None:
        super().__init__(queue, node)
        self._jobs = jobs

    def _pick(
        self, state: ClusterState, waiting: Iterator[WorkloadName], free: int, now_ms: int
    ) -> Iterator[WorkloadName]:
        running = {name: run.started_ms() or 0 for name, run in state.runs.items()}
        for first in waiting:
            size = size_of(state, first)
            if size <= free:
                free -= size
                running[first] = now_ms
                yield first
                continue
            shadow_ms, spare = self._reservation(state, running, size, free)
            for name in waiting:
                size = size_of(state, name)
                ends_in_time = now_ms + self._asked_ms(name) <= shadow_ms
                if size <= free and (ends_in_time or size <= spare):
                    free -= size
                    if not ends_in_time:
                        spare -= size
                    yield name

    def _reservation(
        self, state: ClusterState, running: Mapping[WorkloadName, int], size: int, free: int
    ) -> tuple[int, int]:
        """When the first in line will start at the latest, and what is spare at that time."""
        ends = sorted((since + self._asked_ms(name), name) for name, since in running.items())
        for end_ms, name in ends:
            free += size_of(state, name)
            if free >= size:
                # What ends in the same moment becomes free as well.
                free += sum(
                    size_of(state, other) for at, other in ends if at == end_ms and other > name
                )
                return end_ms, free - size
        raise AssertionError("the first in line is larger than the cluster")

    def _asked_ms(self, name: WorkloadName) -> int:
        asked_ms = self._jobs[name].asked_ms
        assert asked_ms is not None, "backfilling needs to know how long jobs may run"
        return asked_ms


def size_of(state: ClusterState, name: WorkloadName) -> int:
    return state.workloads[name].pod_sets[0].requests[CPU]
