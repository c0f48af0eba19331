"""Owners become the Workloads that Kueue would make of them, where there are none yet."""

import pytest

from fairlead.manifest.kueue.jobs.names import MAX_PREFIX, workload_name
from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from tests.manifest.owners.owner_texts import owner_text
from tests.manifest.test_assemble_kueue import (
    assemble,
    cluster_queue,
    documents_of,
    head,
    sound,
)

UID = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("kind", "group", "name", "generation", "expected"),
    [
        ("Job", "batch", "my-job", None, "job-my-job-80d69"),
        ("Job", "batch", "my-job", 3, "job-my-job-c5a2d"),
        ("Pod", "", "my-pod", None, "pod-my-pod-614c2"),
        ("StatefulSet", "apps", "sts", None, "statefulset-sts-bfc32"),
    ],
)
def test_the_name_is_that_of_kueue(
    kind: str, group: str, name: str, generation: int | None, expected: str
) -> None:
    """Names that Kueue gave for this uid."""
    assert workload_name(kind, group, name, UID, generation) == expected


def test_a_long_name_is_cut_and_the_hash_stays() -> None:
    long, longer = "a" * 250, "a" * 251
    names = [workload_name("Job", "batch", each, UID) for each in (long, longer)]
    assert [len(each) for each in names] == [MAX_PREFIX + 6] * 2
    assert names[0] != names[1]


QUEUE = "labels: {kueue.x-k8s.io/queue-name: jobs}"
QUEUES = (
    cluster_queue("a", quota="cpu: f 100"),
    head("LocalQueue", "jobs", "lab") + "spec: {clusterQueue: a}\n",
)


def job(spec: str = "TEMPLATE", **more: str) -> str:
    return owner_text("batch/v1/Job", spec, **{"metadata": QUEUE, **more})


def made(*texts: str) -> ClusterState:
    return sound(*QUEUES, *texts)


def only(state: ClusterState) -> Workload:
    (workload,) = state.workloads.values()
    return workload


def shown(workload: Workload) -> str:
    """Return the pod sets, each with its count, its least if that is less, and its CPUs."""
    sets = []
    for each in workload.pod_sets:
        least = "" if each.min_count == each.count else f"{each.min_count}-"
        sets.append(f"{each.name} {least}{each.count}x{max(each.requests) // 1000}")
    return ", ".join(sets)


def replicas(count: int, cpu: int) -> str:
    containers = f"[{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    return f"{{replicas: {count}, template: {{spec: {{containers: {containers}}}}}}}"


def jobs(name: str, count: int, parallelism: int) -> str:
    spec = f"{{parallelism: {parallelism}, TEMPLATE}}"
    return f"{{name: {name}, replicas: {count}, template: {{spec: {spec}}}}}"


LWS = "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"
WORKER = "{spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}"
KINDS = {
    "a Job": ("batch/v1/Job", "parallelism: 3, TEMPLATE", ["main 3x2"]),
    "a Job that waits, as most do": ("batch/v1/Job", "suspend: true, TEMPLATE", ["main 1x2"]),
    "fewer completions": (
        "batch/v1/Job",
        "parallelism: 3, completions: 2, TEMPLATE",
        ["main 2x2"],
    ),
    "a JobSet": (
        "jobset.x-k8s.io/v1alpha2/JobSet",
        f"replicatedJobs: [{jobs('driver', 1, 1)}, {jobs('workers', 2, 3)}]",
        ["driver 1x2, workers 6x2"],  # 2 jobs of 3 pods
    ),
    "a PyTorchJob": (
        "kubeflow.org/v1/PyTorchJob",
        (
            "runPolicy: {suspend: true}, pytorchReplicaSpecs: "
            f"{{Worker: {replicas(4, 3)}, Master: {replicas(1, 2)}}}"
        ),
        ["master 1x2, worker 4x3"],
    ),
    "a RayCluster": (
        "ray.io/v1/RayCluster",
        (
            "headGroupSpec: {TEMPLATE}, workerGroupSpecs: "
            "[{groupName: gpu, replicas: 2, minReplicas: 1, TEMPLATE}]"
        ),
        ["head 1x2, gpu 2x2"],
    ),
    "a StatefulSet": ("apps/v1/StatefulSet", "replicas: 3, TEMPLATE", ["main 3x2"]),
    "each pod of a Deployment": (
        "apps/v1/Deployment",
        "replicas: 2, TEMPLATE",
        ["main 1x2", "main 1x2"],
    ),
    "each group of a LeaderWorkerSet": (
        LWS,
        f"replicas: 2, leaderWorkerTemplate: {{size: 3, workerTemplate: {WORKER}}}",
        ["main 3x3", "main 3x3"],
    ),
    "with a template for the leader": (
        LWS,
        (
            "replicas: 1, leaderWorkerTemplate: {size: 3, leaderTemplate: "
            f"{WORKER.replace('cpu: 3', 'cpu: 1')}, workerTemplate: {WORKER}}}"
        ),
        ["leader 1x1, workers 2x3"],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), KINDS.values(), ids=KINDS)
def test_each_kind_has_its_pod_sets(kind: str, spec: str, expected: list[str]) -> None:
    written = spec.replace("{TEMPLATE}", "{template: " + WORKER.replace("3", "2") + "}")
    state = made(owner_text(kind, written, metadata=QUEUE))
    assert [shown(each) for each in state.workloads.values()] == expected
    assert {each.queue for each in state.workloads.values()} == {"a"}
    assert not state.runs


def test_a_job_may_be_admitted_with_fewer_pods() -> None:
    annotated = f"{QUEUE}, annotations: {{kueue.x-k8s.io/job-min-parallelism: '2'}}"
    assert shown(only(made(job("parallelism: 4, TEMPLATE", metadata=annotated)))) == "main 2-4x2"
    too_many = annotated.replace("'2'", "'4'")
    assert shown(only(made(job("parallelism: 4, TEMPLATE", metadata=too_many)))) == "main 4x2"


def test_what_names_no_queue_is_left_alone_with_advice() -> None:
    state = [*QUEUES, job(metadata="")]
    assembled, told = assemble(documents_of(*state))
    assert assembled is not None
    assert not assembled.state.workloads
    assert "advice left-alone $.metadata.labels" in told


def test_a_new_object_gets_the_queue_called_default() -> None:
    default = head("LocalQueue", "default", "lab") + "spec: {clusterQueue: a}\n"
    assert only(sound(*QUEUES, default, job(metadata=""))).queue == "a"
    _, told = assemble(documents_of(*QUEUES, default, job(metadata=f"uid: {UID}")))
    assert "advice left-alone $.metadata.labels" in told  # Kueue saw it, and left it alone


CLASS = head("WorkloadPriorityClass", "high") + "value: 100\n"
POD_CLASS = (
    "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: batch}\nvalue: 7\n"
)
IN_PODS = "spec: {priorityClassName: batch, "
PRIORITIES = {
    "of its label": (", kueue.x-k8s.io/priority-class: high", "spec: {", "", 100),
    "of its pods": ("", IN_PODS, "", 7),
    "of the cluster": ("", "spec: {", "globalDefault: true\n", 7),
    "none": ("", "spec: {", "", 0),
}


@pytest.mark.parametrize(("label", "pods", "more", "expected"), PRIORITIES.values(), ids=PRIORITIES)
def test_its_priority_is_that(label: str, pods: str, more: str, expected: int) -> None:
    text = job("TEMPLATE", metadata=QUEUE.replace("jobs", f"jobs{label}"))
    text = text.replace("spec: {containers", f"{pods}containers")
    assert only(made(CLASS, POD_CLASS + more, text)).priority == expected


HERE = f"{QUEUE}, uid: {UID}"


def of_job(kind: str, spec: str, status: str = "") -> str:
    return (
        f"apiVersion: {'v1' if kind == 'Pod' else 'kueue.x-k8s.io/v1beta2'}\nkind: {kind}\n"
        "metadata:\n  name: any\n  namespace: lab\n"
        f"  ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: x, uid: {UID}, "
        f"controller: true}}]\nspec: {spec}\nstatus: {status or '{}'}\n"
    )


def test_a_workload_that_is_there_counts_instead() -> None:
    spec = "{queueName: jobs, podSets: [{count: 1, template: {spec: {containers: [{name: c}]}}}]}"
    state = made(job(metadata=HERE), of_job("Workload", spec))
    assert list(state.workloads) == [WorkloadName("lab/any")]


MISSING = {
    "its status counts pods": [job(metadata=HERE, status="active: 1")],
    "it has a pod": [job(metadata=HERE), of_job("Pod", "{containers: [{name: c}]}")],
}


@pytest.mark.parametrize("texts", MISSING.values(), ids=MISSING)
def test_a_job_with_pods_and_without_its_workload_is_a_finding(texts: list[str]) -> None:
    assembled, told = assemble(documents_of(*QUEUES, *texts))
    assert assembled is not None
    assert not assembled.state.workloads
    assert "warning pods-missing $.status" in told


NOTHING = {
    "finished": job(status="conditions: [{type: Complete, status: 'True'}]"),
    "scaled to 0": owner_text("apps/v1/StatefulSet", "replicas: 0, TEMPLATE", metadata=QUEUE),
    "prebuilt": job(metadata=QUEUE[:-1] + ", kueue.x-k8s.io/prebuilt-workload-name: other}"),
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_nothing_is_made_of_it(text: str) -> None:
    assert not made(text).workloads


def test_what_an_owner_with_a_queue_makes_is_part_of_it() -> None:
    job_set = owner_text(
        "jobset.x-k8s.io/v1alpha2/JobSet",
        f"replicatedJobs: [{jobs('w', 1, 1)}]",
        metadata=f"{QUEUE}, uid: {UID}",
        name="above",
    )
    reference = f"[{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: above, uid: {UID}}}]"
    child = job(metadata=f"{QUEUE}, ownerReferences: {reference}")
    (name,) = made(job_set, child).workloads
    assert name.startswith("lab/jobset-above-")


def test_a_framework_that_is_switched_off_is_left_alone() -> None:
    configuration = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "integrations: {frameworks: [pod]}\n"
    )
    _, told = assemble(documents_of(*QUEUES, job(), configuration))
    assert "advice left-alone $.metadata.labels" in told
    assert only(made(job(), configuration.replace("[pod]", "[batch/job]"))).pod_count() == 1


def test_its_time_and_its_local_queue_come_from_labels() -> None:
    text = job(metadata=QUEUE[:-1] + ", kueue.x-k8s.io/max-exec-time-seconds: '60'}")
    assert only(made(text)).extension == KueueWorkload(local_queue="jobs", max_execution_s=60)
