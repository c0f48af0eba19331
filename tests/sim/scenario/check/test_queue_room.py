"""A gang that its queue may never hold is told, and what is told waits for ever."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.sim.engine.events import Started
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import POLICIES, Document, result_of, run
from tests.sim.scenario.scenario_files import NODES, indented, read, told


def findings(folder: Path, policies: str, queues: str, job: str) -> tuple[Finding, ...]:
    """Return what is told of a job on line 11 on eight GPUs; advice is not asked for."""
    spec = f"""
        policies: {policies}
        queues: {queues}
        work:
          - name: w
            queue: a
            jobs: [{{{job}, run: 1h}}]
    """
    found = read(folder, NODES + indented(spec)).findings
    return tuple(each for each in found if each.severity != "advice")


LIMIT = "[{name: a, limit: {gpu: 2}}]"
ABOVE = "[{name: top, limit: {gpu: 2}}, {name: a, parent: top}]"
BORROWED = "[{name: a, guaranteed: {gpu: 1}, borrowLimit: {gpu: 1}}, {name: b}]"
LENT = "[{name: a}, {name: b, guaranteed: {gpu: 8}, lendLimit: {gpu: 2}}]"


@pytest.mark.parametrize(
    ("queues", "under"),
    [
        (LIMIT, "kai, kueue, elastic-quota"),
        (ABOVE, "kai, kueue"),  # elastic quotas form no tree
        (BORROWED, "kai, kueue, elastic-quota"),
        (LENT, "kueue"),  # which alone knows what is lent
    ],
)
def test_what_a_queue_may_not_hold_is_reported_with_the_rules_that_say_so(
    tmp_path: Path, queues: str, under: str
) -> None:
    policies = "[kai, kueue, elastic-quota]"
    found = findings(tmp_path, policies, queues, "pods: 3, requests: {gpu: 1}")
    assert told(found) == ["warning 11 $.spec.work[0].jobs[0] unusable"]
    assert found[0].message == (
        'found a gang of 3 pods with nvidia.com/gpu 3 together, where queue "a" may hold no more '
        f"than nvidia.com/gpu 2: under {under} it waits for ever"
    )
    assert found[0].fix == "ask for less, or let the queue and its parents hold more"
    (of_pod,) = findings(tmp_path, policies, queues, "requests: {gpu: 3}")
    assert of_pod.message.startswith(
        'found a pod of nvidia.com/gpu 3, where queue "a" may hold no more than nvidia.com/gpu 2: '
    )
    for fits in ("pods: 2, requests: {gpu: 1}", "pods: 3, minPods: 2, requests: {gpu: 1, cpu: 1}"):
        assert findings(tmp_path, policies, queues, fits) == ()


def test_kai_guarantees_what_it_may_not_take_back(tmp_path: Path) -> None:
    job = "pods: 3, requests: {gpu: 1}, preemptible: false"
    (found,) = findings(tmp_path, "[kai]", "[{name: a, guaranteed: {gpu: 2}}]", job)
    assert found.message == (
        'found a gang of 3 pods with nvidia.com/gpu 3 together, where queue "a" may hold no more '
        "than nvidia.com/gpu 2 in jobs that are not preemptible: under kai it waits for ever"
    )
    assert findings(tmp_path, "[kai]", "[{name: a, guaranteed: {gpu: 3}}]", job) == ()


def test_kueue_alone_tells_what_is_above_all_quota(tmp_path: Path) -> None:
    found = findings(tmp_path, "[kueue]", "[{name: a}]", "pods: 9, requests: {gpu: 1}")
    assert "may hold no more than nvidia.com/gpu 8: under kueue it waits" in found[0].message


def test_the_first_queue_of_several_that_is_too_small_is_reported(tmp_path: Path) -> None:
    spec = """
        queues: [{name: a}, {name: b, limit: {gpu: 3}}, {name: c, limit: {gpu: 2}}]
        work:
          - name: w
            queue: {drawn: {a: 1, b: 1, c: 1}}
            shapes: [{requests: {gpu: 4}, run: 1h}]
            arrivals: {at: {times: [1h]}}
    """
    result = read(tmp_path, NODES + indented(spec))
    assert told(result.findings) == ["warning 10 $.spec.work[0].shapes[0] unusable"]
    assert 'where queue "b" may hold no more than' in result.findings[0].message


def test_jobs_of_a_log_are_reported_by_their_queues(tmp_path: Path) -> None:
    text = "job_id,submit_s,run_s,gpus,queue\n1,0,60,3,a\n2,1,60,3,b\n3,2,60,3,a\n"
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    kept = """
        queues: [{name: a, guaranteed: {gpu: 2}}, {name: b, guaranteed: {gpu: 3}}]
        work: [{name: log, trace: {path: log.csv, podAtMost: {gpu: 1}, preemptible: false}}]
    """
    (finding,) = read(tmp_path, NODES + indented(kept)).findings
    assert "gpu 2 in jobs that are not preemptible in job" in finding.message
    spec = """
        queues: [{name: a, limit: {gpu: 2}}, {name: b}]
        work: [{name: log, trace: {path: log.csv, podAtMost: {gpu: 1}}}]
    """
    (finding,) = read(tmp_path, NODES + indented(spec)).findings
    assert (finding.severity, finding.code) == ("warning", "unusable")
    assert finding.message.endswith(
        'no more than nvidia.com/gpu 2 in job "log-1" and 1 more: under kai it waits for ever'
    )
    assert "send such jobs to another one" in finding.fix


@st.composite
def lonely_jobs(draw: st.DrawFn) -> Document:
    """A job that has a small cluster for itself, and limits in one queue and the one above."""
    few = st.integers(1, 4)
    sizes = draw(st.lists(few, min_size=1, max_size=3))
    owned = draw(st.integers(0, 2))
    queue: Document = {"name": "a", "parent": "top", "guaranteed": {"gpu": owned}}
    top: Document = {"name": "top"}
    for each in (queue, top):
        limit = draw(st.none() | st.integers(max(1, owned), 6))
        each |= {} if limit is None else {"limit": {"gpu": limit}}
    pods = draw(st.integers(1, 5))
    job = {"requests": {"gpu": draw(few)}, "run": "10s", "pods": pods}
    job |= {"minPods": draw(st.integers(1, pods)), "preemptible": draw(st.booleans())}
    spec = {
        "duration": "60s",
        "cluster": {
            "nodes": [
                {"name": f"n{at}", "capacity": {"gpu": size}} for at, size in enumerate(sizes)
            ]
        },
        "queues": [top, queue],
        "work": [{"name": "j", "queue": "a", "jobs": [job]}],
    }
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Scenario",
        "metadata": {"name": "lonely"},
        "spec": spec,
    }


@settings(max_examples=scale_examples(60))
@given(lonely_jobs(), st.sampled_from(POLICIES))
def test_a_job_that_is_alone_starts_exactly_if_nothing_is_reported(
    document: Document, policy: str
) -> None:
    starts = any(isinstance(each, Started) for each in run(document, policy))
    codes = [each.code for each in result_of(document, policy).findings]
    assert starts == ("unusable" not in codes)
