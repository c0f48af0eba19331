"""Files of KAI's simulator: what they ask for, all that is wrong with them, and KAI's table.

KAI takes the names of fields in any case, and so do we. Its files say neither apiVersion nor kind;
they are known by their fields. One cycle is a second of virtual time, so that windows and
half-lives, which the file has in seconds, are as many cycles.

The table has a line for each queue and cycle, the state being as the cycle leaves it. KAI prints
the queues of one cycle in no order; here they are in the order of the tree.
"""

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.path import quote
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
from fairlead.sim.scenario.kai.rule_set import kai_address_book
from fairlead.sim.scenario.variant.queue_tree import tree_defects
from fairlead.sim.work.source import WorkSource
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding

KNOWN_BY: Final = frozenset({"cycles", "nodes", "queues", "jobs"})
MOST: Final = 1_000_000
"""Of cycles, nodes, and pods of all jobs: more is surely a mistake."""


class SimulatedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike."""

    gpus: int
    count: int


class SimulatedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue; only its GPUs are of interest."""

    name: str
    parent: str | None
    priority: int = 100
    deserved_gpus: Decimal = Decimal(0)
    weight: Decimal = Decimal(1)


class SimulatedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one queue that are alike, all there from the start; none of them ever ends."""

    queue: str
    gpus: int  # of each pod
    pods: int
    jobs: int


class KaiSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation."""

    cycles: int = 100
    window_s: int = 5
    half_life_s: int | None = None
    k: Fraction = Fraction(1)
    nodes: tuple[SimulatedNodes, ...] = ()
    queues: tuple[SimulatedQueue, ...] = ()
    jobs: tuple[SimulatedJobs, ...] = ()

    def run(self, write: Callable[[str], None]) -> None:
        """Write KAI's table line by line, the head first: see `run_kai_simulation`."""
        run_kai_simulation(self, write)


def is_kai_simulation(document: Document) -> bool:
    """Return whether *document* is one of KAI's simulator: by its fields, as it has no kind."""
    names = {key.lower() for key in document.value}
    return "apiversion" not in names and len(names & KNOWN_BY) >= 2


def read_kai_simulation(document: Document, findings: Findings) -> KaiSimulation:
    """Return what *document* asks for; it is of use only if *findings* have no error."""
    top = Cursor.of(document, findings)
    half_life_s = top.integer(_as_written(top, "HalfLifePeriod"), 0, minimum=0)
    read = KaiSimulation(
        cycles=top.integer(_as_written(top, "Cycles"), 100, minimum=1, maximum=MOST),
        window_s=top.integer(_as_written(top, "WindowSize"), 5, minimum=1),
        half_life_s=half_life_s or None,
        k=_k(top),
        nodes=tuple(_nodes(each) for each in top.items(_as_written(top, "Nodes"))),
        queues=tuple(_read_queue(each) for each in top.items(_as_written(top, "Queues"))),
        jobs=tuple(_jobs(top.mapping(_as_written(top, "Jobs")))),
    )
    top.finish()
    if not findings.has_errors:
        _check_names(read, top)
        _check_size(read, top)
    return read


def _k(top: Cursor) -> Fraction:
    """Below 0 it counts as 0, as for KAI."""
    key = _as_written(top, "KValue")
    k = top.decimal(key, Decimal(1))
    if k < 0:
        top.warn(key, "peer-differs", f"found {k}; KAI counts it as 0", "write 0")
    return Fraction(max(k, Decimal(0)))


def _nodes(cursor: Cursor) -> SimulatedNodes:
    return SimulatedNodes(
        gpus=cursor.integer(_as_written(cursor, "GPUs"), 0, minimum=0, maximum=MOST),
        count=cursor.integer(_as_written(cursor, "Count"), 0, minimum=0, maximum=MOST),
    )


def _read_queue(cursor: Cursor) -> SimulatedQueue:
    return SimulatedQueue(
        name=cursor.text(_as_written(cursor, "Name")),
        parent=cursor.text(_as_written(cursor, "Parent"), "") or None,
        priority=cursor.integer(_as_written(cursor, "Priority"), 100),
        deserved_gpus=cursor.decimal(_as_written(cursor, "DeservedGPUs"), Decimal(0), minimum=0),
        weight=cursor.factor(_as_written(cursor, "Weight"), Decimal(1)),
    )


def _jobs(cursor: Cursor) -> Iterator[SimulatedJobs]:
    queues = cursor.keys()
    for queue in queues:
        each = cursor.mapping(queue)
        yield SimulatedJobs(
            queue=queue,
            gpus=each.integer(_as_written(each, "GPUs"), 0, minimum=0, maximum=MOST),
            pods=each.integer(_as_written(each, "NumPods"), 0, minimum=0, maximum=MOST),
            jobs=each.integer(_as_written(each, "NumJobs"), 0, minimum=0, maximum=MOST),
        )


def _check_names(read: KaiSimulation, top: Cursor) -> None:
    """Report queues that are listed twice, and names of queues that do not exist."""
    for wrong in tree_defects([(queue.name, queue.parent) for queue in read.queues]):
        path = (_as_written(top, "Queues"), wrong.place)
        top.error(path, wrong.code, wrong.message, wrong.fix)
    names = {queue.name for queue in read.queues}
    for jobs in read.jobs:
        if jobs.queue not in names:
            message = f"found jobs of {quote(jobs.queue)}, which is no queue of this file"
            place = (_as_written(top, "Jobs"), jobs.queue)
            top.error(place, "missing-reference", message, "name one of its queues")


def _check_size(read: KaiSimulation, top: Cursor) -> None:
    """Report what is too much only together: many groups of nodes, or many jobs of many pods."""
    sums = {
        "Nodes": (sum(nodes.count for nodes in read.nodes), "nodes"),
        "Jobs": (sum(each.jobs * each.pods for each in read.jobs), "pods of all jobs"),
    }
    for field, (count, what) in sums.items():
        if count > MOST:
            message = f"found {count:,} {what}, expected at most {MOST:,}"
            top.error(_as_written(top, field), "out-of-range", message, "write fewer")


def _as_written(cursor: Cursor, name: str) -> str:
    """Return how the file writes the field *name*."""
    written = cursor.keys()
    return next((key for key in written if key.lower() == name.lower()), name)


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
        WorkSource("jobs", lambda: _all_jobs(asked)),
        rules,
        lambda _: None,
        past_use=PastUse(state, UsageInterest(usage, _CYCLE_MS)),
        watcher=watch,
    ).run()


def _all_jobs(asked: KaiSimulation) -> Iterator[Job]:
    """Yield all jobs of a file, there from the start."""
    for group in asked.jobs:
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
