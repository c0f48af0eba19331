"""A pod or a gang that nodes could never hold is told, with its line, and no other."""

from pathlib import Path

import pytest

from fairlead.errors import Finding
from fairlead.sim.scenario.read.read_scenario import SimulationFile
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


def asked(folder: Path, pod: str, policies: str = "[kai, kueue]") -> SimulationFile:
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


def unusable(result: SimulationFile) -> tuple[Finding, ...]:
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
def test_what_no_node_holds_is_reported_at_its_line(tmp_path: Path, pod: str, lack: str) -> None:
    result = asked(tmp_path, pod)
    assert in_short(unusable(result)) == ["warning 18 $.spec.work[0].jobs[1] unusable"]
    (finding,) = unusable(result)
    assert finding.message == f"found {lack}: under rules that look at nodes it waits for ever"
    assert finding.fix == "ask for less in each pod, or add a node that holds it"
    assert result.scenario is not None


TOO_MANY = {  # small nodes hold 2 x 4, the late one 16, and the one that is kept nobody
    "pods: 25, requests: {gpu: 1}": "25 pods of nvidia.com/gpu 1 each, {} 24",
    "pods: 9, minPods: 9, requests: {gpu: 3}": "9 pods of nvidia.com/gpu 3 each, {} 7",
    "pods: 9, requests: {gpu: 1}, nodeLabels: {zone: a}": "9 pods of nvidia.com/gpu 1 each, {} 8",
    "pods: 7, requests: {cpu: 4, gpu: 1}": "7 pods of cpu 4, nvidia.com/gpu 1 each, {} 6",
}


@pytest.mark.parametrize(("gang", "lack"), TOO_MANY.items(), ids=TOO_MANY.keys())
def test_a_gang_that_all_nodes_do_not_hold_is_reported_at_its_line(
    tmp_path: Path, gang: str, lack: str
) -> None:
    result = asked(tmp_path, gang, "[kai]")
    assert in_short(result.findings) == ["warning 18 $.spec.work[0].jobs[1] unusable"]
    (finding,) = result.findings
    told = lack.format("of which all nodes together hold no more than")
    waits = "under rules that look at nodes it waits for ever"
    assert finding.message == f"found a gang of {told}: {waits}"
    assert finding.fix == "ask for fewer pods or less in each, or add nodes"


FITTING = [
    "pods: 24, requests: {gpu: 1}",
    "pods: 25, minPods: 24, requests: {gpu: 1}",
    "pods: 7, requests: {gpu: 3}",
    "pods: 6, requests: {cpu: 4, gpu: 1}",
    "pods: 1000, requests: {cpu: 0}",
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


def test_pods_of_a_log_are_reported_by_their_sizes(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        ("{uniform: {atLeast: 1, atMost: 8}}", None),
        ("{uniform: {atLeast: 1, atMost: 9}}", "a gang of up to 9 pods of"),
        ("{lognormal: {median: 2, sigma: 1, atMost: 9}}", "a gang of up to 9 pods of"),
        ("{values: [{value: 1, weight: 3}, {value: 9, weight: 1}]}", "a gang of up to 9 pods of"),
        ("{values: [{value: 1, weight: 3}, {value: 9, weight: 0}]}", None),
        ("{uniform: {atLeast: 1, atMost: 9}}, minPods: 1", None),
        ("9", "a gang of 9 pods of"),
    ],
)
def test_the_largest_gang_of_a_shape_counts(tmp_path: Path, pods: str, told: str | None) -> None:
    spec = f"""
        cluster: {{nodes: [{{name: node, count: 2, capacity: {{gpu: 4}}}}]}}
        queues: [{{name: q}}]
        work:
          - name: w
            queue: q
            shapes: [{{requests: {{gpu: 1}}, run: 1h, pods: {pods}}}]
            arrivals: {{at: {{times: [1h]}}}}
        """
    findings = read(tmp_path, indented(spec)).findings
    if told is None:
        assert findings == ()
    else:
        assert in_short(findings) == ["warning 10 $.spec.work[0].shapes[0] unusable"]
        assert findings[0].message.startswith(f"found {told} nvidia.com/gpu 1 each, ")


def test_gangs_of_a_log_are_reported_by_their_sizes(tmp_path: Path) -> None:
    """Each pod has two GPUs, two nodes hold four of them; gangs of 5, 6, 7, 8 and 9 do not fit."""
    rows = [f"{pods},{pods},60,{2 * pods},q" for pods in range(1, 10)] + ["10,10,60,10,q"]
    text = "\n".join(["job_id,submit_s,run_s,gpus,queue", *rows, ""])
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    for gang, count in (("true", 4), ("false", 0)):
        spec = f"""
            cluster: {{nodes: [{{name: node, count: 2, capacity: {{gpu: 5}}}}]}}
            queues: [{{name: q}}]
            work: [{{name: log, trace: {{path: log.csv, podAtMost: {{gpu: 2}}, gang: {gang}}}}}]
            """
        result = read(tmp_path, indented(spec))
        assert [each.code for each in result.findings] == ["unusable"] * count
        if count:
            first, *_, last = (each.message for each in result.findings)
            assert first.startswith(
                "found a gang of 5 pods of nvidia.com/gpu 2 each, of which all nodes together hold "
                'no more than 4 in job "log-5" and 1 more: '
            )
            assert last == "found 2 more sizes of gangs that all nodes together do not hold"
            assert "gang: false" in result.findings[0].fix
