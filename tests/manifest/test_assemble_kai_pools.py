"""Which objects are of a shard's pool, and under which names KAI's labels stand."""

import pytest

from tests.manifest.kai_world import GROUP, ONE_CORE, assemble, member, pod, queue, sound, stream
from tests.model.invariants import check_invariants

SHARD = "{kind: SchedulingShard, metadata: {name: s}, spec: {partitionLabelValue: '%s'}}"


def pooled(text: str, pool: str) -> str:
    """Put an object into a node pool."""
    return text.replace("{name: ", f"{{labels: {{kai.scheduler/node-pool: {pool}}}, name: ", 1)


def node(name: str, cores: int) -> str:
    return f"{{kind: Node, metadata: {{name: {name}}}, status: {{allocatable: {{cpu: {cores}}}}}}}"


def job(name: str, on: str, queue: str = "a") -> str:
    """Write a group with one pod of one core on a node."""
    group = GROUP.replace("name: g", f"name: {name}").replace("queue: a", f"queue: {queue}")
    return stream(
        group, member(f"{name}-0", f"nodeName: {on}, {ONE_CORE}").replace(": g}", f": {name}}}")
    )


POOLS = stream(
    queue("a"),
    pooled(queue("b"), "blue"),
    pooled(queue("r"), "red"),
    pooled(node("blue", 1), "blue"),
    pooled(node("red", 10), "red"),
    node("free", 100),
    pooled(job("in-blue", "blue", "b"), "blue"),
    pooled(job("in-red", "red", "r"), "red"),
    job("in-none", "blue"),
)


NOWHERE = "; no node of the input is left, so nothing can run"


@pytest.mark.parametrize(
    ("pool", "cores", "queues", "jobs", "left_out"),
    [
        # 1 less the one that a job of no pool holds there
        (
            "blue",
            0,
            {"b"},
            ["ns/in-blue"],
            '2 nodes, 2 queues and 2 jobs ("ns/in-none", "ns/in-red")',
        ),
        (
            "red",
            10,
            {"r"},
            ["ns/in-red"],
            '2 nodes, 2 queues and 2 jobs ("ns/in-blue", "ns/in-none")',
        ),
        (
            "",
            100,
            {"a"},
            ["ns/in-none"],
            '2 nodes, 2 queues and 2 jobs ("ns/in-blue", "ns/in-red")',
        ),
        (
            "gone",
            0,
            set(),
            [],
            '3 nodes, 3 queues and 3 jobs ("ns/in-blue", "ns/in-none", "ns/in-red")' + NOWHERE,
        ),
    ],
)
def test_only_the_nodes_queues_and_jobs_of_the_shards_pool_count(
    pool: str, cores: int, queues: set[str], jobs: list[str], left_out: str
) -> None:
    assembled, found = assemble(stream(POOLS, SHARD % pool))
    assert assembled is not None
    check_invariants(assembled.state)
    assert assembled.state.total()[0] == 1000 * cores
    assert sorted(assembled.state.workloads) == jobs
    assert set(assembled.state.queues) == queues
    (finding,) = [each for each in found if each.code == "no-effect"]
    own = f'the shard of the pool "{pool}"' if pool else "the default shard"
    counts, _, nowhere = left_out.partition(";")
    expected = f"{own}: {counts} belong to other pools and are left out{nowhere and ';' + nowhere}"
    assert finding.message == expected
    assert (finding.severity, finding.path) == ("warning", "$.spec.partitionLabelValue")


def test_of_many_jobs_in_other_pools_some_are_named() -> None:
    jobs = [pod(f"p{number:02}") for number in range(12)]
    _, found = assemble(stream(queue("a"), node("n1", 1), *jobs, SHARD % "blue"))
    message = found[-1].message
    assert '1 node, 1 queue and 12 jobs ("ns/pod/p00", ' in message
    assert '"ns/pod/p09", 2 more)' in message
    assert message.endswith(NOWHERE)
    _, found = assemble(stream(queue("a"), *jobs, SHARD % "blue"))
    assert not found[-1].message.endswith(NOWHERE)  # there is none at all


def test_a_job_whose_queue_is_in_another_pool_waits_and_is_told_why() -> None:
    astray = pod("astray", metadata="labels: {kai.scheduler/queue: b}")
    _, found = assemble(stream(queue("a"), pooled(queue("b"), "blue"), astray, SHARD % ""))
    (finding,) = [each for each in found if each.code == "missing-reference"]
    assert finding.message == (
        'found the queue "b", which is in another node pool than the job; '
        "the job waits until both are in one"
    )


def test_a_queue_whose_parent_is_in_another_pool_is_left_out_and_told() -> None:
    text = stream(pooled(queue("top"), "blue"), queue("a", "top"), queue("c"), SHARD % "")
    assembled, found = assemble(text)
    assert assembled is not None
    assert set(assembled.state.queues) == {"c"}
    (finding,) = [each for each in found if each.code == "missing-parent"]
    assert finding.message == (
        'found the parent "top", which is in another node pool; "a" is left out of scheduling'
    )


OWN_NAMES = """{kind: Config, metadata: {name: kai-config}, spec: {global: {
  schedulerName: ours, queueLabelKey: org/queue, nodePoolLabelKey: org/pool, replicaCount: 2}}}"""


def own_named(text: str) -> str:
    """Write objects with the names that OWN_NAMES chooses."""
    text = text.replace("kai-scheduler", "ours").replace("kai.scheduler/queue", "org/queue")
    return text.replace("kai.scheduler/node-pool", "org/pool")


def test_the_names_in_the_config_count() -> None:
    """The same objects under names of one's own make the same state."""
    labelled = (
        "{kind: PodGroup, metadata: {name: h, namespace: ns, labels: {kai.scheduler/queue: a}}"
    )
    world = stream(POOLS, queue("q"), pod("x", metadata="labels: {kai.scheduler/queue: q}"))
    world = stream(world, labelled + ", spec: {}}", member("h-0").replace(": g}", ": h}"))
    world = stream(world, SHARD % "")
    plain, _ = assemble(world)
    named, _ = assemble(stream(own_named(world), OWN_NAMES))
    assert plain is not None
    assert named is not None
    for state in (plain.state, named.state):
        assert {each.name: each.queue for each in state.workloads.values()} == {
            "ns/h": "a",
            "ns/in-none": "a",
            "ns/pod/x": "q",
        }
        assert set(state.queues) == {"a", "q"}
        assert state.total()[0] == 100_000


def test_usual_names_do_not_count_where_the_config_has_others() -> None:
    mine = pod("x", metadata="labels: {kai.scheduler/queue: a}")
    assembled, _ = assemble(stream(queue("a"), mine, OWN_NAMES))
    assert assembled is not None
    assert assembled.state.workloads == {}  # the pod is another scheduler's
    assembled, _ = assemble(stream(queue("a"), mine.replace("kai-scheduler", "ours"), OWN_NAMES))
    assert assembled is not None
    assert [each.queue for each in assembled.state.workloads.values()] == ["default-queue"]


@pytest.mark.parametrize("label", ["kai.scheduler/queue", "runai/queue"])
def test_the_queue_of_a_group_may_stand_in_a_label_of_either_name(label: str) -> None:
    group = GROUP.replace("{name: g, ", f"{{name: g, labels: {{{label}: a}}, ")
    for text, expected in (
        (group.replace("queue: a, ", ""), "a"),
        (group.replace("queue: a", "queue: b"), "b"),
    ):
        found = sound(stream(queue("a"), queue("b"), text, member("x"))).workloads.values()
        assert [each.queue for each in found] == [expected]


def test_without_a_shard_all_pools_count() -> None:
    assembled, found = assemble(POOLS)
    assert assembled is not None
    assert assembled.state.total()[0] == 111_000
    assert sorted(assembled.state.workloads) == ["ns/in-blue", "ns/in-none", "ns/in-red"]
    assert found == []
