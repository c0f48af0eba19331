"""Which pods an owner has: how many of each role are to run now, of how many in all."""

import re

import pytest

from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.readers import OWNER_KINDS
from tests.manifest.owners.owner_texts import TEMPLATE, owner_text, pod_names, read_owner, shown
from tests.manifest.yaml_text import cursor_of, remarks

JOB = "batch/v1/Job"
TORCH = "kubeflow.org/v1/PyTorchJob"
WORKERS = "{replicas: 3, TEMPLATE}"

# kind, spec, status: what is read, as "role now/all".
READ = {
    "one pod, where nothing is said": (JOB, "TEMPLATE", "", "main 1/1"),
    "as many as run at a time": (JOB, "parallelism: 3, completions: 8, TEMPLATE", "", "main 3/3"),
    "no more than are to complete": (
        JOB,
        "parallelism: 3, completions: 2, TEMPLATE",
        "",
        "main 2/2",
    ),
    # 8 to complete, 6 did: 2 are left, although 3 may run.
    "no more than are left": (
        JOB,
        "parallelism: 3, completions: 8, TEMPLATE",
        "succeeded: 6",
        "main 2/3",
    ),
    "a work queue ends when its pods do": (JOB, "parallelism: 3, TEMPLATE", "", "main 3/3"),
    "a Job that completed": (
        JOB,
        "TEMPLATE",
        "conditions: [{type: Complete, status: 'True'}]",
        "main 1/1, finished",
    ),
    "a condition that does not hold": (
        JOB,
        "TEMPLATE",
        "conditions: [{type: Failed, status: 'False'}]",
        "main 1/1",
    ),
    "a Job with all its completions": (
        JOB,
        "completions: 2, TEMPLATE",
        "succeeded: 2",
        "main 0/1, finished",
    ),
    "a Job that waits": (JOB, "suspend: true, TEMPLATE", "", "main 1/1, suspended"),
    "a Job that runs": (JOB, "TEMPLATE", "active: 1", "main 1/1, active 1"),
    "a Job of a clock": (
        "batch/v1/CronJob",
        "schedule: '0 3 * * *', jobTemplate: {spec: {parallelism: 2, TEMPLATE}}",
        "",
        "main 2/2, scheduled",
    ),
    "a Deployment": ("apps/v1/Deployment", "replicas: 3, TEMPLATE", "", "main 3/3"),
    "a Deployment scaled to nothing": (
        "apps/v1/Deployment",
        "replicas: 0, TEMPLATE",
        "",
        "main 0/0",
    ),
    "a ReplicaSet that runs": (
        "apps/v1/ReplicaSet",
        "replicas: 2, TEMPLATE",
        "replicas: 2",
        "main 2/2, active 2",
    ),
    "a StatefulSet": ("apps/v1/StatefulSet", "TEMPLATE", "", "main 1/1"),
    "a training job, its master first": (
        TORCH,
        f"pytorchReplicaSpecs: {{Worker: {WORKERS}, Master: {{TEMPLATE}}}}",
        "",
        "master 1/1, worker 3/3",
    ),
    "a training job that waits": (
        TORCH,
        f"runPolicy: {{suspend: true}}, pytorchReplicaSpecs: {{Worker: {WORKERS}}}",
        "",
        "worker 3/3, suspended",
    ),
    "a training job that runs": (
        TORCH,
        f"pytorchReplicaSpecs: {{Worker: {WORKERS}}}",
        "replicaStatuses: {Worker: {active: 2, succeeded: 1}}",
        "worker 3/3, active 2",
    ),
    "a training job that runs, and counts no pods": (
        TORCH,
        f"pytorchReplicaSpecs: {{Worker: {WORKERS}}}",
        "conditions: [{type: Running, status: 'True'}]",
        "worker 3/3, active 1",
    ),
    "the roles of TensorFlow": (
        "kubeflow.org/v1/TFJob",
        f"tfReplicaSpecs: {{Worker: {WORKERS}, PS: {{TEMPLATE}}, Chief: {{TEMPLATE}}}}",
        "",
        "chief 1/1, ps 1/1, worker 3/3",
    ),
    "the roles of MPI": (
        "kubeflow.org/v2beta1/MPIJob",
        f"mpiReplicaSpecs: {{Worker: {WORKERS}, Launcher: {{TEMPLATE}}}}",
        "",
        "launcher 1/1, worker 3/3",
    ),
    "a Notebook": ("kubeflow.org/v1/Notebook", "TEMPLATE", "", "main 1/1"),
    # 2 replicas of 4 hosts are 8 pods; a group below its minimum is raised to it.
    "a cluster of Ray": (
        "ray.io/v1/RayCluster",
        (
            "headGroupSpec: {TEMPLATE}, workerGroupSpecs: ["
            "{groupName: big, replicas: 2, numOfHosts: 4, TEMPLATE}, "
            "{groupName: least, minReplicas: 1, TEMPLATE}, "
            "{groupName: idle, replicas: 5, suspend: true, TEMPLATE}]"
        ),
        "",
        "headgroup 1/1, big 8/8, least 1/1, idle 0/0",
    ),
    "a job of Ray": (
        "ray.io/v1/RayJob",
        "rayClusterSpec: {headGroupSpec: {TEMPLATE}}",
        "",
        "headgroup 1/1",
    ),
    "a job of Ray that ended": (
        "ray.io/v1/RayJob",
        "rayClusterSpec: {headGroupSpec: {TEMPLATE}}",
        "jobStatus: SUCCEEDED, rayClusterName: x-1",
        "headgroup 1/1, finished, active 1",
    ),
    "a service of Ray": (
        "ray.io/v1/RayService",
        "rayClusterConfig: {headGroupSpec: {TEMPLATE}}",
        "pendingServiceStatus: {rayClusterName: x-1}",
        "headgroup 1/1, active 1",
    ),
    # 2 jobs of 3 pods each, and one of one.
    "a JobSet": (
        "jobset.x-k8s.io/v1alpha2/JobSet",
        (
            "replicatedJobs: ["
            "{name: work, replicas: 2, template: {spec: {parallelism: 3, TEMPLATE}}}, "
            "{name: lead, template: {spec: {TEMPLATE}}}]"
        ),
        "",
        "work 6/6, lead 1/1",
    ),
    # 2 groups of 4: a leader and 3 workers each.
    "a LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet",
        f"replicas: 2, leaderWorkerTemplate: {{size: 4, workerTemplate: {TEMPLATE}}}",
        "",
        "leader 2/2, workers 6/6",
    ),
    "an owner without a template": (JOB, "", "", ""),
}


@pytest.mark.parametrize(("kind", "spec", "status", "expected"), READ.values(), ids=READ.keys())
def test_what_is_read_of_an_owner(kind: str, spec: str, status: str, expected: str) -> None:
    assert shown(read_owner(owner_text(kind, spec, status=status))) == expected


def test_every_kind_has_a_case() -> None:
    kinds = {kind.rpartition("/")[2] for kind, *_ in READ.values()}
    alike = {"XGBoostJob", "PaddleJob", "JAXJob"}  # as a PyTorchJob, but for the key of replicas
    assert {kind for _, kind in OWNER_KINDS} - alike == kinds


@pytest.mark.parametrize(
    ("kind", "key"), [("XGBoostJob", "xgb"), ("PaddleJob", "paddle"), ("JAXJob", "jax")]
)
def test_other_training_jobs_have_their_replicas_at_a_key_of_their_own(kind: str, key: str) -> None:
    spec = f"{key}ReplicaSpecs: {{Worker: {WORKERS}}}"
    assert shown(read_owner(owner_text(f"kubeflow.org/v1/{kind}", spec))) == "worker 3/3"


# A word of five letters stands for random ones.
NAMES = {
    "a Job": (JOB, "TEMPLATE", ["x-_____"]),
    "an indexed Job": (
        JOB,
        "completionMode: Indexed, parallelism: 2, completions: 2, TEMPLATE",
        ["x-0-_____", "x-1-_____"],
    ),
    "a Deployment": ("apps/v1/Deployment", "TEMPLATE", ["x-_____-_____"]),
    "a StatefulSet": (
        "apps/v1/StatefulSet",
        "replicas: 2, ordinals: {start: 5}, TEMPLATE",
        ["x-5", "x-6"],
    ),
    "a training job": (
        TORCH,
        f"pytorchReplicaSpecs: {{Worker: {WORKERS}, Master: {{TEMPLATE}}}}",
        ["x-master-0", "x-worker-0", "x-worker-1", "x-worker-2"],
    ),
    "a JobSet": (
        "jobset.x-k8s.io/v1alpha2/JobSet",
        "replicatedJobs: [{name: work, replicas: 2, template: {spec: {TEMPLATE}}}]",
        ["x-work-0-0-_____", "x-work-1-0-_____"],
    ),
    "a LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet",
        f"replicas: 2, leaderWorkerTemplate: {{size: 2, workerTemplate: {TEMPLATE}}}",
        ["x-0", "x-1", "x-0-1", "x-1-1"],
    ),
    "a cluster of Ray": (
        "ray.io/v1/RayCluster",
        "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: g, replicas: 1, TEMPLATE}]",
        ["x-head-_____", "x-g-worker-_____"],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), NAMES.values(), ids=NAMES.keys())
def test_made_pods_are_called_as_controllers_call_them(
    kind: str, spec: str, expected: list[str]
) -> None:
    names = pod_names(read_owner(owner_text(kind, spec)))
    random = re.compile("[bcdfghjklmnpqrstvwxz2456789]{5,10}(?=-|$)")
    assert [random.sub("_____", name) for name in names] == expected


def test_made_pods_have_the_same_names_and_uids_each_time() -> None:
    text = owner_text(JOB, "parallelism: 50, TEMPLATE")
    one, other = read_owner(text), read_owner(text)
    pods, again = list(made_pods(one, one.roles[0])), list(made_pods(other, other.roles[0]))
    assert [(pod.name, pod.identity) for pod in pods] == [(pod.name, pod.identity) for pod in again]
    assert len({pod.name for pod in pods}) == 50
    assert len({pod.identity.uid for pod in pods}) == 50


def test_no_two_pods_of_an_owner_have_one_name() -> None:
    """Of 27 ** 5 endings, 20,000 pods would get some 14 twice."""
    owner = read_owner(owner_text("apps/v1/Deployment", "replicas: 20000, TEMPLATE"))
    assert len(set(pod_names(owner))) == 20_000


def test_a_made_pod_is_of_its_template_and_names_its_owner() -> None:
    owner = read_owner(
        owner_text(
            JOB,
            "completionMode: Indexed, template: {metadata: {labels: {a: b}, annotations: {c: d}}, "
            "spec: {schedulerName: own, priorityClassName: high, containers: "
            "[{name: c, resources: {requests: {cpu: 2}}}]}}",
            metadata="uid: u-1, creationTimestamp: '1970-01-01T00:00:07Z'",
        )
    )
    (pod,) = made_pods(owner, owner.roles[0])
    assert (pod.phase, pod.node, pod.created_ms) == ("Pending", None, 7000)
    assert (pod.scheduler, pod.priority_class) == ("own", "high")
    assert pod.requests == {"cpu": 2000, "pods": 1}
    assert pod.annotations == {"c": "d"}
    assert pod.labels == {
        "a": "b",
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    (reference,) = pod.identity.owners
    assert (reference.kind, reference.name, reference.uid) == ("Job", "x", "u-1")
    assert pod.source.path_text(("spec",)) == "$.spec.template.spec"


def test_a_mistake_in_a_template_is_found_at_its_place() -> None:
    spec = "template: {spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}}"
    cursor, findings = cursor_of(owner_text(JOB, spec))
    OWNER_KINDS["batch", "Job"].read(cursor)
    place = "$.spec.template.spec.containers[0].resources.requests.cpu"
    assert remarks(findings) == [f"error bad-quantity {place}"]


def test_more_least_replicas_than_wanted_are_doubtful() -> None:
    group = "{groupName: g, replicas: 1, minReplicas: 2, TEMPLATE}"
    text = owner_text("ray.io/v1/RayCluster", f"workerGroupSpecs: [{group}]")
    cursor, findings = cursor_of(text)
    OWNER_KINDS["ray.io", "RayCluster"].read(cursor)
    assert remarks(findings) == ["warning contradiction $.spec.workerGroupSpecs[0].minReplicas"]


def test_what_an_owner_says_of_a_gang() -> None:
    owner = read_owner(
        owner_text(
            TORCH,
            f"runPolicy: {{schedulingPolicy: {{minAvailable: 2, priorityClass: high}}}}, "
            f"elasticPolicy: {{minReplicas: 1}}, pytorchReplicaSpecs: {{Worker: {WORKERS}}}",
        )
    )
    assert (owner.gang.min_available, owner.gang.priority_class) == (2, "high")
    spec = f"elasticPolicy: {{minReplicas: 1}}, pytorchReplicaSpecs: {{Worker: {WORKERS}}}"
    assert read_owner(owner_text(TORCH, spec)).gang.min_available == 1
