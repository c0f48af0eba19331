"""What the commands say of jobs that Fairlead cannot judge: the answer is incomplete, and why."""

from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue, workload
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli

CLAIM = "  schedulerName: kai-scheduler\n  resourceClaims: [{name: gpu, resourceClaimName: gpu}]"
TOPOLOGY = "topologyRequest: {required: rack}"
INCOMPLETE = "Fairlead cannot judge 2 jobs, which use resourceClaims (2)"


def claiming(name: str, queue: str) -> str:
    return pod_group(name, queue, 10).replace("  schedulerName: kai-scheduler", CLAIM)


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A node with 10 GPUs, and three jobs of 10: the two that would come first use a claim."""
    jobs = (claiming("a", "q"), claiming("b", "q"), pod_group("c", "q", 10))
    return write(tmp_path, "c.yaml", NODE, kai_queue("q", quota=30), *jobs)


def test_the_summary_of_a_plan_says_that_it_is_incomplete_and_why(cluster: str) -> None:
    ran = run_cli("plan", "-f", cluster)
    assert ran.exit_code == 0, ran.err
    decisions = sorted(line.split()[:2] for line in ran.out.splitlines() if "team/" in line)
    assert decisions == [["start", "team/c"], ["unknown", "team/a"], ["unknown", "team/b"]]
    last = ran.out.splitlines()[-1]
    assert last.endswith(f"; the plan is incomplete: {INCOMPLETE}")
    assert "start: 1" in last
    assert "unknown: 2" in last


def test_programs_read_the_kind_and_the_summary(cluster: str) -> None:
    (cycle,) = of_shard(run_cli("plan", "-f", cluster, "-o", "json").out)["cycles"]
    assert cycle["incomplete"] == {
        "jobs": ["team/a", "team/b"],
        "constraints": {"resourceClaims": 2},
    }
    decided = {each["workload"]: each for each in cycle["decisions"]}
    assert decided["team/a"]["decision"] == "unknown"
    assert decided["team/a"]["reason"]["code"] == "UnsupportedConstraint"
    assert "claims" not in decided["team/a"]


def test_a_plan_without_such_jobs_is_complete(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", NODE, kai_queue("q", quota=30), pod_group("c", "q", 10))
    assert "incomplete" not in run_cli("plan", "-f", file).out
    (cycle,) = of_shard(run_cli("plan", "-f", file, "-o", "json").out)["cycles"]
    assert cycle["incomplete"] is None


def test_plans_end_where_nothing_but_such_jobs_is_left(cluster: str) -> None:
    """The first cycle starts the third job, the second one changes nothing."""
    ran = run_cli("plan", "-f", cluster, "--cycles", "9")
    assert [line for line in ran.out.splitlines() if line.startswith("cycle")] == [
        "cycle 1",
        "cycle 2",
    ]


def test_queues_say_that_such_jobs_count_as_requested(cluster: str) -> None:
    ran = run_cli("queues", "-f", cluster)
    assert ran.out.splitlines()[-1] == f"{INCOMPLETE}: what they request is in the numbers"
    document = of_shard(run_cli("queues", "-f", cluster, "-o", "json").out)
    assert document["incomplete"]["constraints"] == {"resourceClaims": 2}
    (of_queue,) = [each for each in document["queues"] if each["name"] == "q"]
    assert of_queue["resources"]["gpu"]["requested"] == "30"


def test_explain_does_not_say_that_such_a_job_waits(cluster: str) -> None:
    ran = run_cli("explain", "team/a", "-f", cluster)
    assert ran.answer.startswith(
        "team/a is not judged: Fairlead cannot judge this job: it uses resourceClaims"
    )


def test_validate_warns_of_each_such_job_and_accepts_the_input(cluster: str) -> None:
    ran = run_cli("validate", "-f", cluster)
    assert ran.exit_code == 0
    assert "job team/a: warning: $: found resourceClaims" in ran.out
    assert "warnings: 2" in ran.out.splitlines()[-1]


def test_a_job_that_runs_needs_no_judgement(tmp_path: Path) -> None:
    running = claiming("a", "q").replace("spec:\n  scheduler", "spec:\n  nodeName: n1\n  scheduler")
    assert "nodeName" in running
    file = write(tmp_path, "c.yaml", NODE, kai_queue("q", quota=30), running)
    assert "incomplete" not in run_cli("plan", "-f", file).out
    assert "warnings: 0" in run_cli("validate", "-f", file).out


def test_under_kueue_only_what_kueue_looks_at_matters(tmp_path: Path) -> None:
    """Kueue looks at a request for a topology; volumes are for the scheduler of pods."""
    volume = "volumes: [{name: v, persistentVolumeClaim: {claimName: v}}],"
    file = write(
        tmp_path,
        "k.yaml",
        flavor("any"),
        queue("q", any=4),
        workload("one", "q", 1).replace("template:", f"{TOPOLOGY}\n      template:"),
        workload("two", "q", 1, where=volume),
    )
    ran = run_cli("plan", "-f", file)
    assert ran.exit_code == 0, ran.err
    assert ran.out.splitlines()[-1] == (
        "start: 1, unknown: 1; the plan is incomplete: "
        "Fairlead cannot judge 1 job, which uses topologyRequest (1)"
    )
    pending = run_cli("pending", "q", "-f", file)
    assert pending.out.splitlines()[-1] == (
        "Fairlead cannot judge 1 job, which uses topologyRequest (1); plans start none of them"
    )
    explained = run_cli("explain", "team/one", "-f", file)
    assert explained.answer.startswith("team/one is not judged: ")
