"""An amount of what no node ever has is told at its line, whatever the rules."""

from pathlib import Path

import pytest

from fairlead.errors import Finding
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, read, told

POLICIES = ["kai", "kueue", "elastic-quota"]


def of_nodes(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Leave out what the objects that stand for the queues are told besides."""
    return tuple(each for each in findings if each.code == "missing-reference")


def with_queue(field: str, amounts: str) -> str:
    queue = f"""
        queues:
          - name: a
            guaranteed: {{gpu: 2}}
          - name: b
            {field}:
              {amounts}
    """
    return NODES + indented(queue) + WORK


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("field", ["guaranteed", "limit", "borrowLimit", "lendLimit"])
def test_a_misspelt_resource_of_a_queue_is_a_warning(
    tmp_path: Path, policy: str, field: str
) -> None:
    result = read(tmp_path, f"  policies: [{policy}]\n" + with_queue(field, "gpus: 4"))
    found = of_nodes(result.findings)
    assert told(found) == [f"warning 12 $.spec.queues[1].{field}.gpus missing-reference"]
    assert found[0].message == 'found "gpus", which no node ever has: it has no effect'
    assert found[0].fix == 'did you mean "gpu"?'
    lends_too_much = (policy, field) == ("kueue", "lendLimit")  # 4 of 0, which Kueue refuses
    assert (result.scenario is None) == lends_too_much


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("memroy: 4Gi", 'did you mean "memory"?'),
        ("nvidia.com/gpus: 4", 'did you mean "nvidia.com/gpu"?'),
        ("licences: 4", "name cpu, memory, nvidia.com/gpu"),
    ],
)
def test_the_cure_names_what_nodes_have(tmp_path: Path, written: str, fix: str) -> None:
    (finding,) = of_nodes(read(tmp_path, with_queue("guaranteed", written)).findings)
    assert finding.fix == fix


def test_the_cure_is_whole_where_nodes_have_nothing(tmp_path: Path) -> None:
    log = "job_id,submit_s,run_s,gpus,queue\n1,0,60,1,a\n"
    (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    spec = """
        cluster: {nodes: [{name: node, capacity: {}}]}
        queues: [{name: a, limit: {licences: 1}}]
        work:
          - {name: w, queue: a, jobs: [{requests: {disks: 1}, run: 1h}]}
          - {name: log, trace: {path: log.csv}}
    """
    found = of_nodes(read(tmp_path, indented(spec)).findings)
    assert [each.fix for each in found] == [
        "add it to the capacity of nodes",
        "add it to the capacity of nodes",
        "give it to nodes",
    ]


@pytest.mark.parametrize("written", ["gpu: 1", "nvidia.com/gpu: 1", "cpu: 1", "pods: 4"])
def test_what_nodes_have_and_pods_that_kueue_counts_are_not_told(
    tmp_path: Path, written: str
) -> None:
    for policy in POLICIES:
        spec = f"  policies: [{policy}]\n" + with_queue("guaranteed", written)
        assert of_nodes(read(tmp_path, spec).findings) == ()


def test_what_only_a_later_node_has_is_not_told(tmp_path: Path) -> None:
    spec = """
        cluster:
          nodes: [{name: node, capacity: {gpu: 4}}]
          changes: [{at: 1h, add: {name: late, capacity: {cpu: 4}}}]
        queues: [{name: a, guaranteed: {cpu: 4}}]
    """
    assert read(tmp_path, indented(spec) + WORK).findings == ()


def test_what_pods_of_a_log_have_at_most_is_reported(tmp_path: Path) -> None:
    log = "job_id,submit_s,run_s,gpus,queue\n1,0,60,1,a\n"
    (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    work = """
        work:
          - name: log
            trace:
              path: log.csv
              podAtMost: {cpu: 1, gpsu: 1}
    """
    found = read(tmp_path, NODES + QUEUES + indented(work)).findings
    assert told(found) == ["warning 11 $.spec.work[0].trace.podAtMost.gpsu missing-reference"]
    assert found[0].fix == 'did you mean "gpu"?'


@pytest.mark.parametrize("field", ["guaranteed", "limit", "borrowLimit"])
def test_kai_says_of_which_resources_its_queues_have_no_quota(tmp_path: Path, field: str) -> None:
    nodes = "  cluster: {nodes: [{name: node, capacity: {gpu: 4, disks: 4}}]}\n"
    spec = nodes + f"  queues: [{{name: a, {field}: {{disks: 2}}}}]\n" + WORK
    (finding,) = read(tmp_path, spec).findings
    assert (finding.severity, finding.path) == ("advice", "$.spec.queues[0]")
    assert finding.message == "found disks, which queues under kai have no quota of"
