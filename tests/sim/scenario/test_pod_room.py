"""A pod that no node could ever hold is told, with its line, and no other."""

from pathlib import Path

import pytest

from fairlead.errors import Finding
from fairlead.sim.scenario.read_scenario import ScenarioResult
from tests.sim.scenario.scenario_files import indented, read
from tests.sim.scenario.scenario_files import told as in_short

CLUSTER = """
    cluster:
      nodes:
        - {name: small, count: 2, capacity: {cpu: 8, memory: 32Gi, gpu: 4}, labels: {zone: a}}
        - {name: lean, capacity: {cpu: 64, memory: 8Gi}, labels: {zone: b}}
        - {name: kept, capacity: {cpu: 8, gpu: 32}, taints: [{key: team, value: x}]}
      changes: [{at: 1h, add: {name: late, capacity: {cpu: 8, memory: 32Gi, gpu: 16}}}]
    queues: [{name: q}]
    """


def asked(folder: Path, pod: str, policies: str = "[kai, kueue]") -> ScenarioResult:
    """Read a scenario with a job of such a pod on line 18, after one that fits."""
    work = f"""
        policies: {policies}
        work:
          - name: w
            queue: q
            jobs:
              - {{requests: {{gpu: 1}}, run: 1h, at: 1h}}
              - {{{pod}, run: 1h}}
        """
    return read(folder, indented(CLUSTER) + indented(work))


def unusable(result: ScenarioResult) -> tuple[Finding, ...]:
    """Leave out what Kueue does not see of nodes."""
    return tuple(each for each in result.findings if each.code == "unusable")


TOO_LARGE = {
    "requests: {gpu: 17}": (
        "a pod of nvidia.com/gpu 17, where no node has more than nvidia.com/gpu 16"
    ),
    "requests: {gpu: 5}, nodeLabels: {zone: a}": (
        "a pod of nvidia.com/gpu 5, where no node has more than nvidia.com/gpu 4"
    ),
    "requests: {cpu: 64, gpu: 1}": "a pod of cpu 64, nvidia.com/gpu 1, which no node has together",
    "requests: {cpu: 65, gpu: 17}": (
        "a pod of cpu 65, nvidia.com/gpu 17, where no node has more than cpu 64, nvidia.com/gpu 16"
    ),
    "requests: {cpu: 1}, nodeLabels: {zone: c, x: z}": (
        "a pod for nodes with labels zone=c, x=z, of which none takes it"
    ),
}


@pytest.mark.parametrize(("pod", "lack"), TOO_LARGE.items(), ids=TOO_LARGE.keys())
def test_what_no_node_holds_is_told_at_its_line(tmp_path: Path, pod: str, lack: str) -> None:
    result = asked(tmp_path, pod)
    assert in_short(unusable(result)) == ["warning 18 $.spec.work[0].jobs[1] unusable"]
    (finding,) = unusable(result)
    assert finding.message == f"found {lack}: under rules that look at nodes it waits for ever"
    assert finding.fix == "ask for less in each pod, or add a node that holds it"
    assert result.scenario is not None


FITTING = [
    "requests: {gpu: 16}",
    "requests: {cpu: 64}",
    "requests: {gpu: 4}, nodeLabels: {zone: a}",
]


@pytest.mark.parametrize("pod", FITTING)
def test_what_some_node_holds_is_not_told(tmp_path: Path, pod: str) -> None:
    """Nodes that join later count; those that take no pod of ours do not."""
    assert unusable(asked(tmp_path, pod)) == ()


def test_kueue_alone_looks_at_no_node(tmp_path: Path) -> None:
    assert unusable(asked(tmp_path, "requests: {gpu: 17}", "[kueue]")) == ()


def test_a_cluster_that_takes_no_pod_says_so(tmp_path: Path) -> None:
    spec = """
        cluster: {nodes: [{name: node, capacity: {gpu: 4}, taints: [{key: team, value: x}]}]}
        queues: [{name: q}]
        work:
          - name: w
            queue: q
            shapes: [{requests: {gpu: 1}, run: 1h}]
            arrivals: {at: {times: [1h]}}
        """
    result = read(tmp_path, indented(spec))
    assert in_short(result.findings) == ["warning 10 $.spec.work[0].shapes[0] unusable"]
    assert "a pod for nodes with no taint, of which none takes it" in result.findings[0].message


def test_pods_of_a_log_are_told_by_their_sizes(tmp_path: Path) -> None:
    """Sizes 5, 6, 7, 8 and 9 do not fit on four GPUs; the first three are told."""
    rows = [f"{gpus},{gpus},60,{gpus},q" for gpus in range(1, 10)] + ["10,10,60,5,q"]
    text = "\n".join(["job_id,submit_s,run_s,gpus,queue", *rows, ""])
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    spec = """
        cluster: {nodes: [{name: node, count: 3, capacity: {gpu: 4}}]}
        queues: [{name: q}]
        work: [{name: log, trace: {path: log.csv}}]
        """
    result = read(tmp_path, indented(spec))
    assert [each.severity for each in result.findings] == ["warning"] * 4
    assert [each.file for each in result.findings] == [str(tmp_path / "log.csv")] * 4
    first, *_, last = (each.message for each in result.findings)
    assert first.startswith(
        "found a pod of nvidia.com/gpu 5, where no node has more than nvidia.com/gpu 4 in "
        'job "log-5" and 1 more: '
    )
    assert last == "found 2 more sizes of pods that no node holds"
    assert "podAtMost" in result.findings[0].fix
