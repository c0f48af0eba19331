"""``fairlead explain`` and ``pending`` of a pod, an owner of pods, a LocalQueue or a node."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import write
from tests.cli.run_cli import Ran, run_cli

KAI = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: a}
spec: {resources: {gpu: {quota: -1, limit: -1}, cpu: {quota: -1, limit: -1}}}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: 8, nvidia.com/gpu: 4, pods: 10}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: pg-train
  namespace: lab
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: j1, controller: true}]
spec: {queue: a, minMember: 2}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: %(name)s
  namespace: lab
  labels: {kai.scheduler/queue: a}
  annotations: %(annotations)s
  ownerReferences: %(owners)s
spec:
  schedulerName: %(scheduler)s
  nodeName: %(node)s
  containers: [{name: m, resources: {limits: {nvidia.com/gpu: %(gpus)d}}}]
status: {phase: %(phase)s}
"""


def pod(name: str, gpus: int, owner: str = "", *, group: str = "", **other: str) -> str:
    """Return a pod of *group* with an owner that is called KIND/NAME."""
    kind, _, owner_name = owner.partition("/")
    owners = [{"apiVersion": "batch/v1", "kind": kind, "name": owner_name, "uid": owner}]
    values: dict[str, Any] = {
        "name": name,
        "gpus": gpus,
        "annotations": json.dumps({"pod-group-name": group} if group else {}),
        "owners": json.dumps(owners if owner else []),
        "scheduler": "kai-scheduler",
        "node": '""',
        "phase": "Pending",
    }
    return POD % (values | other)


# The node has 4 GPUs: web-0 and the other scheduler's pod hold 2, and train wants 2 x 2.
WORLD = (
    KAI,
    pod("train-0", 2, "Job/train", group="pg-train"),
    pod("train-1", 2, "Job/train", group="pg-train"),
    pod("web-0", 1, "ReplicaSet/web", node="n1", phase="Running"),
    pod("web-1", 1, "ReplicaSet/web"),
    pod("old-0", 1, "Job/old", node="n1", phase="Succeeded"),
    pod("theirs", 1, "Job/theirs", node="n1", phase="Running", scheduler="default-scheduler"),
)


@pytest.fixture
def world(tmp_path: Path) -> str:
    return write(tmp_path, "world.yaml", *WORLD)


def explained(world: str, name: str, *options: str) -> Ran:
    ran = run_cli("explain", name, "-f", world, *options)
    assert ran.exit_code == 0, ran.err
    return ran


def answer(world: str, name: str) -> str:
    """Return what is said after the line with the rules."""
    return explained(world, name).out.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pod/lab/train-0", "Pod lab/train-0"),
        ("pods/train-1", "Pod lab/train-1"),
        ("train-1", "Pod lab/train-1"),
        ("job/train", "Job lab/train"),
        ("job.batch/lab/train", "Job lab/train"),
        ("lab/train", "Job lab/train"),
    ],
)
def test_a_pod_and_its_owner_stand_for_the_job(world: str, name: str, title: str) -> None:
    begin, told, *_ = answer(world, name).split("\n\n")
    assert begin == f"{title} is part of lab/pg-train."
    assert told.startswith("lab/pg-train waits: fits no node")


def test_a_job_has_no_such_line(world: str) -> None:
    assert answer(world, "pg-train").startswith("lab/pg-train waits")


def test_an_owner_of_several_jobs_shows_each(world: str) -> None:
    out = answer(world, "ReplicaSet/web")
    assert out.startswith("ReplicaSet lab/web is 2 jobs.\n\nIts jobs\n")
    rows = [line.split(maxsplit=2) for line in out.splitlines()[4:]]
    assert [(job, what.split(":")[0]) for job, _, what in rows] == [
        ("lab/pod/web-0", "has a node for each of its pods already."),
        ("lab/pod/web-1", "starts its pod."),
    ]


def test_an_owner_has_a_document_of_its_own(world: str) -> None:
    document = json.loads(explained(world, "replicaset/web", "-o", "json").out)
    assert document["kind"] == "ObjectExplanation"
    assert document["object"] == {"kind": "ReplicaSet", "name": "lab/web", "finished": False}
    assert [each["workload"] for each in document["jobs"]] == ["lab/pod/web-0", "lab/pod/web-1"]


def test_a_job_that_is_named_by_a_pod_says_by_which(world: str) -> None:
    document = json.loads(explained(world, "train-0", "-o", "json").out)
    assert (document["kind"], document["job"]) == ("JobExplanation", "lab/pg-train")
    assert document["object"] == {"kind": "Pod", "name": "lab/train-0", "finished": False}


@pytest.mark.parametrize("name", ["pod/old-0", "job/old", "lab/old"])
def test_what_has_finished_is_said_to_have(world: str, name: str) -> None:
    out = answer(world, name)
    assert out.endswith(" has finished: it holds nothing and waits for nothing.\n")


@pytest.mark.parametrize("name", ["lab/theirs", "pod/theirs", "job/theirs"])
def test_what_another_scheduler_runs_is_said_to_be_its(world: str, name: str) -> None:
    out = answer(world, name)
    assert out.endswith("is not planned here: the scheduler of its pods is default-scheduler.\n")


@pytest.mark.parametrize("name", ["n1", "node/n1", "nodes/n1", "node.v1/n1"])
def test_a_node_shows_its_pods_what_is_free_and_which_jobs_find_room(world: str, name: str) -> None:
    """4 GPUs less 1 of web-0 and 1 of the other scheduler: room for web-1, and for train-0."""
    document = json.loads(explained(world, name, "-o", "json").out)
    assert document["kind"] == "NodeExplanation"
    assert document["answer"] == "n1 is ready; 2 pods are on it; 2 of 2 waiting jobs find room."
    assert [(each["pod"], each["workload"]) for each in document["pods"]] == [
        ("lab/theirs", None),
        ("lab/web-0", "lab/pod/web-0"),
    ]
    gpus = {"resource": "nvidia.com/gpu", "now": ["2"], "later": ["2"]}
    assert gpus in document["free"]
    assert sorted((each["workload"], each["what"]) for each in document["waiting"]) == [
        ("lab/pg-train", "have room"),
        ("lab/pod/web-1", "have room"),
    ]


def test_the_tables_of_a_node_are_for_people(world: str) -> None:
    out = answer(world, "n1")
    assert "  lab/theirs  of default-scheduler  -      nvidia.com/gpu: 1" in out
    assert "  nvidia.com/gpu            4     2" in out


def test_a_job_that_can_start_nowhere_finds_no_room(tmp_path: Path) -> None:
    claim = "  resourceClaims: [{name: g, resourceClaimName: big}]\n  containers"
    text = pod("odd", 1).replace("  containers", claim)
    file = write(tmp_path, "odd.yaml", KAI, text)
    document = json.loads(explained(file, "n1", "-o", "json").out)
    assert document["answer"] == "n1 is ready; 0 pods are on it; 0 of 1 waiting jobs find room."
    (what,) = [each["what"] for each in document["waiting"]]
    assert what.startswith("does not matter: ")
    assert "resourceClaims: big" in what


def test_a_pod_is_no_part_of_what_another_part_of_its_owner_is(tmp_path: Path) -> None:
    """Of the two Jobs of a CronJob only the second has a Workload, and Kueue runs the first not."""
    jobs = [
        f"""
---
apiVersion: batch/v1
kind: Job
metadata:
  name: nightly-{n}
  namespace: red
  uid: n{n}
  ownerReferences: [{{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c}}]
spec: {{suspend: true, template: {{spec: {{containers: [{{name: c}}]}}}}}}
"""
        for n in (1, 2)
    ]
    workload = (WORKLOAD % {"name": "nightly-2"}).replace("uid: nightly-2", "uid: n2")
    file = write(tmp_path, "cron.yaml", KUEUE, *jobs, workload)
    assert answer(file, "job/nightly-2").startswith("Job red/nightly-2 is part of")
    assert "is part of" not in answer(file, "job/nightly-1")


SHARD = """
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: mine}
spec: {partitionLabelValue: mine}
"""


def test_a_pod_of_another_pool_is_said_to_be_there(tmp_path: Path) -> None:
    other = pod("p", 1).replace("labels: {", "labels: {kai.scheduler/node-pool: other, ")
    queue = KAI.replace("metadata: {name: a}", "metadata: {name: a, labels: {%s}}")
    mine = queue.replace("%s", "kai.scheduler/node-pool: mine")
    ran = answer(write(tmp_path, "pools.yaml", mine, SHARD, other), "pod/p")
    assert ran == "Pod lab/p is not planned here: it belongs to another node pool.\n"


def test_no_node_is_considered_for_a_job_that_is_not_judged(tmp_path: Path) -> None:
    claim = "  resourceClaims: [{name: g, resourceClaimName: big}]\n  containers"
    file = write(tmp_path, "odd.yaml", KAI, pod("odd", 1).replace("  containers", claim))
    text = answer(file, "odd")
    assert text.startswith("lab/pod/odd is not judged")
    assert "Nodes considered" not in text


def test_a_node_needs_no_capacity(world: str) -> None:
    ran = run_cli("explain", "n1", "-f", world, "--capacity", "gpu=2")
    assert ran.exit_code == 2


def test_a_name_of_several_objects_is_to_be_chosen_from(tmp_path: Path) -> None:
    twins = (KAI, pod("x", 1, "Job/z"), pod("z", 1, "Job/x", node="n1", phase="Succeeded"))
    file = write(tmp_path, "twins.yaml", *twins)
    assert answer(file, "lab/x").startswith(
        "lab/pod/x starts"
    )  # a job comes before an object of its name
    assert "finished" in answer(file, "job/x")


QUOTA = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: lab}
spec: {min: {cpu: 4}, max: {cpu: 8}}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: 8, pods: 10}
  conditions: [{type: Ready, status: "True"}]
"""
DEPLOYMENT = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s, namespace: lab}
spec:
  replicas: %(replicas)d
  selector: {matchLabels: {app: %(name)s}}
  template:
    metadata: {labels: {app: %(name)s}}
    spec:
      schedulerName: %(scheduler)s
      containers: [{name: m, resources: {requests: {cpu: 1}}}]
"""


def deployment(name: str, replicas: int, scheduler: str = "scheduler-plugins-scheduler") -> str:
    return DEPLOYMENT % {"name": name, "replicas": replicas, "scheduler": scheduler}


@pytest.fixture
def owners(tmp_path: Path) -> str:
    deployments = [deployment(f"web-{n}", n) for n in range(3)]
    others = deployment("other", 1, scheduler="volcano")
    return write(tmp_path, "owners.yaml", QUOTA, *deployments, others)


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("deployment/web-0", "Deployment lab/web-0 is scaled to 0.\n"),
        ("deployment/web-1", "Deployment lab/web-1 is part of lab/web-1-"),
        ("other", "Deployment lab/other is not planned here: its pods are for another scheduler"),
        ("lab/web-2", "Deployment lab/web-2 is 2 jobs.\n"),
    ],
)
def test_an_owner_without_pods_stands_for_those_that_would_be_made(
    owners: str, name: str, begin: str
) -> None:
    assert answer(owners, name).startswith(begin)


def test_an_owner_finds_its_pods_by_labels(tmp_path: Path) -> None:
    """The ReplicaSet between the Deployment and its pod is not in the input."""
    text = """
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1-abc
  namespace: lab
  labels: {app: web-1}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1-a, uid: r}]
spec: {schedulerName: scheduler-plugins-scheduler, containers: [{name: m}]}
"""
    file = write(tmp_path, "labels.yaml", QUOTA, deployment("web-1", 1), text)
    begin, *_ = answer(file, "deployment/web-1").split("\n\n")
    assert begin == "Deployment lab/web-1 is part of lab/web-1-abc."


KUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: lab}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: jobs, namespace: red}
spec: {clusterQueue: lab}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: 8, pods: 10}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  namespace: red
  labels: {kueue.x-k8s.io/managed: "true"}
  annotations: {kueue.x-k8s.io/workload: job-train}
spec:
  nodeName: n1
  containers: [{name: m, resources: {requests: {cpu: 3}}}]
status: {phase: Running}
"""
WORKLOAD = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: job-%(name)s
  namespace: red
  creationTimestamp: "2026-11-10T00:00:00Z"
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %(name)s, uid: %(name)s}]
spec:
  queueName: jobs
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}
"""


@pytest.fixture
def kueue_world(tmp_path: Path) -> str:
    workloads = [WORKLOAD % {"name": name} for name in ("train", "wait")]
    return write(tmp_path, "kueue.yaml", KUEUE, *workloads)


@pytest.mark.parametrize("name", ["train-0", "pod/red/train-0", "job/train", "red/train"])
def test_a_pod_of_kueue_stands_for_its_workload(kueue_world: str, name: str) -> None:
    document = json.loads(explained(kueue_world, name, "-o", "json").out)
    assert (document["kind"], document["job"]) == ("JobExplanation", "red/job-train")


@pytest.mark.parametrize("name", ["red/jobs", "localqueue/red/jobs", "localqueue/jobs", "jobs"])
def test_a_local_queue_stands_for_its_cluster_queue(kueue_world: str, name: str) -> None:
    begin, told, *_ = answer(kueue_world, name).split("\n\n")
    assert begin == "LocalQueue red/jobs leads to lab."
    assert told.startswith("lab ")


def test_under_kueue_a_node_shows_its_pods_alone(kueue_world: str) -> None:
    """8 cores less the 3 of the pod, which the Workload accounts for in the quota."""
    document = json.loads(explained(kueue_world, "n1", "-o", "json").out)
    assert document["answer"] == "n1 is ready; 1 pod is on it."
    assert document["free"][0] == {"resource": "cpu", "now": ["5"], "later": ["5"]}
    assert document["waiting"] is None
    assert document["pods"][0]["workload"] == "red/job-train"


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("lab", ["job-train", "job-wait"]),
        ("red/jobs", ["job-train", "job-wait"]),
        ("jobs", ["job-train", "job-wait"]),
        ("red/job-wait", ["job-wait"]),
        ("job/wait", ["job-wait"]),
        ("pod/train-0", ["job-train"]),
    ],
)
def test_pending_accepts_the_same_names(kueue_world: str, name: str, waits: list[str]) -> None:
    ran = run_cli("pending", name, "-f", kueue_world, "-o", "json")
    assert ran.exit_code == 0, ran.err
    assert [each["metadata"]["name"] for each in json.loads(ran.out)["items"]] == waits


def test_what_waits_for_a_node_is_not_a_matter_of_queues(kueue_world: str) -> None:
    ran = run_cli("pending", "node/n1", "-f", kueue_world)
    assert ran.exit_code == 1
    assert "fairlead explain node/n1 shows what could start on it" in ran.err
