"""One cycle under KAI's rules on 1,000 nodes of 8 GPUs: the worlds of KAI's own figures.

The worlds are those of ``kai-bench-worlds.json``, made from its counts. A plan leaves the state as
it was, so every run plans for the same state; a new policy each time, so that nothing is
remembered, except where remembering is what is measured.
"""

from decimal import Decimal

import msgspec

from bench.harness import Work, benchmark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadRemoved,
    WorkloadStarted,
)
from fairlead.model.node import Node
from fairlead.model.plan import Start
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
NODES, QUEUES, GPUS = 1_000, 100, 8
QUOTA = 80_000  # thousandths of a GPU
POD = (1_000, 4 * 10**9, 1_000)
NO_LIMITS = (None, None, None)


@benchmark(
    "plan: 5,000 one-GPU jobs on 1,000 empty nodes", goal_cpu_ms=1_500, peer="KAI 34.5-35.4 s"
)
def start_single_jobs() -> Work:
    """Every job starts."""
    state = _world(limit=None)
    _wait(state, jobs=5_000, pods=1)
    return _planning(state, starts=5_000)


@benchmark(
    "plan: 5,000 one-GPU jobs on 1,000 empty nodes, allocate looks at 10 per queue",
    goal_cpu_ms=2_250,
)
def start_beyond_the_depth() -> Work:
    """Every job starts, four of five after the allocate action: in 1.5 times the time."""
    state = _world(limit=None)
    _wait(state, jobs=5_000, pods=1)
    return _planning(state, starts=5_000, settings=KaiSettings(queue_depth=(("allocate", 10),)))


@benchmark("plan: 1,000 gangs of 8 pods on 1,000 empty nodes", goal_cpu_ms=2_000)
def start_gangs() -> Work:
    """Every gang starts, with all of its pods."""
    state = _world(limit=None)
    _wait(state, jobs=1_000, pods=8)
    return _planning(state, starts=1_000)


@benchmark("plan: the first 200 of 8,000 one-GPU jobs on 1,000 empty nodes", goal_cpu_ms=240)
def start_the_first() -> Work:
    """A plan that is cut, by a policy that sees the jobs for the first time: a tenth of all."""
    state = _world(limit=None)
    _wait(state, jobs=8_000, pods=1)

    def plan() -> None:
        policy = KaiPolicy(KaiSettings())
        made = policy.plan(state, 0, at_most_starts=200, explain=False)
        assert len(made.decisions) == 200
        assert made.is_cut

    return plan


@benchmark("plan: one job that grows to 4,000 pods one by one")
def grow_one_by_one() -> Work:
    """A job that needs one pod and has room for all of its own: a turn for each of them."""
    state = _world(limit=None)
    job = _job("q00", "elastic", pods=4_000, created_ms=0)
    state.apply(WorkloadAdded(msgspec.structs.replace(job, min_count=1)))
    return _planning(state, starts=4_000)


@benchmark("plan: 1,000 full nodes, 2,000 waiting jobs with named pods")
def refuse_named_pods() -> Work:
    """All jobs are of one shape but for the names of their pods; no limit stops them earlier."""
    state = _world(limit=None)
    _run(state, jobs=NODES * GPUS)
    for number in range(2_000):
        job = _job(f"q{number % QUEUES:02}", f"p{number:05}", pods=1, created_ms=10_000 + number)
        (pods,) = job.pod_sets
        named = msgspec.structs.replace(pods, pod_names=(f"{job.name}-x7k2p",))
        state.apply(WorkloadAdded(msgspec.structs.replace(job, pod_sets=PodSets((named,)))))
    return _planning(state, starts=0)


@benchmark("plan: nothing changed, 2,000 jobs over their limit", goal_cpu_ms=20)
def nothing_changed() -> Work:
    """Full nodes, and the policy has planned for this very state before."""
    state = _full_world()
    policy = KaiPolicy(KaiSettings())
    return lambda: policy.plan(state, 0)


@benchmark("plan: one job came and went, 2,000 jobs over their limit")
def one_change() -> Work:
    """The same, but something changed since: all that waits is looked at again."""
    state = _full_world()
    policy = KaiPolicy(KaiSettings())
    job = _job("q00", "another", pods=1, created_ms=99_999)

    def work() -> None:
        state.apply(WorkloadAdded(job))
        state.apply(WorkloadRemoved(job.name))
        policy.plan(state, 0)

    return work


def _planning(state: ClusterState, *, starts: int, settings: KaiSettings | None = None) -> Work:
    def work() -> None:
        plan = KaiPolicy(settings or KaiSettings()).plan(state, 0)
        assert sum(isinstance(each, Start) for each in plan.decisions) == starts

    return work


def _full_world() -> ClusterState:
    state = _world(limit=QUOTA)
    _run(state, jobs=NODES * GPUS)
    _wait(state, jobs=2_000, pods=1)
    return state


def _world(*, limit: int | None) -> ClusterState:
    axes = QuotaAxes(
        [Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"}
    )
    state = ClusterState(RESOURCES, axes)
    for number in range(NODES):
        size = (64_000, 256 * 10**9, GPUS * 1_000)
        node = Node(name=f"n{number:04}", allocatable=size)
        state.apply(NodeAdded(node))
    for number in range(QUEUES):
        state.apply(QueueChanged(_queue(number, limit)))
    return state


def _queue(number: int, limit: int | None) -> Queue:
    return Queue(
        name=QueueName(f"q{number:02}"),
        created_ms=number,
        weights=(Decimal(1),) * 3,
        guaranteed=(None, None, QUOTA),
        ceiling=(None, None, limit),
        borrow_limit=NO_LIMITS,
        lend_limit=NO_LIMITS,
    )


def _job(queue: str, name: str, *, pods: int, created_ms: int) -> Workload:
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((PodSet(name=name, count=pods, min_count=pods, requests=POD),)),
        min_count=pods,
        priority=50,
        created_ms=created_ms,
    )


def _run(state: ClusterState, *, jobs: int) -> None:
    for number in range(jobs):
        job = _job(f"q{number % QUEUES:02}", f"r{number:05}", pods=1, created_ms=number)
        place = (Placement(job.pods()[0], f"n{number % NODES:04}"),)
        state.apply(WorkloadAdded(job))
        state.apply(WorkloadStarted(workload=job.name, placements=place, at_ms=0))


def _wait(state: ClusterState, *, jobs: int, pods: int) -> None:
    for number in range(jobs):
        name, queue = f"p{number:05}", f"q{number % QUEUES:02}"
        state.apply(WorkloadAdded(_job(queue, name, pods=pods, created_ms=10_000 + number)))
