"""Which pods form a KAI job, where its pods run, and who else takes space."""

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.memory import KaiMemory
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, SubGroup
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
    workload,
)

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
    assert state.resources == ("cpu", "memory", "nvidia.com/gpu", "pods")
    assert found.pod_sets[0].requests == (2000, 2**30, 0, 1)
    # what waits: big 2 cores, w1 and w2 one core each; the gated and the finished pod nothing
    assert state.requested(QueueName("a")) == (4000, 2**30, 0)


def test_a_pod_names_its_group_in_a_label_too_but_only_in_its_own_namespace() -> None:
    labelled = pod("x", metadata="labels: {pod-group-name: g}")
    state = sound(stream(queue("a"), GROUP, labelled, member("second")))
    assert workload(state, "ns/g").pod_sets[0].pod_names == ("second", "x")
    elsewhere = labelled.replace("namespace: ns", "namespace: other")
    assembled, found = assemble(stream(queue("a"), queue("default-queue"), GROUP, elsewhere))
    assert assembled is not None
    assert sorted(assembled.state.workloads) == ["other/pod/x"]
    assert sorted(each.code for each in found) == ["missing-reference", "missing-reference"]


def test_a_pod_of_kai_without_a_group_is_a_workload_of_its_own() -> None:
    state = sound(stream(queue("a"), pod("x"), pod("second", metadata="labels: {runai/queue: a}")))
    assert sorted(state.workloads) == ["ns/pod/second", "ns/pod/x"]
    found = workload(state, "ns/pod/x")
    assert (found.queue, found.min_count, found.priority, found.preemptible) == ("a", 1, 50, True)


def test_a_pod_without_a_queue_goes_to_kais_default_queue() -> None:
    state = sound(stream(queue("default-queue"), pod("x", metadata="labels: {}")))
    assert workload(state, "ns/pod/x").queue == "default-queue"


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([pod("g")], ["ns/pod/g"]),
        ([GROUP, member("x")], ["ns/g"]),
        ([GROUP, member("x"), pod("g")], ["ns/g", "ns/pod/g"]),
    ],
)
def test_a_job_keeps_its_name_whatever_else_has_it(objects: list[str], names: list[str]) -> None:
    state = sound(stream(queue("a"), *objects))
    assert sorted(state.workloads) == names


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


def test_how_many_sub_groups_must_start_is_kept() -> None:
    three = "subGroups: [{name: b, minMember: 4}, {name: c, minMember: 1}, {name: d}]"
    group = GROUP.replace("minMember: 2", f"minSubGroup: 2, {three}")
    found = workload(sound(stream(queue("a"), group, member("x"))), "ns/g")
    assert isinstance(found.extension, KaiJob)
    assert found.extension.min_sub_group == 2
    assert found.min_count == 2  # the cheapest two of 4, 1 and 1


def test_labels_make_no_pods_different_and_a_set_has_those_that_all_share() -> None:
    labels = "labels: {app: train, index: '%d', zone: %s}"
    pods = [
        member("w0", more=labels % (0, "a")),
        member("w1", more=labels % (1, "a")),
        member("big", containers("{cpu: 2}"), labels % (2, "b")),
    ]
    big, small = workload(sound(stream(queue("a"), GROUP, *pods)), "ns/g").pod_sets
    assert small.pod_names == ("w0", "w1")
    assert small.labels == (("app", "train"), ("zone", "a"))
    assert big.labels == (("app", "train"), ("index", "2"), ("zone", "b"))


def test_a_pod_with_an_unknown_sub_group_counts_as_one_in_none() -> None:
    group = GROUP.replace("minMember: 2", "subGroups: [{name: head}]")
    stray = member("x", more="labels: {kai.scheduler/subgroup-name: heat}")
    assembled, (finding,) = assemble(stream(queue("a"), group, stray))
    assert assembled is not None
    assert workload(assembled.state, "ns/g").pod_sets[0].sub_group == ""
    assert finding.code == "missing-reference"
    assert finding.message == (
        'found the sub-group "heat", which its PodGroup does not list; '
        "the pod counts as one in no sub-group"
    )


@pytest.mark.parametrize(
    ("minimum", "is_one_outside", "told_of"),
    [
        (3, False, False),  # 1 + 2 is what the sub-groups need
        (7, False, True),
        (2, False, True),
        (7, True, False),  # 3 in sub-groups, and 4 that are in none
        (2, True, True),
    ],
)
def test_a_minimum_beside_sub_groups_that_need_another_is_told(
    minimum: int, is_one_outside: bool, told_of: bool
) -> None:
    sub_groups = "subGroups: [{name: head, minMember: 1}, {name: work, minMember: 2}]"
    group = GROUP.replace("minMember: 2", f"minMember: {minimum}, {sub_groups}")
    pods = [member("h", more="labels: {kai.scheduler/subgroup-name: head}")]
    if is_one_outside:
        pods.append(member("x"))
    assembled, found = assemble(stream(queue("a"), group, *pods))
    assert assembled is not None
    message = f"found the number {minimum}, but the sub-groups need 3; "
    message += "the job starts with what they need"
    expected = [("warning", "contradiction", "$.spec.minMember", message)] if told_of else []
    assert [(each.severity, each.code, each.path, each.message) for each in found] == expected


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
        workload(state, "ns/g").pod_name(each): (at.node, at.phase == "leaving")
        for each, at in run.pods.items()
    }
    assert placed == {"r": ("n1", False), "s": ("n1", True)}
    assert workload(state, "ns/g").pod_sets[0].pod_names == ("r", "s", "t")  # u never got a place
    assert run.started_ms() == 0  # s has no start time, but it was created at 0
    assert state.books.held("n1")[0] == 2000
    assert state.sums[QueueName("a")].allocated[0] == 1000
    assert state.sums[QueueName("a")].pending[0] == 1000


def test_a_pod_that_runs_nobody_knows_where_counts_as_waiting() -> None:
    odd = pod("x", status="phase: Running")
    assembled, found = assemble(stream(queue("a"), NODE, odd))
    assert assembled is not None
    assert [each.message.partition("; ")[2] for each in found] == ["it counts as waiting"]
    assert state_sums(assembled.state) == (0, 1000)


def state_sums(state: ClusterState) -> tuple[int, int]:
    """Return what the queue a has, and what waits in it, in millicores."""
    own = state.sums[QueueName("a")]
    return own.allocated[0], own.pending[0]


def test_the_groups_own_start_time_counts_before_that_of_its_pods() -> None:
    started = 'annotations: {kai.scheduler/last-start-timestamp: "1970-01-01T00:01:00Z"}'
    group = GROUP.replace("namespace: ns", f"namespace: ns, {started}")
    state = sound(stream(queue("a"), group, member("r", f"nodeName: n1, {ONE_CORE}"), NODE))
    assert state.runs[WorkloadName("ns/g")].started_ms() == 60_000


def test_a_job_knows_since_when_it_is_stale() -> None:
    stale = 'annotations: {kai.scheduler/stale-podgroup-timestamp: "1970-01-01T00:01:00Z"}'
    marked = GROUP.replace("namespace: ns", f"namespace: ns, {stale}")
    for group, since_ms in ((GROUP, None), (marked, 60_000)):
        state = sound(stream(queue("a"), group, member("r", f"nodeName: n1, {ONE_CORE}"), NODE))
        memory = KaiMemory(stale_since_ms=since_ms) if since_ms else None
        assert state.memories.get(WorkloadName("ns/g")) == memory


def test_a_job_knows_whether_a_pod_of_it_has_succeeded() -> None:
    for phase, expected in (("Succeeded", True), ("Failed", False), ("Running", False)):
        ended = member("x", f"nodeName: n1, {ONE_CORE}").replace(
            "status: {}", f"status: {{phase: {phase}}}"
        )
        state = sound(stream(queue("a"), GROUP, member("w"), ended, NODE))
        job = workload(state, "ns/g").extension
        assert isinstance(job, KaiJob)
        assert job.has_succeeded_pods is expected


def test_other_schedulers_pods_take_space_and_reservations_a_device_and_the_place_of_a_pod() -> (
    None
):
    """Of a reservation, the device counts that it keeps for somebody, but not its cpu."""
    gpu = f"nodeName: n1, {containers('{cpu: 1, nvidia.com/gpu: 1}')}"
    other = f"{{kind: Pod, metadata: {{name: o}}, spec: {{{gpu}}}}}"
    finished = other.replace("name: o", "name: f").replace(
        "spec:", "status: {phase: Failed}, spec:"
    )
    reservation = other.replace("name: o", "name: r, namespace: kai-resource-reservation")
    ten_pods = NODE.replace("cpu: 8", "cpu: 8, pods: 10")
    state = sound(stream(queue("a"), ten_pods, other, finished, reservation))
    assert state.workloads == {}
    assert state.books.occupied("n1").held == (1000, 0, 2000, 2)
    assert tuple(state.capacity) == (7000, 32 * 2**30, 2000, 8)


@pytest.mark.parametrize(
    ("scheduler", "shown"),
    [("default-scheduler", "default-scheduler"), ("''", "default-scheduler"), ("my-kai", "my-kai")],
)
def test_a_pod_of_another_scheduler_is_no_job_though_it_has_a_queue(
    scheduler: str, shown: str
) -> None:
    waiting = pod("x").replace("kai-scheduler,", f"{scheduler},")
    running = waiting.replace("name: x", "name: runs").replace("spec: {", "spec: {nodeName: n1, ")
    done = running.replace("name: runs", "name: done").replace(
        "status: {", "status: {phase: Failed"
    )
    assembled, found = assemble(stream(queue("a"), NODE, waiting, running, done))
    assert assembled is not None
    assert assembled.state.workloads == {}
    assert assembled.state.books.occupied("n1").held[0] == 1000
    assert [(each.severity, each.code, each.line) for each in found] == [
        ("warning", "no-effect", 8),  # by name: runs, then x
        ("warning", "no-effect", 6),
    ]
    assert found[0].message == (
        f'found the queue "a" on a pod of the scheduler "{shown}"; '
        "KAI's is kai-scheduler, so the pod is not a job and only occupies its node"
    )
    assert found[0].path == '$.metadata.labels["kai.scheduler/queue"]'


def test_a_pod_of_another_scheduler_that_names_a_group_belongs_to_it() -> None:
    other = member("x").replace("kai-scheduler", "my-kai")
    assert list(sound(stream(queue("a"), GROUP, other)).workloads) == ["ns/g"]


def test_a_pod_of_others_that_is_leaving_holds_its_room_until_it_is_gone() -> None:
    leaving = f"""{{kind: Pod, metadata: {{name: o, deletionTimestamp: "2026-01-01T00:00:00Z"}},
      spec: {{nodeName: n1, {ONE_CORE}}}}}"""
    state = sound(stream(queue("a"), NODE, leaving))
    occupied = state.books.occupied("n1")
    assert (occupied.held[0], occupied.leaving[0]) == (1000, 1000)


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
