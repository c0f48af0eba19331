"""The order of admission in Kueue's bench world: 1,000 heads, one for each ClusterQueue.

Setting the tournament up is timed with the turns, since every cycle makes a new one. The larger
world has each ClusterQueue ten times in its cohort, with as many heads.
"""

from msgspec.structs import replace

from bench.harness import Work, benchmark
from bench.kueue_world import RESOURCES, nodes_of, read_world, request_of, usage_of
from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.order import ClassicalOrder, Head, OrderGates
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.snapshot.snapshot import Snapshot

GATES = OrderGates()


@benchmark("tournament: the first of 1,000 heads", goal_cpu_ms=20, peer="Kueue 10-15 ms")
def first() -> Work:
    """One complete tournament."""
    snapshot, heads = _world(copies=1)
    return lambda: Tournament(snapshot, heads, GATES).pop()


@benchmark(
    "tournament: 1,000 heads in order, usage unchanged", goal_cpu_ms=70, peer="Kueue 6.8-9.1 s"
)
def all_unchanged() -> Work:
    """A thousand tournaments, each among those that are left."""
    return _in_order(copies=1)


@benchmark("tournament: 10,000 heads in order, usage unchanged", goal_cpu_ms=12 * 70)
def ten_times() -> Work:
    """Ten times the ClusterQueues and heads in the same cohorts."""
    return _in_order(copies=10)


@benchmark("tournament: 1,000 heads in order, each charged in its turn")
def all_charged() -> Work:
    """What a cycle does in which all are admitted; taking the charges back is timed too."""
    snapshot, heads = _world(copies=1)
    named = {head.name: head for head in heads}

    def work() -> None:
        tournament = Tournament(snapshot, heads, GATES)
        while (name := tournament.pop()) is not None:
            queue = named[name].queue
            snapshot.charge(queue, named[name].usage)
            tournament.changed(queue)
        for head in heads:
            snapshot.discharge(head.queue, head.usage)

    return work


@benchmark("classical order: 1,000 heads in order")
def classical() -> Work:
    """Fair sharing off."""
    _, heads = _world(copies=1)

    def work() -> None:
        order = ClassicalOrder(heads, GATES)
        assert sum(1 for _ in iter(order.pop, None)) == len(heads)

    return work


def _in_order(*, copies: int) -> Work:
    snapshot, heads = _world(copies=copies)

    def work() -> None:
        tournament = Tournament(snapshot, heads, GATES)
        assert sum(1 for _ in iter(tournament.pop, None)) == len(heads)

    return work


def _world(*, copies: int) -> tuple[Snapshot, list[Head]]:
    """The bench world with each ClusterQueue, its usage and its head so many times."""
    world = read_world()
    usage = usage_of(world)
    cohorts = [node for node in nodes_of(world) if node.name not in usage]
    queues = [node for node in nodes_of(world) if node.name in usage]
    numbers = range(copies)
    nodes = cohorts + [replace(q, name=f"{q.name}-{n}") for q in queues for n in numbers]
    used = {f"{name}-{n}": row for name, row in usage.items() for n in numbers}
    parents = {
        QueueName(node.name): None if node.parent is None else QueueName(node.parent)
        for node in nodes
    }
    heads = [
        Head(
            name=WorkloadName(f"{head['name']}-{n}"),
            queue=QueueName(f"cq:{head['cq']}-{n}"),
            priority=head["priority"],
            queued_ms=head["createdAt"] * 1_000,
            usage=request_of(head),
        )
        for head in world["heads"]
        for n in numbers
    ]
    assert len(heads) == len(used) == 1_000 * copies
    return Snapshot(QuotaTree(RESOURCES, nodes, used), parents, {}, ()), heads
