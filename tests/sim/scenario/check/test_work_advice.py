"""A job that nobody shall evict is told under rules that evict it all the same."""

from pathlib import Path

import pytest

from fairlead.sim.engine.events import Evicted
from tests.sim.scenario.scenario_files import (
    NODES,
    events,
    indented,
    read,
    scenario,
    told,
)

QUEUES = "  queues: [{name: a, guaranteed: {gpu: 4}}, {name: b, guaranteed: {gpu: 4}}]\n"
WORK = """
    work:
      - name: plain
        queue: a
        jobs: [{requests: {gpu: 1}, run: 1h}]
      - name: kept
        queue: a
        jobs:
          - {requests: {gpu: 1}, run: 1h, preemptible: true}
          - {requests: {gpu: 1}, run: 1h, preemptible: false}
      - name: drawn
        queue: b
        shapes: [{requests: {gpu: 1}, run: 1h, preemptible: false}]
        arrivals: {at: {times: [1h]}}
    """
FOUND = (
    "found preemptible: false in 2 places, which has no effect under {}: such jobs are evicted as "
    "all others are"
)


@pytest.mark.parametrize("policy", ["kueue", "elastic-quota"])
def test_who_shall_not_be_evicted_is_reported_where_that_stands_first(
    tmp_path: Path, policy: str
) -> None:
    result = read(tmp_path, f"  policies: [kai, {policy}]\n" + NODES + QUEUES + indented(WORK))
    path = "$.spec.work[1].jobs[1].preemptible"
    assert told(result.findings) == [f"warning 16 {path} no-effect"]
    (finding,) = result.findings
    assert finding.message == FOUND.format(policy)
    assert finding.fix == f"remove it, or do not compare by it under {policy}"
    assert result.scenario is not None


def test_each_rule_set_tells_for_itself_and_kai_has_nothing_to_tell(tmp_path: Path) -> None:
    spec = NODES + QUEUES + indented(WORK)
    found = read(tmp_path, "  policies: [kai, kueue, elastic-quota]\n" + spec).findings
    assert [each.message for each in found] == [
        FOUND.format(policy) for policy in ("kueue", "elastic-quota")
    ]
    assert read(tmp_path, spec).findings == ()


@pytest.mark.parametrize("preemptible", ["true", "false"])
def test_a_log_is_reported_at_its_field(tmp_path: Path, preemptible: str) -> None:
    text = "job_id,submit_s,run_s,gpus,queue\n1,0,60,1,a\n"
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    work = f"""
        work:
          - name: log
            trace:
              path: log.csv
              preemptible: {preemptible}
    """
    findings = read(tmp_path, "  policies: [kueue]\n" + NODES + QUEUES + indented(work)).findings
    expected = ["warning 12 $.spec.work[0].trace.preemptible no-effect"]
    assert told(findings) == (expected if preemptible == "false" else [])


@pytest.mark.parametrize(("policy", "evicted"), [("kueue", 1), ("elastic-quota", 1), ("kai", 0)])
def test_the_warning_is_true(tmp_path: Path, policy: str, evicted: int) -> None:
    """A job of four GPUs borrows two, which are wanted back; kai does not let it begin."""
    spec = f"""
        cluster: {{nodes: [{{name: node, capacity: {{gpu: 4}}}}]}}
        queues: [{{name: a, guaranteed: {{gpu: 2}}}}, {{name: b, guaranteed: {{gpu: 2}}}}]
        policies: [{policy}]
        work:
          - name: x
            queue: a
            jobs: [{{requests: {{gpu: 4}}, run: 1h, preemptible: false}}]
          - {{name: z, queue: b, jobs: [{{at: 30m, requests: {{gpu: 2}}, run: 1h}}]}}
    """
    seen = events(scenario(tmp_path, indented(spec)))
    assert sum(isinstance(each, Evicted) for each in seen) == evicted
