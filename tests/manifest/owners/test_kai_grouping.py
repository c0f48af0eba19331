"""The PodGroups that KAI's pod grouper would make of owners: names, minimums, classes, parts."""

import pytest

from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.kai.grouping.grouping import Grouper
from fairlead.manifest.kai.objects import USUAL_NAMES, KaiPodGroupObject
from tests.manifest.owners.owner_texts import TEMPLATE, owner_text, read_owner

CLASSES = frozenset({"train", "build", "inference", "high", "low"})
WORKERS = "{replicas: 3, TEMPLATE}"
JOB = "batch/v1/Job"
TORCH = "kubeflow.org/v1/PyTorchJob"
RAY = "ray.io/v1/RayCluster"
JOB_SET = "jobset.x-k8s.io/v1alpha2/JobSet"
LWS = "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"


def grouped(owner: OwnerObject, *above: OwnerObject) -> list[object]:
    pods = [pod for role in owner.roles for pod in made_pods(owner, role)]
    return list(Grouper(USUAL_NAMES, CLASSES).grouped(pods, [owner, *above]))


def groups_of(owner: OwnerObject, *above: OwnerObject) -> list[KaiPodGroupObject]:
    return [each for each in grouped(owner, *above) if isinstance(each, KaiPodGroupObject)]


def pods_of(owner: OwnerObject) -> list[PodObject]:
    return [each for each in grouped(owner) if isinstance(each, PodObject)]


def shown(group: KaiPodGroupObject) -> str:
    parts = " ".join(f"{each.name}:{each.min_member}" for each in group.sub_groups)
    return f"{group.name} {group.min_member} {group.priority_class}" + (
        f" [{parts}]" if parts else ""
    )


# kind, spec: the groups, each as "name minimum class [part:minimum ...]".
GROUPS = {
    "a Job is one group, of which each pod may start": (
        JOB,
        "parallelism: 3, TEMPLATE",
        ["pg-x-u 1 train"],
    ),
    "a StatefulSet": ("apps/v1/StatefulSet", "replicas: 3, TEMPLATE", ["pg-x-u 1 train"]),
    "a ReplicaSet": ("apps/v1/ReplicaSet", "replicas: 3, TEMPLATE", ["pg-x-u 1 train"]),
    "a Notebook builds": ("kubeflow.org/v1/Notebook", "TEMPLATE", ["pg-x-u 1 build"]),
    # 1 + 3 pods; the workers' part is what is left: 4 - 1.
    "a PyTorchJob starts as a whole": (
        TORCH,
        f"pytorchReplicaSpecs: {{Master: {{TEMPLATE}}, Worker: {WORKERS}}}",
        ["pg-x-u 4 train [master:1 worker:3]"],
    ),
    "a minimum that is said counts": (
        TORCH,
        (
            "runPolicy: {schedulingPolicy: {minAvailable: 2}}, "
            f"pytorchReplicaSpecs: {{Master: {{TEMPLATE}}, Worker: {WORKERS}}}"
        ),
        ["pg-x-u 2 train [master:1 worker:1]"],
    ),
    "an elastic job starts with its least": (
        TORCH,
        f"elasticPolicy: {{minReplicas: 2}}, pytorchReplicaSpecs: {{Worker: {WORKERS}}}",
        ["pg-x-u 2 train [worker:2]"],
    ),
    "a TFJob has no parts": (
        "kubeflow.org/v1/TFJob",
        f"tfReplicaSpecs: {{Chief: {{TEMPLATE}}, Worker: {WORKERS}}}",
        ["pg-x-u 4 train"],
    ),
    "an MPIJob": (
        "kubeflow.org/v2beta1/MPIJob",
        f"mpiReplicaSpecs: {{Launcher: {{TEMPLATE}}, Worker: {WORKERS}}}",
        ["pg-x-u 4 train"],
    ),
    # 4 pods less the launcher, which is made when the workers are ready.
    "an MPIJob whose launcher comes later": (
        "kubeflow.org/v2beta1/MPIJob",
        (
            "launcherCreationPolicy: WaitForWorkersReady, "
            f"mpiReplicaSpecs: {{Launcher: {{TEMPLATE}}, Worker: {WORKERS}}}"
        ),
        ["pg-x-u 3 train"],
    ),
    # The head, 1 of 2 replicas x 2 hosts, and none of a group that is suspended: 1 + 2.
    "a RayCluster starts with its least": (
        RAY,
        (
            "headGroupSpec: {TEMPLATE}, workerGroupSpecs: ["
            "{groupName: big, replicas: 2, minReplicas: 1, numOfHosts: 2, TEMPLATE}, "
            "{groupName: idle, replicas: 5, suspend: true, TEMPLATE}]"
        ),
        ["pg-x-u 3 train [headgroup:1 big:2]"],
    ),
    "a RayJob is grouped as its cluster is": (
        "ray.io/v1/RayJob",
        "rayClusterSpec: {headGroupSpec: {TEMPLATE}}",
        ["pg-x-u 1 train [headgroup:1]"],
    ),
    # 2 jobs of 3 pods; 1 job of 1.
    "a JobSet has a group for each replicated job": (
        JOB_SET,
        (
            "replicatedJobs: ["
            "{name: work, replicas: 2, template: {spec: {parallelism: 3, TEMPLATE}}}, "
            "{name: lead, template: {spec: {TEMPLATE}}}]"
        ),
        ["pg-x-u-work 6 train", "pg-x-u-lead 1 train"],
    ),
    "a JobSet in any order is one group": (
        JOB_SET,
        (
            "startupPolicy: {startupPolicyOrder: AnyOrder}, replicatedJobs: ["
            "{name: work, replicas: 2, template: {spec: {parallelism: 3, TEMPLATE}}}, "
            "{name: lead, template: {spec: {TEMPLATE}}}]"
        ),
        ["pg-x-u 7 train"],
    ),
    "a JobSet in order has the pods of its first job": (
        JOB_SET,
        (
            "startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: ["
            "{name: lead, template: {spec: {TEMPLATE}}}, "
            "{name: work, template: {spec: {TEMPLATE}}}]"
        ),
        ["pg-x-u-lead 1 train"],
    ),
    "a LeaderWorkerSet has a group for each replica": (
        LWS,
        f"replicas: 2, leaderWorkerTemplate: {{size: 4, workerTemplate: {TEMPLATE}}}",
        [
            "pg-x-u-group-0 4 train [leader:1 workers:3]",
            "pg-x-u-group-1 4 train [leader:1 workers:3]",
        ],
    ),
    "workers that wait for their leader are not awaited": (
        LWS,
        (
            "startupPolicy: LeaderReady, "
            f"leaderWorkerTemplate: {{size: 4, workerTemplate: {TEMPLATE}}}"
        ),
        ["pg-x-u-group-0 1 train"],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), GROUPS.values(), ids=GROUPS.keys())
def test_the_groups_of_an_owner(kind: str, spec: str, expected: list[str]) -> None:
    owner = read_owner(owner_text(kind, spec, metadata="uid: u"))
    assert [shown(each) for each in groups_of(owner)] == expected
    names = {each.name for each in groups_of(owner)}
    assert {pod.annotations["pod-group-name"] for pod in pods_of(owner)} == names


def test_each_pod_of_a_deployment_is_a_group_of_its_own() -> None:
    owner = read_owner(owner_text("apps/v1/Deployment", "replicas: 2, TEMPLATE"))
    pods = pods_of(owner)
    assert [shown(each) for each in groups_of(owner)] == [
        f"pg-{pod.name}-{pod.identity.uid} 1 inference" for pod in pods
    ]
    assert [each.identity.owners[0].kind for each in groups_of(owner)] == ["Pod", "Pod"]


def test_a_deployment_decides_for_its_replica_set() -> None:
    above = read_owner(
        owner_text("apps/v1/Deployment", "TEMPLATE", metadata="labels: {kai.scheduler/queue: q}")
    )
    owner = read_owner(owner_text("apps/v1/ReplicaSet", "TEMPLATE"))
    (group,) = groups_of(owner, above)
    assert group.priority_class == "inference"
    assert USUAL_NAMES.labelled_queue(group.labels)[0] == "q"


def test_a_job_of_a_cron_job_is_grouped_by_itself() -> None:
    cron = read_owner(
        owner_text("batch/v1/CronJob", "jobTemplate: {spec: {TEMPLATE}}", name="nightly")
    )
    job = read_owner(owner_text(JOB, "TEMPLATE", name="nightly-1", metadata="uid: u"))
    assert [shown(each) for each in groups_of(job, cron)] == ["pg-nightly-1-u 1 train"]


def test_a_job_may_ask_for_several_pods_at_once() -> None:
    metadata = "uid: u, annotations: {kai.scheduler/batch-min-member: '%s'}"
    for text, least in (("3", 3), ("0", 1), ("many", 1)):
        owner = read_owner(owner_text(JOB, "parallelism: 4, TEMPLATE", metadata=metadata % text))
        assert groups_of(owner)[0].min_member == least


def test_pods_are_told_their_part() -> None:
    spec = f"pytorchReplicaSpecs: {{Master: {{TEMPLATE}}, Worker: {WORKERS}}}"
    parts = [
        pod.labels["kai.scheduler/subgroup-name"]
        for pod in pods_of(read_owner(owner_text(TORCH, spec)))
    ]
    assert parts == ["master", "worker", "worker", "worker"]


# labels of the owner, labels of the pod: the queue, and the label that names it.
QUEUES = {
    "that of the owner comes first": ("kai.scheduler/queue: a", "kai.scheduler/queue: b", "a"),
    "then that of the pod": ("", "kai.scheduler/queue: b", "b"),
    "then the project": ("project: p", "", "p"),
    "the project of the pod": ("", "project: p", "p"),
    "a project has a queue in each pool": ("project: p", "kai.scheduler/node-pool: fast", "p-fast"),
    "then the default": ("", "", "default-queue"),
}


@pytest.mark.parametrize(("of_owner", "of_pod", "expected"), QUEUES.values(), ids=QUEUES.keys())
def test_the_queue_of_a_group(of_owner: str, of_pod: str, expected: str) -> None:
    template = (
        f"template: {{metadata: {{labels: {{{of_pod}}}}}, spec: {{containers: [{{name: c}}]}}}}"
    )
    owner = read_owner(owner_text(JOB, template, metadata=f"labels: {{{of_owner}}}"))
    (group,) = groups_of(owner)
    assert (group.queue or USUAL_NAMES.labelled_queue(group.labels)[0]) == expected
    assert group.is_queue_named == (expected != "default-queue")
    assert group.labels.get("kai.scheduler/node-pool", "") == ("fast" if "fast" in expected else "")


# kind, label of the owner, label of the pod, class of its spec: the class of the group.
CLASS_CASES = {
    "the owner's label": (JOB, "high", "low", "low", "high"),
    "the pod's label": (JOB, "", "low", "high", "low"),
    "the pod's class": (JOB, "", "", "low", "low"),
    "one that does not exist is passed over": (JOB, "none", "", "low", "low"),
    "none exists: the first, of which a finding tells": (JOB, "none", "", "nil", "none"),
    "none is named": (JOB, "", "", "", "train"),
    "a Notebook without one": ("kubeflow.org/v1/Notebook", "", "", "", "build"),
}


@pytest.mark.parametrize(
    ("kind", "of_owner", "of_pod", "of_spec", "expected"),
    CLASS_CASES.values(),
    ids=CLASS_CASES.keys(),
)
def test_the_priority_class_of_a_group(
    kind: str, of_owner: str, of_pod: str, of_spec: str, expected: str
) -> None:
    template = (
        f"template: {{metadata: {{labels: {{priorityClassName: '{of_pod}'}}}}, "
        f"spec: {{priorityClassName: '{of_spec}', containers: [{{name: c}}]}}}}"
    )
    metadata = f"labels: {{priorityClassName: '{of_owner}'}}"
    (group,) = groups_of(read_owner(owner_text(kind, template, metadata=metadata)))
    assert group.priority_class == expected


def test_a_ray_cluster_may_name_its_class_in_a_label_of_its_own() -> None:
    metadata = "labels: {ray.io/priority-class-name: own, priorityClassName: high}"
    owner = read_owner(owner_text(RAY, "headGroupSpec: {TEMPLATE}", metadata=metadata))
    assert groups_of(owner)[0].priority_class == "own"


def test_preemptibility_is_the_first_that_can_be_read() -> None:
    template = (
        "template: {metadata: {labels: {kai.scheduler/preemptibility: non-preemptible}}, "
        "spec: {containers: [{name: c}]}}"
    )
    for label, expected in (("maybe", "non-preemptible"), ("preemptible", "preemptible")):
        metadata = f"labels: {{kai.scheduler/preemptibility: {label}}}"
        (group,) = groups_of(read_owner(owner_text(JOB, template, metadata=metadata)))
        assert group.preemptibility == expected


def test_what_is_to_be_left_alone_keeps_its_group() -> None:
    own = "metadata: {annotations: {pod-group-name: own}}"
    template = f"template: {{{own}, spec: {{containers: [{{name: c}}]}}}}"
    plain = read_owner(owner_text(JOB, template, metadata="uid: u"))
    assert [pod.annotations["pod-group-name"] for pod in pods_of(plain)] == ["pg-x-u"]
    skip = "annotations: {kai.scheduler/skip-podgrouper: 'true'}"
    left = read_owner(owner_text(JOB, template, metadata=skip))
    assert groups_of(left) == []
    assert [pod.annotations["pod-group-name"] for pod in pods_of(left)] == ["own"]


def test_a_topology_that_is_required_is_said_by_the_owner() -> None:
    for level, is_required in (("required", True), ("preferred", False)):
        metadata = f"annotations: {{kai.scheduler/topology-{level}-placement: rack}}"
        (group,) = groups_of(read_owner(owner_text(JOB, "TEMPLATE", metadata=metadata)))
        assert group.topology is is_required
