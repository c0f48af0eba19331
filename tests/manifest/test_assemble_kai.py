"""From KAI's objects to a cluster state: the tree, the jobs, GPU shares, priorities, advice."""

import random
from collections.abc import Callable
from decimal import Decimal
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.manifest.assemble_kai import assemble_kai
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.collection import Collection
from fairlead.manifest.cursor import Cursor
from fairlead.manifest.documents import Document, read_bytes
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import Object
from fairlead.manifest.read_kai_pod_group import read_kai_pod_group
from fairlead.manifest.read_kai_queue import read_kai_queue
from fairlead.manifest.read_kai_shard import read_kai_shard
from fairlead.manifest.read_node import read_node
from fairlead.manifest.read_pod import read_pod
from fairlead.manifest.read_priority_class import read_priority_class
from fairlead.manifest.read_share_simulation import read_share_simulation
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.invariants import check_invariants
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, KaiJob, PodId, SubGroup, Workload
from fairlead.policy.kai.settings import KaiSettings

READERS: dict[str, Callable[[Cursor], Object | None]] = {
    "Queue": read_kai_queue,
    "PodGroup": read_kai_pod_group,
    "SchedulingShard": read_kai_shard,
    "Node": read_node,
    "Pod": read_pod,
    "PriorityClass": read_priority_class,
}

FREE = "{cpu: {limit: -1}, memory: {limit: -1}, gpu: {limit: -1, overQuotaWeight: 1}}"


def documents(text: str) -> list[Document]:
    return read_bytes(dedent(text).encode(), "kai.yaml", Findings())


def assemble(text: str, order: int = 0) -> tuple[Assembled | None, list[Finding]]:
    """Read every object of the text, shuffled by *order* unless that is 0, and assemble."""
    findings, collection = Findings(), Collection()
    found = documents(text)
    if order:
        random.Random(order).shuffle(found)
    for document in found:
        kind = str(document.value["kind"])
        each = READERS[kind](Cursor.of(document, findings))
        if each is not None:
            collection.add(each)
    return assemble_kai(collection, findings), list(findings)


def sound(text: str) -> ClusterState:
    """Assemble objects of which nothing is to be said but advice."""
    assembled, found = assemble(text)
    assert [str(each) for each in found if each.severity != "advice"] == []
    assert assembled is not None
    check_invariants(assembled.state)
    return assembled.state


def codes(text: str) -> list[str]:
    return [f"{each.severity} {each.code} {each.line}" for each in assemble(text)[1]]


def queue(name: str, parent: str = "", resources: str = FREE) -> str:
    return (
        f"{{kind: Queue, metadata: {{name: {name}}}, "
        f"spec: {{parentQueue: '{parent}', resources: {resources}}}}}"
    )


def pod(name: str, spec: str = "", metadata: str = "", status: str = "") -> str:
    """Write a pod for KAI that asks for one core, in the queue a unless its labels say else."""
    metadata = metadata or "labels: {kai.scheduler/queue: a}"
    return (
        f"{{kind: Pod, metadata: {{name: {name}, namespace: ns, {metadata}}}, "
        f"spec: {{schedulerName: kai-scheduler, {spec or ONE_CORE}}}, status: {{{status}}}}}"
    )


def member(name: str, spec: str = "", more: str = "") -> str:
    """Write a pod of the group g."""
    return pod(name, spec, f"annotations: {{pod-group-name: g}}, {more}")


def containers(requests: str) -> str:
    return f"containers: [{{name: c, resources: {{requests: {requests}}}}}]"


def stream(*objects: str) -> str:
    return "\n---\n".join(objects)


ONE_CORE = containers("{cpu: 1}")
GROUP = "{kind: PodGroup, metadata: {name: g, namespace: ns}, spec: {queue: a, minMember: 2}}"
NODE = """{kind: Node, metadata: {name: n1, labels: {nvidia.com/gpu.memory: "40000"}},
  status: {allocatable: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 4}}}"""


def workload(state: ClusterState, name: str) -> Workload:
    return state.workloads[WorkloadName(name)]


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
    assembled, found = assemble(text)
    assert assembled is not None
    assert set(assembled.state.queues) == {"a"} == set(assembled.sources)
    (finding,) = found
    assert (finding.severity, finding.code, finding.line) == ("warning", "missing-parent", 3)
    assert '"b" and below it "c", "d" are left out' in finding.message


def test_a_cycle_is_refused_at_each_member() -> None:
    text = stream(queue("a", "b"), queue("b", "a"), queue("c", "b"))
    assert assemble(text)[0] is None
    assert codes(text) == ["error cycle 1", "error cycle 3"]


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
    assert codes(text) == ["error missing-field 1", "error cycle 3", "error cycle 5"]


# Jobs


def test_the_pods_of_a_group_are_one_workload_in_sets_of_alike_pods() -> None:
    text = stream(
        queue("a"),
        GROUP,
        member("w2"),
        member("w1"),
        member("big", containers("{cpu: 2, memory: 1Gi}")),
        member("gated", f"schedulingGates: [{{name: later}}], {ONE_CORE}"),
        member("done", f"nodeName: n1, {ONE_CORE}", "labels: {x: z}").replace(
            "status: {}", "status: {phase: Succeeded}"
        ),
        NODE,
    )
    state = sound(text)
    found = workload(state, "ns/g")
    assert (found.queue, found.min_count) == ("a", 2)
    assert [each.pod_names for each in found.pod_sets] == [("big",), ("gated",), ("w1", "w2")]
    assert [each.gated for each in found.pod_sets] == [False, True, False]
    assert [each.min_count for each in found.pod_sets] == [0, 0, 0]
    assert state.resources == ("cpu", "memory", "nvidia.com/gpu")
    assert found.pod_sets[0].requests == (2000, 2**30, 0)
    # what waits: big 2 cores, w1 and w2 one core each; the gated and the finished pod nothing
    assert state.requested(QueueName("a")) == (4000, 2**30, 0)


def test_a_pod_names_its_group_in_a_label_too_but_only_in_its_own_namespace() -> None:
    labelled = pod("x", metadata="labels: {pod-group-name: g}")
    state = sound(stream(queue("a"), GROUP, labelled, member("second")))
    assert workload(state, "ns/g").pod_sets[0].pod_names == ("second", "x")
    elsewhere = labelled.replace("namespace: ns", "namespace: other")
    assembled, found = assemble(stream(queue("a"), queue("default-queue"), GROUP, elsewhere))
    assert assembled is not None
    assert sorted(assembled.state.workloads) == ["other/x"]
    assert sorted(each.code for each in found) == ["missing-reference", "missing-reference"]


def test_a_pod_of_kai_without_a_group_is_a_workload_of_its_own() -> None:
    state = sound(stream(queue("a"), pod("x"), pod("second", metadata="labels: {runai/queue: a}")))
    assert sorted(state.workloads) == ["ns/second", "ns/x"]
    found = workload(state, "ns/x")
    assert (found.queue, found.min_count, found.priority, found.preemptible) == ("a", 1, 50, True)


def test_a_pod_without_a_queue_goes_to_kais_default_queue() -> None:
    state = sound(stream(queue("default-queue"), pod("x", metadata="labels: {}")))
    assert workload(state, "ns/x").queue == "default-queue"


def test_a_pod_may_be_called_like_a_group() -> None:
    state = sound(stream(queue("a"), GROUP, member("x"), pod("g")))
    assert sorted(state.workloads) == ["ns/g", "ns/pod/g"]


def test_sub_groups_keep_their_minimum_and_their_pods() -> None:
    group = GROUP.replace(
        "minMember: 2", "subGroups: [{name: head, minMember: 1}, {name: work, minMember: 2}]"
    )
    text = stream(
        queue("a"),
        group,
        member("h", more="labels: {kai.scheduler/subgroup-name: head}"),
        member("w1", more="labels: {kai.scheduler/subgroup-name: work}"),
        member("w2", containers("{cpu: 2}"), "labels: {kai.scheduler/subgroup-name: work}"),
    )
    found = workload(sound(text), "ns/g")
    assert found.min_count == 3  # 1 + 2
    assert [(each.sub_group, each.min_count) for each in found.pod_sets] == [
        ("head", 1),
        ("work", 1),  # two are needed, and the other set has but one of them
        ("work", 1),
    ]
    assert isinstance(found.extension, KaiJob)
    assert found.extension.sub_groups == (
        SubGroup(name="head", min_member=1),
        SubGroup(name="work", min_member=2),
    )


def test_an_unknown_sub_group_is_told_and_left_out() -> None:
    group = GROUP.replace("minMember: 2", "subGroups: [{name: head}]")
    stray = member("x", more="labels: {kai.scheduler/subgroup-name: heat}")
    assembled, found = assemble(stream(queue("a"), group, stray))
    assert assembled is not None
    assert workload(assembled.state, "ns/g").pod_sets[0].sub_group == ""
    assert [each.code for each in found] == ["missing-reference"]


def test_a_topology_that_is_required_is_a_constraint_that_we_do_not_know() -> None:
    group = GROUP.replace("minMember: 2", "topologyConstraint: {requiredTopologyLevel: rack}")
    found = workload(sound(stream(queue("a"), group, member("x"))), "ns/g")
    assert found.pod_sets[0].constraints.unsupported == ("topologyConstraint",)


def test_a_running_pod_has_a_place_a_leaving_one_is_leaving() -> None:
    text = stream(
        queue("a"),
        GROUP.replace("namespace: ns", 'namespace: ns, creationTimestamp: "1970-01-01T00:00:01Z"'),
        member("r", f"nodeName: n1, {ONE_CORE}").replace(
            "status: {}", 'status: {phase: Running, startTime: "1970-01-01T00:00:09Z"}'
        ),
        member("s", f"nodeName: n1, {ONE_CORE}", 'deletionTimestamp: "1970-01-01T00:00:20Z"'),
        member("t"),
        member("u", more='deletionTimestamp: "1970-01-01T00:00:20Z"'),
        NODE,
    )
    state = sound(text)
    run = state.runs[WorkloadName("ns/g")]
    placed = {
        workload(state, "ns/g").pod_name(each): (at.node, at.leaving)
        for each, at in run.pods.items()
    }
    assert placed == {"r": ("n1", False), "s": ("n1", True)}
    assert workload(state, "ns/g").pod_sets[0].pod_names == ("r", "s", "t")  # u never got a place
    assert run.started_ms == 0  # s has no start time, but it was created at 0
    assert state.node_held["n1"][0] == 2000
    assert state.sums[QueueName("a")].allocated[0] == 1000
    assert state.sums[QueueName("a")].pending[0] == 1000


def test_the_groups_own_start_time_counts_before_that_of_its_pods() -> None:
    started = 'annotations: {kai.scheduler/last-start-timestamp: "1970-01-01T00:01:00Z"}'
    group = GROUP.replace("namespace: ns", f"namespace: ns, {started}")
    state = sound(stream(queue("a"), group, member("r", f"nodeName: n1, {ONE_CORE}"), NODE))
    assert state.runs[WorkloadName("ns/g")].started_ms == 60_000


def test_other_schedulers_pods_take_space_but_reservations_do_not() -> None:
    """A reservation holds the device whose parts are charged to those who share it."""
    gpu = f"nodeName: n1, {containers('{cpu: 1, nvidia.com/gpu: 1}')}"
    other = f"{{kind: Pod, metadata: {{name: o}}, spec: {{{gpu}}}}}"
    finished = other.replace("name: o", "name: f").replace(
        "spec:", "status: {phase: Failed}, spec:"
    )
    reservation = other.replace("name: o", "name: r, namespace: kai-resource-reservation")
    state = sound(stream(queue("a"), NODE, other, finished, reservation))
    assert state.workloads == {}
    node = state.nodes["n1"]
    assert node.occupied == (1000, 0, 1000)
    assert tuple(state.capacity) == (7000, 32 * 2**30, 3000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (pod("x", metadata="labels: {kai.scheduler/queue: b}"), "missing-reference"),
        (pod("x", metadata="labels: {kai.scheduler/queue: top}"), "unusable"),
        (GROUP.replace("queue: a, ", ""), "missing-reference"),
    ],
)
def test_a_job_that_no_leaf_takes_is_kept_and_told(text: str, expected: str) -> None:
    members = member("m") if "PodGroup" in text else queue("z")
    assembled, found = assemble(stream(queue("top"), queue("a", "top"), text, members))
    assert assembled is not None
    assert len(assembled.state.workloads) == 1
    assert [(each.severity, each.code) for each in found] == [("warning", expected)]


def test_a_group_without_pods_asks_for_nothing() -> None:
    assembled, found = assemble(stream(queue("a"), GROUP))
    assert assembled is not None
    assert assembled.state.workloads == {}
    assert [each.code for each in found] == ["missing-reference"]


# Shares of GPUs


def annotated(text: str) -> str:
    return pod("x", metadata=f"labels: {{kai.scheduler/queue: a}}, annotations: {{{text}}}")


@pytest.mark.parametrize(
    ("text", "amount", "share"),
    [
        ('gpu-fraction: "0.5"', 500, GpuShare(thousandths=500)),
        (
            'gpu-fraction: "0.25", gpu-fraction-num-devices: "3"',
            750,
            GpuShare(devices=3, thousandths=250),
        ),
        # of the 40,000 MiB that a device of the only node has
        ('gpu-memory: "10000"', 250, GpuShare(memory_mib=10000)),
        ('gpu-memory: "12345"', 310, GpuShare(memory_mib=12345)),  # 0.3086 to a hundredth
        (
            'gpu-memory: "20000", gpu-fraction-num-devices: "2"',
            1000,
            GpuShare(devices=2, memory_mib=20000),
        ),
    ],
)
def test_a_share_of_a_gpu_is_charged_in_hundredths(text: str, amount: int, share: GpuShare) -> None:
    state = sound(stream(queue("a"), NODE, annotated(text)))
    found = workload(state, "ns/x").pod_sets[0]
    assert found.gpu_share == share
    assert found.requests == (1000, 0, amount)
    assert state.requested(QueueName("a")) == (1000, 0, amount)


@pytest.mark.parametrize(
    ("fraction", "kept"), [("0.335", 340), ("0.334", 330), ("0.3149", 310), ("0.996", 1000)]
)
def test_a_finer_share_is_rounded_once_to_the_nearest_hundredth(fraction: str, kept: int) -> None:
    assembled, found = assemble(stream(queue("a"), NODE, annotated(f'gpu-fraction: "{fraction}"')))
    assert assembled is not None
    assert workload(assembled.state, "ns/x").pod_sets[0].requests[2] == kept
    assert {each.code for each in found} == {"rounded"}


def test_memory_counts_of_the_smallest_device_while_waiting_and_of_its_own_once_placed() -> None:
    larger = NODE.replace("n1", "n2").replace("40000", "80000")
    waiting = annotated('gpu-memory: "20000"')
    running = waiting.replace("name: x", "name: second").replace(
        "schedulerName:", "nodeName: n2, schedulerName:"
    )
    state = sound(stream(queue("a"), NODE, larger, waiting, running))
    assert workload(state, "ns/x").pod_sets[0].requests[2] == 500  # 20000 of 40000
    assert workload(state, "ns/second").pod_sets[0].requests[2] == 250  # 20000 of 80000


def test_without_known_memory_a_whole_device_is_counted() -> None:
    assembled, found = assemble(stream(queue("a"), annotated('gpu-memory: "10"')))
    assert assembled is not None
    assert [each.code for each in found] == ["missing-reference"]
    assert assembled.state.requested(QueueName("a")) == (1000, 0, 1000)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('gpu-fraction: "0.5"', "contradiction"),
        ('gpu-fraction: "0.004"', "out-of-range"),
    ],
)
def test_a_share_that_cannot_be_is_refused(text: str, code: str) -> None:
    odd = annotated(text)
    if code == "contradiction":
        odd = odd.replace("{cpu: 1}", "{nvidia.com/gpu: 1}")
    assembled, found = assemble(stream(queue("a"), NODE, odd))
    assert assembled is None
    assert [each.code for each in found] == [code]


def test_every_vendors_gpu_counts_as_gpu() -> None:
    text = stream(
        queue("a"),
        pod("x", containers("{nvidia.com/gpu: 2}")),
        pod("second", containers("{amd.com/gpu: 1}")),
        pod("z", containers("{example.com/fpga: 5}")),
    )
    assert sound(text).requested(QueueName("a")) == (0, 0, 3000)


# Priorities


@pytest.mark.parametrize(
    ("name", "priority", "preemptible"),
    [
        ("train", 50, True),
        ("build-preemptible", 75, True),
        ("interactive-preemptible", 75, True),
        ("build", 100, False),
        ("inference", 125, False),
        ("mine", 99, True),
        ("system-node-critical", 2_000_001_000, False),
        ("''", 60, True),  # the default of the two classes below
    ],
)
def test_a_class_gives_the_priority(name: str, priority: int, preemptible: bool) -> None:
    classes = stream(
        "{kind: PriorityClass, metadata: {name: mine}, value: 99}",
        "{kind: PriorityClass, metadata: {name: usual}, value: 60, globalDefault: true}",
    )
    group = GROUP.replace("queue: a", f"queue: a, priorityClassName: {name}")
    found = workload(sound(stream(queue("a"), group, member("x"), classes)), "ns/g")
    assert (found.priority, found.preemptible) == (priority, preemptible)


@pytest.mark.parametrize(
    ("labels", "spec", "priority"),
    [
        ("priorityClassName: build", "priorityClassName: train", 100),  # the label wins
        ("x: z", "priorityClassName: inference", 125),
        ("x: z", "priorityClassName: unknown, priority: 77", 77),  # as the API server wrote it
        ("x: z", "priority: 0", 50),  # every pod without a class has 0 there
    ],
)
def test_a_pod_of_its_own_has_its_own_class(labels: str, spec: str, priority: int) -> None:
    text = pod("x", f"{spec}, {ONE_CORE}", f"labels: {{kai.scheduler/queue: a, {labels}}}")
    assert workload(sound(stream(queue("a"), text)), "ns/x").priority == priority


def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    group = GROUP.replace("queue: a", "queue: a, priorityClassName: trian")
    assembled, found = assemble(stream(queue("a"), group, member("x")))
    assert assembled is None
    (finding,) = found
    assert finding.path == "$.spec.priorityClassName"
    assert "build, build-preemptible, inference" in finding.message
    assert finding.fix == 'did you mean "train"?'


def test_what_a_job_says_of_its_preemptibility_overrides_its_priority() -> None:
    build = "queue: a, priorityClassName: build, preemptibility: preemptible"
    group = GROUP.replace("queue: a", build)
    assert workload(sound(stream(queue("a"), group, member("x"))), "ns/g").preemptible
    labels = "labels: {kai.scheduler/queue: a, kai.scheduler/preemptibility: non-preemptible}"
    text = stream(queue("a"), pod("x", metadata=labels))
    assert not workload(sound(text), "ns/x").preemptible
    odd = text.replace("non-preemptible", "perhaps")
    assert codes(odd) == ["warning bad-choice 3"]


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
    findings, collection = Findings(), Collection()
    (document,) = read_bytes(body, "body.json", findings)
    for each in read_share_simulation(document, findings):
        collection.add(each)
    assembled = assemble_kai(collection, findings)
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
    found = [f"{each.severity} {each.code}" for each in assemble(queue("a", "", resources))[1]]
    assert found == ([expected] if expected else [])


def quota(gpu: int) -> str:
    return f"{{gpu: {{quota: {gpu}, limit: -1}}, cpu: {{limit: -1}}, memory: {{limit: -1}}}}"


def test_children_that_are_guaranteed_more_than_their_parent_are_told_at_the_parent() -> None:
    text = stream(queue("p", "", quota(3)), queue("a", "p", quota(2)), queue("b", "p", quota(2)))
    (finding,) = assemble(text)[1]
    assert (finding.severity, finding.code, finding.line) == ("advice", "overcommitted", 1)
    assert finding.path == "$.spec.resources.gpu.quota"
    assert "a quota of 3" in finding.message
    assert "guaranteed 4 together" in finding.message  # 2 + 2


def test_more_guaranteed_at_the_top_than_the_nodes_have_is_told_at_the_largest() -> None:
    text = stream(NODE, queue("a", "", quota(2)), queue("b", "", quota(3)))  # 5 of 4
    (finding,) = assemble(text)[1]
    assert (finding.code, finding.line) == ("overcommitted", 6)
    assert "found 5 guaranteed at the top level, but the nodes have 4" in finding.message
    fitting = stream(NODE, queue("a", "", quota(2)), queue("b", "", quota(2)))
    assert assemble(fitting)[1] == []


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
        [(name, [*run.pods.items()], run.started_ms) for name, run in state.runs.items()],
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
    assert not found or found.pods()[0] == PodId(0, 0)
