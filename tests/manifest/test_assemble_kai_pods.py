"""What KAI's pods are charged for part of a GPU, and how important they are."""

import pytest

from fairlead.model.axes import QueueName
from fairlead.model.workload import GpuShare
from tests.manifest.kai_world import (
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
    workload,
)

# Shares of GPUs


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
    found = workload(state, "ns/pod/x").pod_sets[0]
    assert found.gpu_share == share
    assert found.requests == (1000, 0, amount, 1)
    assert state.requested(QueueName("a")) == (1000, 0, amount)


@pytest.mark.parametrize(
    ("fraction", "kept"), [("0.335", 340), ("0.334", 330), ("0.3149", 310), ("0.996", 1000)]
)
def test_a_finer_share_is_rounded_once_to_the_nearest_hundredth(fraction: str, kept: int) -> None:
    assembled, found = assemble(stream(queue("a"), NODE, annotated(f'gpu-fraction: "{fraction}"')))
    assert assembled is not None
    assert workload(assembled.state, "ns/pod/x").pod_sets[0].requests[2] == kept
    assert {each.code for each in found} == {"rounded"}


def test_memory_counts_of_the_smallest_device_while_waiting_and_of_its_own_once_placed() -> None:
    larger = NODE.replace("n1", "n2").replace("40000", "80000")
    waiting = annotated('gpu-memory: "20000"')
    running = waiting.replace("name: x", "name: second").replace(
        "schedulerName:", "nodeName: n2, schedulerName:"
    )
    state = sound(stream(queue("a"), NODE, larger, waiting, running))
    assert workload(state, "ns/pod/x").pod_sets[0].requests[2] == 500  # 20000 of 40000
    assert workload(state, "ns/pod/second").pod_sets[0].requests[2] == 250  # 20000 of 80000


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
    assert workload(sound(stream(queue("a"), text)), "ns/pod/x").priority == priority


UNKNOWN = GROUP.replace("queue: a", "queue: a, priorityClassName: trian")


def test_an_unknown_class_is_told_with_the_known_ones_and_the_default_counts() -> None:
    assembled, found = assemble(stream(queue("a"), UNKNOWN, member("x")))
    assert assembled is not None
    assert workload(assembled.state, "ns/g").priority == 50  # train
    (finding,) = found
    assert (finding.severity, finding.code) == ("warning", "missing-reference")
    assert finding.path == "$.spec.priorityClassName"
    assert "build, build-preemptible, inference" in finding.message
    assert finding.message.endswith("the priority is 50, as without a class")
    assert finding.fix == 'did you mean "train"?'
    usual = "{kind: PriorityClass, metadata: {name: usual}, value: 60, globalDefault: true}"
    assembled, found = assemble(stream(queue("a"), UNKNOWN, member("x"), usual))
    assert assembled is not None
    assert workload(assembled.state, "ns/g").priority == 60
    assert "the priority is 60" in found[0].message


def test_an_unknown_class_has_the_highest_number_that_its_pods_say() -> None:
    pods = [
        member("none", f"priority: 0, {ONE_CORE}"),  # every pod without a class has 0 there
        member("low", f"priorityClassName: trian, priority: -7, {ONE_CORE}"),
        member("high", f"priorityClassName: trian, priority: -3, {ONE_CORE}"),
    ]
    assert workload(sound(stream(queue("a"), UNKNOWN, *pods)), "ns/g").priority == -3


def test_what_a_job_says_of_its_preemptibility_overrides_its_priority() -> None:
    build = "queue: a, priorityClassName: build, preemptibility: preemptible"
    group = GROUP.replace("queue: a", build)
    assert workload(sound(stream(queue("a"), group, member("x"))), "ns/g").preemptible
    labels = "labels: {kai.scheduler/queue: a, kai.scheduler/preemptibility: non-preemptible}"
    text = stream(queue("a"), pod("x", metadata=labels))
    assert not workload(sound(text), "ns/pod/x").preemptible
    odd = text.replace("non-preemptible", "perhaps")
    assert codes(odd) == ["warning bad-choice 3"]
