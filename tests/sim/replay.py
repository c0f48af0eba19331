"""A real machine again: its jobs, and what a batch scheduler makes of them."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.events import NodeAdded, QueueChanged
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy
from fairlead.sim.engine.events import Finished, SimulationEvent
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.simulation import Simulation
from fairlead.sim.engine.simulation_rules import SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.kai.rule_set import kai_address_book
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.trace_rules import QueueRule, TraceRules
from tests.sim.engine.batch_policies import EasyBackfilling, FirstComeFirstServed
from tests.sim.small_cluster import FixedWork

QUEUE = QueueName("all")
MACHINE = "machine"
CORE = 1000


class Means(NamedTuple):
    """What all jobs came to on average."""

    bounded_slowdown: float
    wait_s: float


def real_jobs(trace: Path) -> list[Job]:
    """The jobs of a trace, named so that the order of names is the order in which they came."""
    rules = TraceRules(queues=QueueRule(by="queue", untold=QUEUE, others=QUEUE))
    return [
        msgspec.structs.replace(job, name=f"{number:06}")
        for number, job in enumerate(jobs_of_trace(trace, rules))
    ]


def replay(jobs: list[Job], policy: Policy, *, processors: int, tau_ms: int) -> Means:
    """Let all *jobs* run; what is shorter than tau counts as that long."""
    state = _machine(processors)
    slowdowns: list[float] = []
    waits: list[int] = []

    def listen(event: SimulationEvent) -> None:
        if isinstance(event, Finished):
            run_ms = event.job.run_ms
            assert run_ms is not None
            took_ms = event.at_ms - event.job.submit_ms
            waits.append(event.first_start_ms - event.job.submit_ms)
            slowdowns.append(max(1.0, took_ms / max(run_ms, tau_ms)))

    rules = SimulationRules(at_most_every_ms=0)
    Simulation(
        state, policy, WorkloadMaker(state, kai_address_book(state)), FixedWork(jobs), rules, listen
    ).run()
    assert len(waits) == len(jobs), "somebody never ran"
    return Means(sum(slowdowns) / len(slowdowns), sum(waits) / len(waits) / 1000)


def _machine(processors: int) -> ClusterState:
    state = ClusterState(("cpu",), QuotaAxes([Axis("cpu")]))
    queue = Queue(
        name=QUEUE,
        weights=(Decimal(1),),
        guaranteed=(None,),
        ceiling=(None,),
        borrow_limit=(None,),
        lend_limit=(None,),
    )
    state.apply(QueueChanged(queue))
    size = (processors * CORE,)
    state.apply(NodeAdded(Node(name=MACHINE, allocatable=size)))
    return state


POLICIES: Final[Mapping[str, Callable[[list[Job]], Policy]]] = {
    "EASY backfilling, FCFS order, requested times": lambda jobs: EasyBackfilling(
        QUEUE, MACHINE, {job.name: job for job in jobs}
    ),
    "FCFS, no backfilling": lambda _: FirstComeFirstServed(QUEUE, MACHINE),
}
"""By the names under which results were published."""
