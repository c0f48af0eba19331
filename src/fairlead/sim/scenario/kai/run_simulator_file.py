"""Runs what a file of KAI's simulator asks for, and answers with KAI's table.

The table has a line for each queue and cycle, the state being as the cycle leaves it. KAI prints
the queues of one cycle in no order; here they are in the order of the tree.
"""

from collections.abc import Callable, Collection, Iterator

from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.events import NodeAdded, QueueChanged
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.past_use import PastUse, UsageInterest
from fairlead.sim.engine.simulation import Simulation
from fairlead.sim.engine.simulation_rules import SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.kai.objects import kai_address_book
from fairlead.sim.scenario.kai.simulator_file import KaiSimulation, SimulatedQueue
from fairlead.sim.work.source import WorkSource
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding

HEAD = "Time,QueueID,Allocation,FairShare"

_GPU = "nvidia.com/gpu"
_RESOURCES = ("cpu", "memory", _GPU)
_AXES = QuotaAxes([Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={_GPU: "gpu"})
_GPU_AXIS = 2
_DEVICE = 1000
_CYCLE_MS = 1000


def run_kai_simulation(asked: KaiSimulation, write: Callable[[str], None]) -> None:
    """Write the table line by line, the head first."""
    state = _cluster(asked)
    policy = KaiPolicy(KaiSettings(k=asked.k))
    write(HEAD)

    def watch(now_ms: int, until_ms: int, queues: Collection[QueueName]) -> None:
        del until_ms, queues  # there is a cycle every second, and nothing happens in between
        for line in _lines(now_ms // _CYCLE_MS, state, policy):
            write(line)

    rules = SimulationRules(until_ms=asked.cycles * _CYCLE_MS, every_ms=_CYCLE_MS)
    usage = UsageRules(
        window=Sliding(asked.window_s * _CYCLE_MS),
        half_life_ms=None if asked.half_life_s is None else asked.half_life_s * _CYCLE_MS,
    )
    Simulation(
        state,
        policy,
        WorkloadMaker(state, kai_address_book(state)),
        _AllAtOnce(asked),
        rules,
        lambda _: None,
        past_use=PastUse(state, UsageInterest(usage, _CYCLE_MS)),
        watcher=watch,
    ).run()


class _AllAtOnce(WorkSource):
    """All jobs of a file, there from the start."""

    name = "jobs"

    def __init__(self, asked: KaiSimulation) -> None:
        self._asked = asked

    def jobs(self) -> Iterator[Job]:
        for group in self._asked.jobs:
            for number in range(group.jobs if group.pods else 0):
                yield Job(
                    name=f"{group.queue}-{number}",
                    queue=group.queue,
                    submit_ms=0,
                    run_ms=None,
                    pods=group.pods,
                    min_pods=group.pods,
                    requests={_GPU: group.gpus * _DEVICE},
                )


def _cluster(asked: KaiSimulation) -> ClusterState:
    state = ClusterState(_RESOURCES, _AXES)
    for at, queue in enumerate(asked.queues):
        state.apply(QueueChanged(_queue(queue, at)))
    numbers = (number for nodes in asked.nodes for number in [nodes.gpus] * nodes.count)
    for at, gpus in enumerate(numbers):
        size = (0, 0, gpus * _DEVICE)
        state.apply(NodeAdded(Node(name=f"node-{at}", allocatable=size)))
    return state


def _queue(asked: SimulatedQueue, created_ms: int) -> Queue:
    return Queue(
        name=QueueName(asked.name),
        parent=None if asked.parent is None else QueueName(asked.parent),
        created_ms=created_ms,
        priority=asked.priority,
        weights=(asked.weight,) * len(_AXES),
        guaranteed=(None, None, int(asked.deserved_gpus * _DEVICE)),
        ceiling=_AXES.unlimited,
        borrow_limit=_AXES.unlimited,
        lend_limit=_AXES.unlimited,
    )


def _lines(cycle: int, state: ClusterState, policy: KaiPolicy) -> Iterator[str]:
    for row in policy.shares(state):
        held = state.sums[row.queue].allocated[_GPU_AXIS] / _DEVICE
        share = row.fair_share[_GPU_AXIS] / _DEVICE
        yield f"{cycle},{row.queue},{held:.6f},{share:.6f}"
