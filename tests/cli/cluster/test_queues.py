"""``fairlead queues``: trees, machine-readable forms, capacity and differences."""

import json
from pathlib import Path
from unittest import mock

import pytest
import yaml

from fairlead.cli.input.options import read_standard_input
from fairlead.errors import FairleadError
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli

# Of 10 GPUs a is guaranteed 2 and b 4; the other 4 go 1:3 by weight.
CLUSTER = (
    NODE,
    kai_queue("a", quota=2, weight=1),
    kai_queue("b", quota=4, weight=3),
    pod_group("ja", "a", 9),
    pod_group("jb", "b", 9),
)


BIGGER = NODE.replace('"10"', '"12"')


def cells(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_the_tree_shows_what_each_queue_is_entitled_to(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert ran.exit_code == 0, ran.err
    head = "QUEUE RESOURCE WEIGHT GUARANTEED LIMIT ALLOCATED REQUESTED FAIR-SHARE SATURATION"
    shown = cells(ran.out)
    assert ["policy", "kai;", "capacity:", "cpu", "64,", "memory", "256Gi,", "gpu", "10"] in shown
    assert head.split() in shown
    assert "a gpu 1 2 - 0 9 3 0".split() in shown
    assert "b gpu 3 4 - 0 9 7 0".split() in shown


def test_each_resource_is_one_block_and_gpus_come_first(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert [line[:2] for line in cells(ran.out)[4:]] == [
        *(["a", "gpu"], ["b", "gpu"], []),
        *(["a", "cpu"], ["b", "cpu"], []),
        *(["a", "memory"], ["b", "memory"]),
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_exact_quantities(tmp_path: Path, form: str) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *CLUSTER), "-o", form)
    document = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    assert document["kind"] == "QueueShares"
    assert document["policy"] == "kai"
    (shard,) = document["shards"]
    assert shard["name"] is None
    assert shard["capacity"] == {"cpu": "64", "memory": "256Gi", "gpu": "10"}
    names = [queue["name"] for queue in shard["queues"]]
    assert names == ["a", "b"]
    gpu = shard["queues"][0]["resources"]["gpu"]
    assert gpu == {
        "weight": "1",
        "guaranteed": "2",
        "limit": None,
        "allocated": "0",
        "nonPreemptible": "0",
        "requested": "9",
        "fairShare": "3",
        "allocatable": "3",
        "saturation": 0.0,
    }


def test_capacity_stands_in_for_nodes(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER[1:])
    without = run_cli("queues", "-f", file)
    assert without.exit_code == 1
    assert "--capacity" in without.err
    ran = run_cli("queues", "-f", file, "--capacity", "gpu=18", "-o", "json")
    shares = [queue["resources"]["gpu"] for queue in of_shard(ran.out)["queues"]]
    assert [share["fairShare"] for share in shares] == ["9", "9"]


@pytest.mark.parametrize(
    "capacity",
    "|gpu|gpu=|gpu=x|gpu=-1|gpu=1e19|tpu=3|gpu=1,,|gpu=1,gpu=2|gpu=0.0001".split("|"),
)
def test_a_capacity_that_cannot_be_read_is_wrong_usage(tmp_path: Path, capacity: str) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *CLUSTER), "--capacity", capacity)
    assert ran.exit_code == 2
    assert "--capacity" in ran.err
    assert ran.out == ""


def test_diff_shows_what_a_change_does_to_every_queue(tmp_path: Path) -> None:
    common = write(tmp_path, "common.yaml", CLUSTER[0], *CLUSTER[3:])
    old = write(tmp_path, "old.yaml", *CLUSTER[1:3])
    # b's guarantee of 4 is gone: 8 remain after a's 2, by weight 1:3 that is 2 and 6
    new = write(tmp_path, "new.yaml", CLUSTER[1], kai_queue("b", weight=3), kai_queue("c"))
    ran = run_cli("queues", "-f", common, "--diff", old, new)
    shown = cells(ran.out)
    assert "a gpu fair-share 3 4".split() in shown
    assert "b gpu guaranteed 4 0".split() in shown
    assert "b gpu fair-share 7 6".split() in shown
    assert "c added gpu weight 1".split() in shown
    assert not any("limit" in line and line[0] in "ab" for line in shown)
    assert "c added gpu limit -".split() in shown  # all numbers of a new queue, unlimited ones too


def test_diff_says_when_the_capacity_differs(tmp_path: Path) -> None:
    common = write(tmp_path, "common.yaml", *CLUSTER[1:])
    old, new = write(tmp_path, "old.yaml", NODE), write(tmp_path, "new.yaml", BIGGER)
    ran = run_cli("queues", "-f", common, "--diff", old, new)
    assert ran.out.partition("\n\n")[2].startswith(
        "capacity: cpu 64, memory 256Gi, gpu 10 -> cpu 64, memory 256Gi, gpu 12"
    )
    document = of_shard(run_cli("queues", "-f", common, "--diff", old, new, "-o", "json").out)
    assert document["capacity"]["new"]["gpu"] == "12"


def test_diff_of_equal_objects_is_empty(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER)
    ran = run_cli("queues", "--diff", file, file)
    assert ran.out.endswith("\n\nno queue's numbers differ\n\nno job's decision differs\n")
    document = of_shard(run_cli("queues", "--diff", file, file, "-o", "json").out)
    assert (document["changes"], document["decisions"]) == ([], [])


def test_diff_for_programs_names_the_number_and_both_values(tmp_path: Path) -> None:
    old = write(tmp_path, "old.yaml", *CLUSTER)
    new = write(tmp_path, "new.yaml", *CLUSTER[:2], *CLUSTER[3:4])
    changes = of_shard(run_cli("queues", "--diff", old, new, "-o", "json").out)["changes"]
    expected = {
        "queue": "a",
        "fate": "changed",
        "resource": "gpu",
        "number": "fairShare",
        "old": "3",
        "new": "9",
    }
    assert expected in changes
    removed = [change for change in changes if change["queue"] == "b"]
    assert {change["fate"] for change in removed} == {"removed"}
    assert {change["new"] for change in removed} == {None}


def test_standard_input_is_read(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", "-", stdin="---".join(CLUSTER).encode())
    assert ran.exit_code == 0
    assert "policy kai" in ran.out


def test_both_sides_of_a_diff_get_what_is_piped_in(tmp_path: Path) -> None:
    common = "---".join((CLUSTER[0], *CLUSTER[3:])).encode()
    old = write(tmp_path, "old.yaml", *CLUSTER[1:3])
    # b's guarantee of 4 is gone: 8 remain after a's 2, by weight 1:3 that is 2 and 6
    new = write(tmp_path, "new.yaml", CLUSTER[1], kai_queue("b", weight=3))
    ran = run_cli("queues", "-f", "-", "--diff", old, new, stdin=common)
    assert ran.exit_code == 0, ran.err
    assert ran.out.splitlines()[2].split() == ["QUEUE", "RESOURCE", "NUMBER", "OLD", "NEW"]
    assert "b gpu fair-share 7 6".split() in cells(ran.out)


def test_one_side_of_a_diff_may_be_piped_in(tmp_path: Path) -> None:
    old = write(tmp_path, "old.yaml", *CLUSTER)
    new = "---".join((BIGGER, *CLUSTER[1:])).encode()
    ran = run_cli("queues", "--diff", old, "-", stdin=new)
    # two GPUs more, by weight 1:3 that is 0.5 and 1.5: the whole one to b, the rounded one to a
    assert "b gpu fair-share 7 8".split() in cells(ran.out)


def test_standard_input_that_is_closed_is_an_error_not_a_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(FairleadError, match="standard input is closed"):
        read_standard_input(["-"])


def test_standard_input_that_breaks_is_an_error_not_a_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = mock.Mock()
    broken.buffer.read.side_effect = OSError(5, "Input/output error")
    monkeypatch.setattr("sys.stdin", broken)
    with pytest.raises(FairleadError, match="cannot be read: Input/output error"):
        read_standard_input(["a.yaml", "-"])
    assert read_standard_input(["a.yaml"]) == b""  # nobody waits for what nobody named


def test_share_simulator_bodies_are_read(tmp_path: Path) -> None:
    body = {
        "totalResource": {"GPU": 10, "CPU": 0, "Memory": 0},
        "queues": [
            {"uid": name, "name": name, "priority": 100, "resourceShare": {"gpu": share}}
            for name, share in (
                ("a", {"deserved": 2, "request": 9, "overQuotaWeight": 1}),
                ("b", {"deserved": 4, "request": 9, "overQuotaWeight": 3}),
            )
        ],
    }
    ran = run_cli("queues", "-f", write(tmp_path, "body.json", json.dumps(body)), "-o", "json")
    assert ran.exit_code == 0, ran.err
    shares = [queue["resources"]["gpu"] for queue in of_shard(ran.out)["queues"]]
    assert [share["fairShare"] for share in shares] == ["3", "7"]


def test_warnings_go_to_stderr_and_data_to_stdout(tmp_path: Path) -> None:
    odd = kai_queue("a").replace("parentQueue", "parentQeue")
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", NODE, odd), "-o", "json")
    assert ran.exit_code == 0
    assert "parentQeue" in ran.err
    assert json.loads(ran.out)["kind"] == "QueueShares"


def test_an_error_shows_all_findings_and_no_data(tmp_path: Path) -> None:
    broken = (kai_queue("a", quota="nonsense"), kai_queue("b", weight=-1))
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", NODE, *broken))
    assert ran.exit_code == 1
    assert ran.out == ""
    assert "$.spec.resources.gpu.quota" in ran.err
    assert "$.spec.resources.gpu.overQuotaWeight" in ran.err


WEIGHTLESS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: guest}
spec:
  cohortName: all
  namespaceSelector: {}
  fairSharing: {weight: 0}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 0}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: host}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: bare}
spec: {cohortName: none, namespaceSelector: {}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: guest}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: w, namespace: team}
spec:
  queueName: lq
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
status:
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: "",
     lastTransitionTime: "2026-01-01T00:00:00Z"}
  admission:
    clusterQueue: guest
    podSetAssignments:
    - {name: main, count: 1, flavors: {cpu: any}, resourceUsage: {cpu: 1}}
"""


def test_a_borrower_without_weight_has_an_infinite_share(tmp_path: Path) -> None:
    file = write(tmp_path, "kueue.yaml", WEIGHTLESS)
    ran = run_cli("queues", "-f", file)
    assert ran.exit_code == 0, ran.err
    assert "guest any/cpu 0 - - 1 1 0 3 0 inf yes 1 0".split() in cells(ran.out)
    assert "host any/cpu 4 - - 0 0 1 3 1 0 - 0 0".split() in cells(ran.out)  # who lends it
    document = json.loads(
        run_cli("explain", "guest", "-f", file, "-o", "json").out, parse_constant=pytest.fail
    )
    assert document["share"]["share"] == "inf"


def test_queues_without_any_quota_are_listed_too(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "kueue.yaml", WEIGHTLESS))
    assert "bare - 1 0 - 0 0".split() in cells(ran.out)


NO_QUOTA = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: bare}
spec: {cohortName: pool, namespaceSelector: {}}
"""


@pytest.mark.parametrize("command", [["queues"], ["explain", "bare"], ["metrics"]])
def test_a_cohort_in_which_no_queue_has_quota_is_shown(command: list[str], tmp_path: Path) -> None:
    ran = run_cli(*command, "-f", write(tmp_path, "kueue.yaml", NO_QUOTA))
    assert ran.exit_code == 0, ran.err
    assert "bare" in ran.out


def test_diff_shows_the_errors_of_both_sides(tmp_path: Path) -> None:
    old = write(tmp_path, "old.yaml", NODE, kai_queue("a", quota="x"))
    new = write(tmp_path, "new.yaml", NODE, kai_queue("a", weight=-1))
    ran = run_cli("queues", "--diff", old, new)
    assert ran.exit_code == 1
    assert "old.yaml" in ran.err
    assert "new.yaml" in ran.err


def test_a_capacity_that_leaves_resources_out_is_noted_where_no_node_has_them(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER[1:])
    assert "leaves out cpu, memory" in run_cli("queues", "-f", file, "--capacity", "gpu=1").err
    both = write(tmp_path, "d.yaml", *CLUSTER)
    assert run_cli("queues", "-f", both, "--capacity", "gpu=1").err == ""


def test_rules_without_queues_are_said(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *CLUSTER), "--policy", "kueue")
    assert ran.exit_code == 1
    assert "no queues for kueue" in ran.err


NOBODY_ASKS = "note: nothing in the input asks for anything, so every fair share is 0"


@pytest.mark.parametrize("command", [("queues",), ("explain", "a")], ids=" ".join)
def test_shares_of_0_because_nobody_asks_are_explained_beside_the_answer(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    alone = (NODE, kai_queue("a", quota=1))
    file = write(tmp_path, "alone.yaml", *alone)
    ran = run_cli(*command, "-f", file)
    assert ran.exit_code == 0
    assert ran.err.startswith(NOBODY_ASKS)
    asked = write(tmp_path, "asked.yaml", *alone, pod_group("j", "a", 1))
    assert run_cli(*command, "-f", asked).err == ""
    assert run_cli("validate", "-f", file).out.endswith("errors: 0, warnings: 0, advice: 0\n")


def test_that_nobody_asks_is_said_once_for_two_inputs(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{name}.yaml", NODE, kai_queue("a")) for name in ("old", "new")]
    assert run_cli("queues", "--diff", *files).err.count(NOBODY_ASKS) == 1
