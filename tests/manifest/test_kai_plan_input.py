"""What KAI's objects say about running pods is what a plan for the waiting ones rests on."""

import pytest
from msgspec.structs import replace

from fairlead.explain.plan.report import plan_rows
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.plan import Start
from fairlead.model.workload import GpuShare
from fairlead.policy.contract import make_policy
from fairlead.policy.kai.settings import KaiSettings
from tests.manifest.kai_world import (
    GROUP,
    NODE,
    ONE_CORE,
    assemble,
    containers,
    member,
    pod,
    queue,
    sound,
    stream,
    told,
    workload,
)


def planned(*objects: str) -> dict[str, str]:
    """Return for every job that waits where it starts, or why it goes on waiting.

    Nobody gives way here: what is idle is in question.
    """
    assembled, found = assemble(stream(queue("a"), *objects))
    assert [str(each) for each in found if each.severity != "advice"] == []
    assert assembled is not None
    assert isinstance(assembled.settings, KaiSettings)
    only_idle = replace(assembled.settings, actions=("allocate",))
    plan = make_policy(only_idle).plan(assembled.state, 0)
    rows = plan_rows(assembled.state, plan.decisions)
    return {row.workload: row.where or row.why for row in rows}


# Devices that pods share

ONE_GPU = "{cpu: 1, nvidia.com/gpu: 1}"
TWO_DEVICES = NODE.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 2")


def half(name: str, group: str = "", fraction: str = "0.5") -> str:
    """Write a pod with part of a device: running on n1 if it has a group, else waiting."""
    label = f", runai-gpu-group: {group}" if group else ""
    return pod(
        name,
        f"{'nodeName: n1, ' if group else ''}{ONE_CORE}",
        f"labels: {{kai.scheduler/queue: a{label}}}, annotations: {{gpu-fraction: '{fraction}'}}",
    )


@pytest.mark.parametrize(
    ("running", "whole"),
    [
        # Both halves are of one device, so the other is idle.
        ((half("r1", "g1"), half("r2", "g1")), "n1"),
        # Two devices are open: 1 + 1 of 2, though 1/2 + 1/2 is only 1.
        (
            (half("r1", "g1"), half("r2", "g2")),
            "fits no node: 1 of 1 node has too little free nvidia.com/gpu",
        ),
    ],
)
def test_a_whole_device_is_free_only_if_nobody_shares_it(
    running: tuple[str, ...], whole: str
) -> None:
    (where,) = planned(TWO_DEVICES, *running, pod("p1", containers(ONE_GPU))).values()
    assert where == whole


def test_a_part_goes_on_a_device_that_has_it_left() -> None:
    running = (half("r1", "g1", "0.75"), half("r2", "g2", "0.75"))  # 1/4 is left of each
    assert planned(TWO_DEVICES, *running, half("p1", fraction="0.25")) == {"ns/pod/p1": "n1"}
    (why,) = planned(TWO_DEVICES, *running, half("p1", fraction="0.5")).values()
    assert why == "fits no node: 1 of 1 node lacks 1 GPU with 0.5 free"


# A share in memory


def test_a_job_counts_memory_by_the_node_where_it_runs_and_by_the_smallest_where_it_waits() -> None:
    larger = NODE.replace("n1", "n2").replace("40000", "80000")
    memory = "annotations: {pod-group-name: g, gpu-memory: '20000'}"
    group = GROUP.replace("minMember: 2", "minMember: 1")
    running, waiting = pod("r", f"nodeName: n2, {ONE_CORE}", memory), pod("w", "", memory)
    state = sound(stream(queue("a"), NODE, larger, group, running, waiting))
    (job,) = state.workloads.values()
    assert (job.name, job.min_count, job.pod_count()) == ("ns/g", 1, 2)
    assert [(each.pod_names, each.requests[2]) for each in job.pod_sets] == [
        (("r",), 250),  # 20,000 of 80,000
        (("w",), 500),  # 20,000 of 40,000, the smallest
    ]
    assert {each.gpu_share for each in job.pod_sets} == {GpuShare(memory_mib=20000)}
    assert state.sums[QueueName("a")].allocated == [1000, 0, 250]
    assert state.requested(QueueName("a")) == (2000, 0, 750)  # 250 + 500
    (placed,) = state.runs[job.name].pods.items()
    assert placed[0] == "ns/r"
    assert placed[1].share == DeviceShare(devices=(0,), part_e9=250_000_000)


def test_running_and_waiting_pods_are_alike_where_the_smallest_device_is_their_own() -> None:
    memory = "annotations: {pod-group-name: g, gpu-memory: '20000'}"
    running, waiting = pod("r", f"nodeName: n1, {ONE_CORE}", memory), pod("w", "", memory)
    state = sound(stream(queue("a"), NODE, GROUP, running, waiting))
    (found,) = workload(state, "ns/g").pod_sets
    assert (found.pod_names, found.requests[2]) == (("r", "w"), 500)
    assert state.requested(QueueName("a")) == (2000, 0, 1000)


# The order of pods in a job

ONE_AT_A_TIME = GROUP.replace("minMember: 2", "minMember: 1")
ROOM_FOR_ONE = NODE.replace("cpu: 8", "cpu: 1")


def ordered(name: str, labels: str) -> str:
    return member(name, more=f"labels: {{{labels}}}")


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ({"p1": "", "p2": "", "p3": ""}, "p1"),  # by name
        ({"p1": "1", "p2": "3", "p3": "2"}, "p2"),
        ({"p1": "", "p2": "-5", "p3": ""}, "p2"),  # any number is before none
        ({"p1": "-1", "p2": "", "p3": "0"}, "p3"),
        ({"p1": "9", "p2": "10", "p3": "+8"}, "p2"),  # numbers, not texts
    ],
)
@pytest.mark.parametrize("label", ["kai.scheduler/task-priority", "run.ai/task-priority"])
def test_the_pod_with_the_highest_number_starts_first(
    labels: dict[str, str], first: str, label: str
) -> None:
    pods = [
        ordered(name, f"{label}: '{number}'" if number else "") for name, number in labels.items()
    ]
    assembled, found = assemble(stream(queue("a"), ROOM_FOR_ONE, ONE_AT_A_TIME, *pods))
    assert assembled is not None
    assert [each for each in found if each.severity != "advice"] == []
    state = assembled.state
    job = workload(state, "ns/g")
    starts = [
        job.pod_name(placement.pod)
        for decision in make_policy(assembled.settings).plan(state, 0).decisions
        if isinstance(decision, Start)
        for placement in decision.placements
    ]
    assert starts == [first]


def test_the_order_sets_pods_apart_and_the_new_label_goes_before_the_old() -> None:
    both = "kai.scheduler/task-priority: '1', run.ai/task-priority: '2'"
    pods = [ordered("p1", both), ordered("p2", "run.ai/task-priority: '1'"), ordered("p3", "")]
    sets = workload(sound(stream(queue("a"), GROUP, *pods)), "ns/g").pod_sets
    assert [(each.pod_names, each.start_order) for each in sets] == [
        (("p1", "p2"), 1),
        (("p3",), None),
    ]


@pytest.mark.parametrize("text", ["first", "1.5", "", "9999999999999999999"])
def test_an_order_that_is_no_number_is_told_and_left_out(text: str) -> None:
    pods = [ordered("p1", f"kai.scheduler/task-priority: '{text}'"), ordered("p2", "")]
    objects = stream(queue("a"), GROUP, *pods)
    (finding,) = told(objects)
    assert (finding.severity, finding.code, finding.line) == ("warning", "wrong-type", 5)
    assert finding.path == '$.metadata.labels["kai.scheduler/task-priority"]'
    assert finding.message == f'found "{text}", expected a whole number; it is left out'
    assembled, _ = assemble(objects)
    assert assembled is not None
    (found,) = assembled.state.workloads[WorkloadName("ns/g")].pod_sets
    assert (found.pod_names, found.start_order) == (("p1", "p2"), None)


# The number of pods on a node


@pytest.mark.parametrize(
    ("pods", "waiting"),
    [
        ("", []),
        ("pods: 5, ", []),  # one of others, one reservation, one of ours, and the two that wait
        ("pods: 4, ", ["ns/pod/p2"]),
        ("pods: 3, ", ["ns/pod/p1", "ns/pod/p2"]),
    ],
)
def test_every_pod_counts_where_a_node_says_how_many_it_takes(
    pods: str, waiting: list[str]
) -> None:
    node = NODE.replace("cpu: 8", f"{pods}cpu: 8")
    other = f"{{kind: Pod, metadata: {{name: o}}, spec: {{nodeName: n1, {ONE_CORE}}}}}"
    reservation = other.replace("name: o", "name: r, namespace: kai-resource-reservation")
    finished = other.replace("name: o", "name: f").replace(
        "spec:", "status: {phase: Failed}, spec:"
    )
    running = pod("r", f"nodeName: n1, {ONE_CORE}")
    answers = planned(node, other, reservation, finished, running, pod("p1"), pod("p2"))
    assert answers == {
        job: "fits no node: 1 of 1 node has no room for another pod" if job in waiting else "n1"
        for job in ("ns/pod/p1", "ns/pod/p2")
    }


def test_a_queue_is_not_charged_for_the_number_of_its_pods() -> None:
    state = sound(stream(queue("a"), NODE, pod("r", f"nodeName: n1, {ONE_CORE}"), pod("p1")))
    assert state.resources[-1] == "pods"
    assert state.requested(QueueName("a")) == (2000, 0, 0)  # cpu, memory, gpu
    assert len(state.total()) == 3
