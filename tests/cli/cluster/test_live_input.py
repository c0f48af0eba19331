"""Commands that read a cluster: ``--context``, ``--kubeconfig``, ``-n``, ``-A``."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import Ran, of_shard, run_cli
from tests.cluster.kubernetes.canned_api import CannedApi, Object, canned_api, status

# 10 GPUs: vision deserves 6, speech 4. Vision asks for 8, speech for 4, of which 4 run nowhere yet.
WORLD = (
    NODE,
    kai_queue("vision", quota=6),
    kai_queue("speech", quota=4),
    pod_group("train", "vision", 8).replace("namespace: team", "namespace: lab"),
    pod_group("serve", "speech", 4),
)
NOW = ("--now", "2026-11-16T09:00:00Z")


def objects(*documents: str) -> list[Object]:
    return [each for text in documents for each in yaml.safe_load_all(text)]


@pytest.fixture
def server() -> Iterator[CannedApi]:
    """Gives an API server that holds the world."""
    with canned_api() as api:
        api.put(*objects(*WORLD))
        yield api


@pytest.fixture
def live(server: CannedApi, tmp_path: Path) -> tuple[str, ...]:
    """Gives the options that name the server."""
    return ("--kubeconfig", str(server.kubeconfig(tmp_path)))


@pytest.fixture
def world(tmp_path: Path) -> str:
    """Gives a file with the same objects as the server."""
    return write(tmp_path, "world.yaml", *WORLD)


COMMANDS = {
    "queues": ("queues",),
    "queues as JSON": ("queues", "-o", "json"),
    "plan": ("plan", *NOW),
    "plan as YAML": ("plan", *NOW, "-o", "yaml"),
    "explain a queue": ("explain", "vision"),
    "explain a job": ("explain", "lab/train", *NOW),
    "explain a pod": ("explain", "pod/lab/train-0", *NOW),
    "explain a node": ("explain", "node/n1", *NOW),
    "metrics": ("metrics", *NOW),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_an_answer_is_that_about_the_same_objects_in_a_file(
    command: tuple[str, ...], live: tuple[str, ...], world: str
) -> None:
    by_cluster, by_file = run_cli(*command, *live), run_cli(*command, "-f", world)
    assert by_cluster.out == by_file.out
    assert by_cluster.exit_code == by_file.exit_code == 0


def test_pending_reads_a_cluster(live: tuple[str, ...], world: str) -> None:
    """These objects are for rules without positions, which is the answer of both."""
    by_cluster, by_file = (
        run_cli("pending", "vision", *live),
        run_cli("pending", "vision", "-f", world),
    )
    assert by_cluster.err.splitlines()[1:] == by_file.err.splitlines()
    assert by_cluster.exit_code == by_file.exit_code == 1


def test_the_first_line_says_what_was_read(server: CannedApi, live: tuple[str, ...]) -> None:
    """2 queues, 2 groups, 2 pods and a node."""
    ran = run_cli("queues", *live)
    assert ran.err.splitlines()[0] == f"context ours ({server.url}): 7 objects of 4 kinds"


def test_the_context_may_be_named(live: tuple[str, ...]) -> None:
    assert run_cli("queues", *live, "--context", "ours").exit_code == 0
    ran = run_cli("queues", *live, "--context", "theirs")
    assert ran.exit_code == 1
    assert 'found no context named "theirs"' in ran.err
    assert 'choose one of "ours"' in ran.err


@pytest.mark.parametrize("option", ["-A", "--all-namespaces"])
def test_the_current_context_is_read_when_all_of_a_cluster_is_wanted(
    option: str, server: CannedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
    assert "vision" in run_cli("queues", option).out


def test_naming_nothing_says_both_ways() -> None:
    ran = run_cli("queues")
    assert ran.exit_code == 2
    assert "-f FILE" in ran.err
    assert "--context NAME" in ran.err


@pytest.mark.parametrize("option", ["--context", "--kubeconfig", "-n"])
def test_an_empty_name_is_wrong_usage(option: str) -> None:
    ran = run_cli("queues", option, "")
    assert ran.exit_code == 2
    assert "perhaps from a variable that is not set" in ran.err


def test_one_namespace_and_all_of_them_exclude_each_other(live: tuple[str, ...]) -> None:
    assert run_cli("queues", *live, "-A", "-n", "lab").exit_code == 2


class TestFaults:
    def test_without_a_kubeconfig_one_line_says_what_to_do(self, tmp_path: Path) -> None:
        ran = run_cli("queues", "--kubeconfig", str(tmp_path / "none"))
        assert ran.exit_code == 1
        assert "found no kubeconfig" in ran.err
        assert "name one with --kubeconfig or in KUBECONFIG" in ran.err

    def test_a_server_that_is_not_there_is_an_error(
        self, server: CannedApi, tmp_path: Path
    ) -> None:
        server.url = "http://127.0.0.1:9"
        ran = run_cli("queues", "--kubeconfig", str(server.kubeconfig(tmp_path)))
        assert ran.exit_code == 1
        assert len(ran.err.splitlines()) == 1
        assert "nothing listens there; check the address" in ran.err

    def test_a_user_that_is_not_known_is_an_error(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        server.play("/api", *[(401, status(401, "Unauthorized"))] * 2)
        ran = run_cli("plan", *live)
        assert ran.exit_code == 1
        assert len(ran.err.splitlines()) == 1
        assert "log in again" in ran.err

    def test_a_user_without_any_right_is_an_error(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        server.refuse("nodes", "pods", "queues", "podgroups")
        ran = run_cli("plan", *live)
        assert ran.exit_code == 1
        assert len(ran.err.splitlines()) == 1
        assert "may list none of the 4 kinds" in ran.err


class TestRights:
    def test_a_kind_that_may_not_be_read_is_said_and_left_out(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        """Without pods nothing is requested."""
        server.refuse("pods")
        ran = run_cli("queues", *live)
        assert ran.exit_code == 0
        assert "you may not list pods" in ran.err
        assert "as the ClusterRole fairlead-viewer does" in ran.err

    def test_the_right_that_lacks_is_said_beside_the_error_that_comes_of_it(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        server.refuse("queues")
        ran = run_cli("queues", *live, "--policy", "kai")
        assert ran.exit_code == 1
        assert "you may not list queues.scheduling.run.ai" in ran.err

    def test_validate_lists_what_may_not_be_read(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        server.refuse("nodes")
        found = json.loads(run_cli("validate", *live, "-o", "json").out)["findings"]
        assert [each["message"] for each in found if each["code"] == "forbidden"] == [
            "found that you may not list nodes, so they are left out"
        ]


class TestObjectsThatAreNotValid:
    """They are reported, and do not stand in the way of answers about the others."""

    def test_the_other_queues_are_shown(
        self, server: CannedApi, live: tuple[str, ...], tmp_path: Path
    ) -> None:
        broken = kai_queue("broken", quota="many")
        server.put(*objects(broken))
        ran = run_cli("queues", *live, "-o", "json")
        assert ran.exit_code == 0
        assert [each["name"] for each in of_shard(ran.out)["queues"]] == ["speech", "vision"]
        assert "cluster: Queue broken: error:" in ran.err
        file = write(tmp_path, "broken.yaml", *WORLD, broken)
        assert run_cli("queues", "-f", file).exit_code == 1

    def test_a_job_whose_pod_is_not_valid_waits(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        """4 GPUs are free for it, and its request cannot be read."""
        server.put(*objects(pod_group("odd", "speech", 1).replace("gpu: 1}", "gpu: one}")))
        ran = run_cli("plan", *live, *NOW)
        assert ran.exit_code == 0
        assert "cluster: Pod team/odd-0: error:" in ran.err
        [row] = [line for line in ran.out.splitlines() if "team/odd" in line]
        assert row.startswith("wait")

    def test_validate_fails(self, server: CannedApi, live: tuple[str, ...]) -> None:
        server.put(*objects(kai_queue("broken", quota="many")))
        assert run_cli("validate", *live).exit_code == 1

    def test_strictness_refuses_the_input(self, server: CannedApi, live: tuple[str, ...]) -> None:
        server.put(*objects(kai_queue("strange").replace("parentQueue", "parentQeue")))
        assert run_cli("queues", *live).exit_code == 0
        assert run_cli("queues", *live, "--strict").exit_code == 1

    def test_an_error_in_a_file_beside_the_cluster_refuses_the_input(
        self, live: tuple[str, ...], tmp_path: Path
    ) -> None:
        file = write(tmp_path, "broken.yaml", kai_queue("broken", quota="many"))
        assert run_cli("queues", *live, "-f", file).exit_code == 1
        assert run_cli("queues", *live, "--diff", file).exit_code == 1

    def test_objects_of_two_rule_sets_refuse_the_input(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        quota = "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
        server.put(*objects(quota + "metadata: {name: q, namespace: lab}\nspec: {min: {cpu: 1}}"))
        ran = run_cli("queues", *live)
        assert ran.exit_code == 1
        assert "choose with --policy" in ran.err


class TestFilesBesideACluster:
    def test_they_add_objects_that_the_cluster_does_not_have(
        self, live: tuple[str, ...], tmp_path: Path
    ) -> None:
        more = write(tmp_path, "more.yaml", pod_group("eval", "speech", 1))
        ran = run_cli("explain", "team/eval", *live, "-f", more, *NOW)
        assert ran.exit_code == 0
        assert "team/eval" in ran.out

    def test_an_object_that_the_cluster_has_is_refused(
        self, live: tuple[str, ...], tmp_path: Path
    ) -> None:
        again = write(tmp_path, "again.yaml", kai_queue("vision", quota=9))
        ran = run_cli("queues", *live, "-f", again)
        assert ran.exit_code == 1
        assert "duplicate-object" in ran.err
        assert "--diff" in ran.err


class TestOneNamespace:
    """What is shown is limited, and every number stays that of the whole cluster."""

    def test_queues_shows_those_that_the_namespace_uses(self, live: tuple[str, ...]) -> None:
        whole = of_shard(run_cli("queues", *live, "-o", "json").out)
        part = of_shard(run_cli("queues", *live, "-n", "lab", "-o", "json").out)
        assert [each["name"] for each in part["queues"]] == ["vision"]
        assert part["queues"] == [each for each in whole["queues"] if each["name"] == "vision"]

    def test_a_namespace_that_uses_no_queue_is_said(self, live: tuple[str, ...]) -> None:
        ran = run_cli("queues", *live, "-n", "nowhere")
        assert "the namespace nowhere uses no queue" in ran.out

    def test_plan_shows_the_decisions_about_its_jobs(self, live: tuple[str, ...]) -> None:
        def decisions(ran: Ran) -> list[Object]:
            found: list[Object] = of_shard(ran.out)["cycles"][0]["decisions"]
            return found

        whole = decisions(run_cli("plan", *live, *NOW, "-o", "json"))
        part = decisions(run_cli("plan", *live, *NOW, "-n", "lab", "-o", "json"))
        assert part == [each for each in whole if "lab/" in str(each)]
        assert 0 < len(part) < len(whole)

    def test_explain_looks_a_name_up_there_first(self, live: tuple[str, ...]) -> None:
        whole = run_cli("explain", "lab/train", *live, *NOW)
        assert run_cli("explain", "train", *live, "-n", "lab", *NOW).out == whole.out
        pod = run_cli("explain", "pod/lab/train-0", *live, *NOW)
        assert run_cli("explain", "pod/train-0", *live, "-n", "lab", *NOW).out == pod.out

    def test_explain_finds_queues_and_nodes_which_are_of_no_namespace(
        self, live: tuple[str, ...]
    ) -> None:
        for name in ("vision", "node/n1"):
            ran = run_cli("explain", name, *live, "-n", "lab", *NOW)
            assert ran.exit_code == 0
            assert ran.out == run_cli("explain", name, *live, *NOW).out

    def test_validate_leaves_out_findings_about_other_namespaces(
        self, server: CannedApi, live: tuple[str, ...]
    ) -> None:
        odd = pod_group("odd", "speech", 1).replace("spec: {queue", "spec: {qeue: x, queue")
        server.put(*objects(odd, kai_queue("strange").replace("parentQueue", "parentQeue")))
        codes = {
            namespace: [
                each["file"]
                for each in json.loads(
                    run_cli("validate", *live, "-n", namespace, "-o", "json").out
                )["findings"]
                if each["code"] == "unknown-field"
            ]
            for namespace in ("team", "lab")
        }
        assert codes["team"] == ["cluster: Queue strange", "cluster: PodGroup team/odd"]
        assert codes["lab"] == ["cluster: Queue strange"]

    def test_metrics_are_of_the_whole_cluster(self, live: tuple[str, ...]) -> None:
        assert run_cli("metrics", *live, "-n", "lab").exit_code == 2


class TestChanges:
    """``--diff`` with one value: the cluster as it is, against the cluster with the change."""

    @pytest.fixture
    def change(self, tmp_path: Path) -> str:
        """Gives a change that lets vision deserve 8 of the 10 GPUs, and speech 2."""
        quotas = [
            f"""
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec: {{resources: {{gpu: {{quota: {quota}}}}}}}
"""
            for name, quota in (("vision", 8), ("speech", 2))
        ]
        return write(tmp_path, "change.yaml", *quotas)

    def test_queues_shows_which_numbers_differ(self, live: tuple[str, ...], change: str) -> None:
        ran = run_cli("queues", *live, "--diff", change, *NOW)
        assert ran.exit_code == 0
        rows = [
            line.split() for line in ran.out.splitlines() if line.startswith(("vision", "speech"))
        ]
        assert ["vision", "gpu", "guaranteed", "6", "8"] in rows
        assert ["speech", "gpu", "guaranteed", "4", "2"] in rows

    def test_plan_shows_which_jobs_are_decided_otherwise(
        self, live: tuple[str, ...], change: str
    ) -> None:
        """With quotas 6 and 4 serve starts and train waits; with 8 and 2 it is the other way."""
        ran = run_cli("plan", "--diff", change, *live, *NOW)
        assert ran.exit_code == 0
        assert "start -> wait: 1" in ran.out
        assert "wait -> start: 1" in ran.out

    def test_the_cluster_is_read_once(
        self, server: CannedApi, live: tuple[str, ...], change: str
    ) -> None:
        run_cli("plan", *live, "--diff", change, *NOW)
        assert sum("/pods?" in each for each in server.requests) == 1

    def test_two_changes_are_compared_with_each_other(
        self, live: tuple[str, ...], change: str, tmp_path: Path
    ) -> None:
        other = write(tmp_path, "other.yaml", kai_queue("vision", quota=7))
        ran = run_cli("queues", *live, "--diff", other, change, *NOW)
        rows = [line.split() for line in ran.out.splitlines()]
        assert ["vision", "gpu", "guaranteed", "7", "8"] in rows

    def test_a_change_may_be_of_files_too(self, world: str, change: str) -> None:
        ran = run_cli("queues", "-f", world, "--diff", change, *NOW)
        assert ran.exit_code == 0
        assert " 6    8" in ran.out

    def test_a_change_of_nothing_is_wrong_usage(self, change: str) -> None:
        ran = run_cli("plan", "--diff", change)
        assert ran.exit_code == 2
        assert "--diff needs something to change" in ran.err

    def test_an_option_after_the_change_is_no_second_value(
        self, live: tuple[str, ...], change: str
    ) -> None:
        assert run_cli("queues", "--diff", change, *live).exit_code == 0
        assert run_cli("queues", *live, "--diff").exit_code == 2
