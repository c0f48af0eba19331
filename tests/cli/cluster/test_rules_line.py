"""Answers say in their first line which mode they speak of: with Fairlead's fixes, or faithful."""

import json
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue, workload
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli

NOW = ("--now", "2026-11-16T09:00:00Z")
SPREAD = """  topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}
"""
QUOTA = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: team}
spec: {min: {cpu: 4}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team}
spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}
"""
WORLDS = {
    "kai": ((NODE, kai_queue("q", quota=4), pod_group("p", "q", 1)), "KAI"),
    "kueue": ((flavor("any"), queue("q", any=4), workload("p", "q", 1)), "Kueue"),
    "elastic-quota": ((NODE, QUOTA, POD), "the plugin"),
}
QUEUES = {"kai": "q", "kueue": "q", "elastic-quota": "team"}


@pytest.mark.parametrize("policy", WORLDS)
def test_the_first_line_names_the_mode(tmp_path: Path, policy: str) -> None:
    documents, peer = WORLDS[policy]
    file = write(tmp_path, "c.yaml", *documents)
    own = f"rules: {policy} with Fairlead's fixes; --faithful shows {peer}'s own decisions"
    faithful = f"rules: {policy}, faithful: as {peer} decides"
    for asked in (("plan",), ("explain", QUEUES[policy]), ("explain", "team/p")):
        assert run_cli(*asked, "-f", file, *NOW).out.splitlines()[:2] == [own, ""]
        ran = run_cli(*asked, "-f", file, "--faithful", *NOW)
        assert ran.out.splitlines()[:2] == [faithful, ""]


@pytest.mark.parametrize("policy", WORLDS)
def test_commands_without_the_option_name_the_command_that_has_it(
    tmp_path: Path, policy: str
) -> None:
    documents, peer = WORLDS[policy]
    file = write(tmp_path, "c.yaml", *documents)
    line = f"rules: {policy} with Fairlead's fixes; plan --faithful shows {peer}'s own decisions"
    assert run_cli("queues", "-f", file, *NOW).out.splitlines()[0] == line
    if policy == "kueue":
        assert run_cli("pending", "q", "-f", file, *NOW).out.splitlines()[:2] == [line, ""]


@pytest.mark.parametrize("policy", WORLDS)
def test_programs_read_the_mode(tmp_path: Path, policy: str) -> None:
    file = write(tmp_path, "c.yaml", *WORLDS[policy][0])

    def rules(*arguments: str) -> object:
        return json.loads(run_cli(*arguments, "-f", file, "-o", "json", *NOW).out)["rules"]

    for asked in (("plan",), ("explain", QUEUES[policy]), ("explain", "team/p")):
        assert rules(*asked) == {"policy": policy, "faithful": False}
        assert rules(*asked, "--faithful") == {"policy": policy, "faithful": True}
    assert rules("queues") == {"policy": policy, "faithful": False}


def test_explain_ends_with_what_the_other_mode_decides(tmp_path: Path) -> None:
    """No node has a rack, so a pod that is spread over racks fits none; KAI ignores the spread."""
    spread = pod_group("p", "q", 1) + SPREAD
    file = write(tmp_path, "c.yaml", NODE, kai_queue("q", quota=4), spread)
    own = run_cli("explain", "team/p", "-f", file, "-o", "wide", *NOW)
    assert own.out.splitlines()[-1] == (
        "KAI itself decides otherwise (--faithful): "
        "start (n1): within the quota of q: gpu: allocated 0 + request 1 <= quota 4"
    )
    faithful = run_cli("explain", "team/p", "-f", file, "-o", "wide", "--faithful", *NOW)
    assert faithful.out.splitlines()[-1].startswith(
        "With Fairlead's fixes it is decided otherwise (without --faithful): wait: fits no node"
    )
    document = json.loads(run_cli("explain", "team/p", "-f", file, "-o", "json", *NOW).out)
    assert document["otherMode"]["faithful"] is True
    assert document["otherMode"]["outcome"] == "start"


def test_explain_says_nothing_of_a_mode_that_decides_the_same(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *WORLDS["kai"][0])
    assert "otherwise" not in run_cli("explain", "team/p", "-f", file, *NOW).out
    document = json.loads(run_cli("explain", "team/p", "-f", file, "-o", "json", *NOW).out)
    assert document["otherMode"] is None
