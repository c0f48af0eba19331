"""``fairlead pending``: who waits in a ClusterQueue or LocalQueue, and at which place."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.run_cli import Ran, of_shard, run_cli
from tests.shared_folder import ROOT

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: lab}}
spec:
  cohortName: all
  namespaceSelector: {{}}
  stopPolicy: {stop_cluster_queue}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{{name: any, resources: [{{name: cpu, nominalQuota: 4}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: jobs, namespace: red}}
spec: {{clusterQueue: lab}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: jobs, namespace: blue}}
spec: {{clusterQueue: lab, stopPolicy: {stop_local_queue}}}
"""

WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: {name}, namespace: {namespace}, creationTimestamp: "{created}"}}
spec:
  queueName: jobs
  priority: {priority}
  active: {active}
  podSets:
  - name: main
    count: 1
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]}}}}
"""

HAS_QUOTA = """
status:
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: "",
     lastTransitionTime: "2026-01-01T00:00:00Z"}
  admission:
    clusterQueue: lab
    podSetAssignments:
    - {name: main, count: 1, flavors: {cpu: any}, resourceUsage: {cpu: 1}}
"""


def workload(name: str, created: str, *, priority: int = 0, active: str = "true") -> str:
    namespace, _, bare = name.partition("/")
    day = f"2026-11-{created}T00:00:00Z"
    return WORKLOAD.format(
        name=bare, namespace=namespace, created=day, priority=priority, active=active
    )


# In line: red/urgent by its priority, then by creation red/old, blue/middle, red/new.
LINE = (
    workload("red/new", "14"),
    workload("red/old", "11"),
    workload("blue/middle", "12"),
    workload("red/urgent", "15", priority=7),
    workload("red/held", "10", active="false"),
    workload("red/runs", "10") + HAS_QUOTA,
)


def pending(tmp_path: Path, *arguments: str, local: str = "None", cluster: str = "None") -> Ran:
    queues = QUEUES.format(stop_local_queue=local, stop_cluster_queue=cluster)
    file = write(tmp_path, "line.yaml", queues, *LINE)
    return run_cli("pending", *arguments, "-f", file)


def items(ran: Ran) -> list[tuple[str, int, int]]:
    """Return of each item its name and the two positions."""
    assert ran.exit_code == 0, ran.err
    return [
        (
            f"{item['metadata']['namespace']}/{item['metadata']['name']}",
            item["positionInClusterQueue"],
            item["positionInLocalQueue"],
        )
        for item in json.loads(ran.out)["items"]
    ]


def test_a_cluster_queue_lists_everybody_with_both_positions(tmp_path: Path) -> None:
    assert items(pending(tmp_path, "lab", "-o", "json")) == [
        ("red/urgent", 0, 0),
        ("red/old", 1, 1),
        ("blue/middle", 2, 0),  # the first of its own LocalQueue, though both are named jobs
        ("red/new", 3, 2),
    ]


BY_USE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing: {usageHalfLifeTime: 1h}
"""
USED = """
status:
  fairSharing:
    admissionFairSharingStatus:
      consumedResources: {cpu: 750m}
      lastUpdate: "2026-11-16T08:00:00Z"
"""


@pytest.mark.parametrize(
    ("now", "first"),
    [
        ("08:00", "red/urgent"),  # red has used nothing yet, blue 0.75
        ("09:00", "blue/middle"),  # half of blue's is 0.375; red runs 1, of which half counts
    ],
)
def test_past_use_of_local_queues_comes_before_priority(
    tmp_path: Path, now: str, first: str
) -> None:
    queues = QUEUES.format(stop_local_queue="None", stop_cluster_queue="None")
    queues = queues.replace(
        "namespaceSelector",
        "admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}\n  namespaceSelector",
    )
    red, blue = USED.replace("750m", "0"), USED
    head, marker, last = queues.rpartition("---\n")
    file = write(tmp_path, "line.yaml", head.rstrip() + red + marker + last + blue, *LINE, BY_USE)
    arguments = ("pending", "lab", "-f", file, "-o", "json")
    assert items(run_cli(*arguments, "--now", f"2026-11-16T{now}:00Z"))[0][0] == first


def test_a_local_queue_lists_its_own_and_keeps_their_places_in_the_cluster_queue(
    tmp_path: Path,
) -> None:
    assert items(pending(tmp_path, "blue/jobs", "-o", "json")) == [("blue/middle", 2, 0)]
    assert items(pending(tmp_path, "red/jobs", "-o", "json", "--offset", "1")) == [
        ("red/old", 1, 1),
        ("red/new", 3, 2),
    ]


def test_limit_and_offset_cut_a_part_out_of_the_line(tmp_path: Path) -> None:
    part = pending(tmp_path, "lab", "-o", "json", "--limit", "2", "--offset", "1")
    assert [name for name, *_ in items(part)] == ["red/old", "blue/middle"]
    table = pending(tmp_path, "lab", "--limit", "2", "--offset", "1").answer
    assert table.splitlines()[-1] == "shown: 2 of 4"
    assert pending(tmp_path, "lab", "--offset", "9").answer == "shown: 0 of 4\n"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_document_has_the_shape_of_the_endpoint(tmp_path: Path, form: str) -> None:
    ran = pending(tmp_path, "lab", "--limit", "1", "-o", form)
    document = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    assert document == {
        "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
        "kind": "PendingWorkloadsSummary",
        "metadata": {},
        "items": [
            {
                "metadata": {
                    "name": "urgent",
                    "namespace": "red",
                    "creationTimestamp": "2026-11-15T00:00:00Z",
                },
                "priority": 7,
                "localQueueName": "jobs",
                "positionInClusterQueue": 0,
                "positionInLocalQueue": 0,
            }
        ],
    }


def test_the_table_is_for_people(tmp_path: Path) -> None:
    lines = [line.split() for line in pending(tmp_path, "lab").answer.splitlines()]
    assert lines[0] == "WORKLOAD LOCAL-QUEUE CREATED PRIORITY POSITION LOCAL-POSITION".split()
    assert lines[1] == "red/urgent jobs 2026-11-15T00:00:00Z 7 0 0".split()
    assert lines[-1] == "shown: 4 of 4".split()


def test_what_came_through_a_stopped_local_queue_is_not_in_line(tmp_path: Path) -> None:
    everybody = items(pending(tmp_path, "lab", "-o", "json", local="Hold"))
    assert everybody == [("red/urgent", 0, 0), ("red/old", 1, 1), ("red/new", 2, 2)]
    ran = pending(tmp_path, "blue/jobs", local="Hold")
    assert ran.answer == "nothing waits in blue/jobs\n"
    assert "blue/jobs is stopped" in ran.err


def test_the_line_of_a_stopped_cluster_queue_is_kept(tmp_path: Path) -> None:
    assert len(items(pending(tmp_path, "lab", "-o", "json", cluster="Hold"))) == 4


WRONG_NAMES = {
    "labs": 'did you mean "lab"?',
    "blau/jobs": 'did you mean "blue/jobs"?',
    "jobs": "with its namespace: blue/jobs, red/jobs",
    "all": "is a Cohort",
    "cohort/all": "is a Cohort",
    "zzz": "fairlead queues lists the queues",
}


@pytest.mark.parametrize(("name", "answer"), WRONG_NAMES.items())
def test_a_wrong_name_is_answered_with_what_to_name(tmp_path: Path, name: str, answer: str) -> None:
    ran = pending(tmp_path, name)
    assert (ran.exit_code, ran.out) == (1, "")
    assert answer in ran.err


def test_other_rule_sets_are_refused(tmp_path: Path) -> None:
    ran = run_cli("pending", "a", "-f", write(tmp_path, "kai.yaml", NODE, kai_queue("a")))
    assert ran.exit_code == 1
    assert "the objects are for kai" in ran.err


@pytest.mark.parametrize("wrong", [("--limit", "0"), ("--offset", "-1"), ("--limit", "many")])
def test_a_part_that_cannot_be_is_wrong_usage(tmp_path: Path, wrong: tuple[str, str]) -> None:
    assert pending(tmp_path, "lab", *wrong).exit_code == 2


def test_the_tree_counts_as_many_as_the_line_has(tmp_path: Path) -> None:
    file = write(
        tmp_path, "c.yaml", QUEUES.format(stop_local_queue="Hold", stop_cluster_queue="None"), *LINE
    )
    queues = of_shard(run_cli("queues", "-f", file, "-o", "json").out)["queues"]
    counts = {
        each["name"]: (each["admittedWorkloads"], each["pendingWorkloads"]) for each in queues
    }
    assert counts == {"cohort/all": (1, 3), "lab": (1, 3)}


def test_pods_under_elastic_quotas_have_no_numbered_places() -> None:
    ran = run_cli("pending", "vision", "-f", str(ROOT / "examples" / "elastic-quota"))
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err == (
        "error: the objects are for elastic-quota, which has no numbered positions in a queue; "
        "fairlead plan shows which jobs wait\n"
    )
