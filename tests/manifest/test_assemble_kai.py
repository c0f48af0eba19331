"""From KAI's objects to a cluster state: the tree, the settings, advice, and laws."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.reading.queue import read_share_simulation
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.settings import KaiSettings
from tests.manifest.kai_world import (
    FREE,
    GROUP,
    NODE,
    ONE_CORE,
    annotated,
    assemble,
    codes,
    containers,
    member,
    pod,
    queue,
    sound,
    stream,
    told,
)
from tests.model.invariants import check_invariants

# The tree


def test_queues_stand_on_the_axes_cpu_memory_gpu() -> None:
    resources = (
        "{cpu: {quota: 1000, limit: 2000, overQuotaWeight: 1}, "
        "memory: {quota: -1, limit: -1, overQuotaWeight: 0.5}, "
        "gpu: {quota: 0.5, limit: -1, overQuotaWeight: 2}}"
    )
    state = sound(stream(queue("a"), queue("b", "a", resources)))
    assert [str(axis) for axis in state.axes.axes] == ["cpu", "memory", "gpu"]
    found = state.queues[QueueName("b")]
    assert found.parent == "a"
    assert found.guaranteed == (1000, None, 500)
    assert found.ceiling == (2000, None, None)
    assert found.weights == (Decimal(1), Decimal("0.5"), Decimal(2))
    assert found.borrow_limit == found.lend_limit == (None, None, None)


def test_an_orphan_is_left_out_with_all_below_it() -> None:
    text = stream(queue("a"), queue("b", "gone"), queue("c", "b"), queue("d", "c"))
    assembled, _ = assemble(text)
    assert assembled is not None
    assert set(assembled.state.queues) == {"a"}
    (finding,) = told(text)
    assert (finding.severity, finding.code, finding.line) == ("warning", "missing-parent", 3)
    assert '"b" and below it "c", "d" are left out' in finding.message


def test_a_cycle_is_refused_once() -> None:
    text = stream(queue("a", "b"), queue("b", "a"), queue("c", "b"))
    assert assemble(text)[0] is None
    assert codes(text) == ["error cycle 1"]


def test_jobs_of_queues_at_a_cycle_are_not_told_that_these_are_missing() -> None:
    """The queue c is there, below a cycle, which is told: neither it nor one above is to add."""
    job = pod("x", metadata="labels: {kai.scheduler/queue: c}")
    text = stream(queue("a", "b"), queue("b", "a"), queue("c", "b"), job)
    assert codes(text) == ["error cycle 1"]


def test_doubles_of_any_kind_are_refused() -> None:
    text = stream(queue("a"), queue("a"), GROUP, GROUP, NODE, NODE, member("x"), member("x"))
    assert assemble(text)[0] is None
    found = [each.message.split('"')[0] for each in assemble(text)[1]]
    assert sorted(found) == [
        "found the Node ",
        "found the Pod ",
        "found the PodGroup ",
        "found the Queue ",
    ]


def test_a_mistake_in_one_object_does_not_hide_those_between_others() -> None:
    text = stream("{kind: Queue, metadata: {name: x}}", queue("a", "b"), queue("b", "a"))
    assert codes(text) == ["error missing-field 1", "error cycle 3"]


# Settings and history


def test_the_shard_for_no_pool_counts_and_the_others_are_told() -> None:
    text = stream(
        "{kind: SchedulingShard, metadata: {name: a}, spec: {kValue: 2, partitionLabelValue: p}}",
        "{kind: SchedulingShard, metadata: {name: z}, spec: {kValue: 3}}",
        "{kind: SchedulingShard, metadata: {name: b}, spec: {kValue: 4, partitionLabelValue: q}}",
    )
    assembled, found = assemble(text)
    assert assembled is not None
    assert isinstance(assembled.settings, KaiSettings)
    assert assembled.settings.k == 3
    assert [(each.code, each.line) for each in found] == [("no-effect", 1), ("no-effect", 5)]


def test_without_a_shard_the_defaults_hold() -> None:
    assembled, _ = assemble(queue("a"))
    assert assembled is not None
    assert assembled.settings == KaiSettings()
    assert assembled.policy == "kai"


def test_a_share_simulation_becomes_one_waiting_workload_per_queue() -> None:
    body = b"""{"totalResource": {"GPU": 10, "CPU": 1000, "Memory": 5}, "queues": [
        {"uid": "a", "resourceShare": {"gpu": {"deserved": 2, "request": 4, "usage": 0.5}}},
        {"uid": "b", "resourceShare": {"gpu": {"request": 0}, "cpu": {"request": 7}}}]}"""
    findings = Findings()
    collection: list[Object] = []
    (document,) = read_bytes(body, "body.json", findings)
    collection += read_share_simulation(document, findings)
    assembled = assemble_objects("kai", collection, findings)
    assert list(findings) == []
    assert assembled is not None
    state = assembled.state
    check_invariants(state)
    assert state.total() == (1000, 5, 10_000)
    assert state.requested(QueueName("a")) == (100_000, 100_000, 4000)
    assert state.requested(QueueName("b")) == (7, 100_000, 0)
    assert state.usage == {"a": (0, 0, 500_000_000)}


# Advice


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("{}", "advice unusable"),
        ("{gpu: {quota: 3, overQuotaWeight: 1}}", "advice unusable"),  # limits left out are 0
        ("{gpu: {limit: -1}}", "advice unusable"),  # neither quota nor weight
        ("{gpu: {quota: 3, limit: 2}}", "warning no-effect"),
        ("{gpu: {quota: -1, limit: 2}}", "warning no-effect"),
        ("{gpu: {quota: 2, limit: 2}}", ""),
        ("{gpu: {overQuotaWeight: 1, limit: -1}}", ""),
    ],
)
def test_a_queue_that_cannot_run_or_use_its_quota_is_told(resources: str, expected: str) -> None:
    found = [f"{each.severity} {each.code}" for each in told(queue("a", "", resources))]
    assert found == ([expected] if expected else [])


def quota(gpu: int) -> str:
    return f"{{gpu: {{quota: {gpu}, limit: -1}}, cpu: {{limit: -1}}, memory: {{limit: -1}}}}"


def test_children_that_are_guaranteed_more_than_their_parent_are_told_at_the_parent() -> None:
    text = stream(queue("p", "", quota(3)), queue("a", "p", quota(2)), queue("b", "p", quota(2)))
    (finding,) = told(text)
    assert (finding.severity, finding.code, finding.line) == ("advice", "overcommitted", 1)
    assert finding.path == "$.spec.resources.gpu.quota"
    assert "a quota of 3" in finding.message
    assert "guaranteed 4 together" in finding.message  # 2 + 2


def test_more_guaranteed_at_the_top_than_the_nodes_have_is_told_at_the_largest() -> None:
    text = stream(NODE, queue("a", "", quota(2)), queue("b", "", quota(3)))  # 5 of 4
    (finding,) = told(text)
    assert (finding.code, finding.line) == ("overcommitted", 6)
    assert "found 5 guaranteed at the top level, but the nodes have 4" in finding.message
    fitting = stream(NODE, queue("a", "", quota(2)), queue("b", "", quota(2)))
    assert told(fitting) == []


def test_nodes_of_which_others_hold_more_than_all_promise_nothing_that_could_be_told() -> None:
    small = "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1}}}"
    spec = "{nodeName: n1, containers: [{name: main, resources: {requests: {cpu: 1000}}}]}"
    large = f"{{kind: Pod, metadata: {{name: large, namespace: others}}, spec: {spec}}}"
    assert told(stream(small, large)) == []  # 0 guaranteed, and 1 - 1000 cores left
    assert told(stream(small, large, queue("a", "", FREE))) == []


# What is asked for where no pod is in the input


def published(name: str, parent: str, requested: str, allocated: str, fixed: str) -> str:
    """Write a queue with the status that KAI gives it."""
    status = f"requested: {requested}, allocated: {allocated}, allocatedNonPreemptible: {fixed}"
    return queue(name, parent)[:-1] + f", status: {{{status}, childQueues: []}}}}"


PUBLISHED = stream(
    published("top", "", "{cpu: 99}", "{cpu: 99}", "{}"),  # of all below it; only leaves count
    published(
        "a",
        "top",
        '{cpu: "10", memory: 8Gi, nvidia.com/gpu: 4}',
        '{cpu: 6500m, memory: 8Gi, nvidia.com/gpu: "2.5"}',
        '{cpu: "2", nvidia.com/gpu: 1}',
    ),
    published("b", "top", "{cpu: 1}", "{cpu: 3}", "{}"),  # of two moments
    queue("c", "top"),
)


def test_without_pods_the_status_of_the_leaves_says_what_is_asked_for() -> None:
    state = sound(PUBLISHED)
    gib = 2**30
    assert state.requested(QueueName("a")) == (10_000, 8 * gib, 4000)
    own = state.sums[QueueName("a")]
    assert own.allocated == [6500, 8 * gib, 2500]
    assert own.non_preemptible == [2000, 0, 1000]
    assert state.requested(QueueName("b")) == (3000, 0, 0)  # never less than it has
    assert state.requested(QueueName("c")) == (0, 0, 0)
    assert state.requested(QueueName("top")) == (13_000, 8 * gib, 4000)  # 10 + 3 cores
    assert sorted(state.workloads) == ["/a", "/a/running", "/a/staying", "/b/running"]
    assert told(PUBLISHED) == []


def test_with_pods_no_status_counts() -> None:
    state = sound(stream(PUBLISHED, pod("x")))
    assert sorted(state.workloads) == ["ns/pod/x"]
    assert state.requested(QueueName("a")) == (1000, 0, 0)
    state = sound(stream(PUBLISHED, pod("done", status="phase: Succeeded")))
    assert state.requested(QueueName("top")) == (0, 0, 0)


def test_queues_on_their_own_are_sound() -> None:
    assert told(stream(NODE, queue("b"), queue("a"))) == told(NODE) == []


# When advice is given


def test_advice_waits_until_the_input_is_sound() -> None:
    assert codes(stream(queue("a", "a"), queue("b", "", "{}"))) == ["error cycle 1"]


# Laws

WORLD = stream(
    queue("top"),
    queue("a", "top"),
    queue("b", "top"),
    queue("lost", "gone"),
    GROUP,
    member("w1"),
    member("w2", f"nodeName: n1, {ONE_CORE}"),
    member("w3", containers("{cpu: 3}")),
    pod("solo", metadata="labels: {kai.scheduler/queue: b}"),
    pod("stray", metadata="labels: {kai.scheduler/queue: lost}"),
    annotated('gpu-fraction: "0.5"'),
    NODE,
    NODE.replace("n1", "n2"),
    f"{{kind: Pod, metadata: {{name: other}}, spec: {{nodeName: n2, {ONE_CORE}}}}}",
)


def picture(state: ClusterState) -> object:
    """Return everything in a state, in the order in which it is kept."""
    return (
        [*state.queues.items()],
        [*state.workloads.items()],
        [*state.nodes.items()],
        [(name, [*run.pods.items()], run.started_ms()) for name, run in state.runs.items()],
        [(name, sums.vectors()) for name, sums in state.sums.items()],
        state.resources,
    )


@given(order=st.integers(1, 10**6))
def test_the_order_of_listing_changes_nothing(order: int) -> None:
    plain, told = assemble(WORLD)
    shuffled, told_again = assemble(WORLD, order)
    assert plain is not None
    assert shuffled is not None
    assert picture(plain.state) == picture(shuffled.state)
    assert sorted(map(str, told)) == sorted(map(str, told_again))
    check_invariants(shuffled.state)


@given(
    cores=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=8),
)
def test_a_queue_is_charged_what_its_pods_ask_for(
    cores: list[tuple[int, bool, bool]],
) -> None:
    """Reference: add up the pods one by one. Placed pods are allocated, leaving ones nothing."""
    pods = [
        member(
            f"p{at}",
            (f"nodeName: n1, {containers(f'{{cpu: {size}}}')}" if placed else "")
            or containers(f"{{cpu: {size}}}"),
            'deletionTimestamp: "1970-01-01T00:00:20Z"' if leaving else "",
        )
        for at, (size, placed, leaving) in enumerate(cores)
    ]
    assembled, _ = assemble(stream(queue("a"), NODE, GROUP, *pods))
    assert assembled is not None
    state = assembled.state
    check_invariants(state)
    allocated = sum(1000 * size for size, placed, leaving in cores if placed and not leaving)
    waiting = sum(1000 * size for size, placed, leaving in cores if not placed and not leaving)
    assert state.sums[QueueName("a")].allocated[0] == allocated
    assert state.requested(QueueName("a"))[0] == allocated + waiting
    found = state.workloads.get(WorkloadName("ns/g"))
    names = [found.pod_name(each) for each in found.pods()] if found else []
    live = [f"p{at}" for at, (_, placed, leaving) in enumerate(cores) if placed or not leaving]
    assert sorted(names) == live
    assert not found or list(found.pods()) == [f"ns/{name}" for name in names]


def test_a_pod_is_known_by_its_uid_and_no_two_pods_share_one() -> None:
    one = "uid: one, labels: {kai.scheduler/queue: a}"
    state = sound(stream(queue("a"), NODE, pod("p1", metadata=one), pod("p2")))
    assert sorted(each.pods() for each in state.workloads.values()) == [("ns/p2",), ("one",)]
    shared = stream(queue("a"), NODE, pod("p1", metadata=one), pod("p2", metadata=one))
    assembled, found = assemble(shared)
    assert assembled is None
    assert [(each.code, each.path) for each in found] == [("duplicate-object", "$.metadata.uid")]
