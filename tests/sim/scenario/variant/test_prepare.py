"""From a scenario to a run: its clock, its nodes, its jobs, traces and manifests."""

from pathlib import Path

import pytest

from fairlead.errors import ManifestError
from fairlead.manifest.load import load
from fairlead.sim.engine.events import (
    CapacityChanged,
    Finished,
    SimulationEvent,
    Started,
    Submitted,
)
from fairlead.sim.scenario.variant.prepare import prepare
from fairlead.sim.work.arrivals import Poisson
from fairlead.sim.work.description import ArrivingWork
from tests.sim.scenario.scenario_files import (
    NODES,
    QUEUES,
    WORK,
    events,
    indented,
    read,
    scenario,
)

HOUR = 3_600_000

TWO_QUEUES = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: top}
spec:
  resources: &all
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 8, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec:
  parentQueue: top
  resources:
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 8, limit: -1, overQuotaWeight: 1}
"""


def times(seen: list[SimulationEvent], kind: type, start_ms: int) -> list[tuple[str, int]]:
    """Names of jobs, and the hour of what happened to them."""
    return [
        (each.job.name, (each.at_ms - start_ms) // HOUR)
        for each in seen
        if isinstance(each, Submitted | Started | Finished) and isinstance(each, kind)
    ]


def test_who_waits_in_vain_does_not_keep_a_run_without_end_alive(tmp_path: Path) -> None:
    """With a delay, Kueue looks at the clock each time for who asks for more than there is."""
    policies = "policies: [{policy: kueue, settings: {preemptionDelay: 5m}}]\n"
    spec = NODES + QUEUES + WORK.replace("gpu: 1", "gpu: 100") + indented(policies)
    found = scenario(tmp_path, spec + "  cycle: {lookAgain: 1d}\n")
    assert [type(each) for each in events(found)] == [CapacityChanged, Submitted]


def test_times_of_the_file_count_from_its_start(tmp_path: Path) -> None:
    """The second job runs from 1 to 3, b waits for its GPUs from 2 to 3 and runs until 4."""
    work = """
        start: 2026-03-01T05:00:00Z
        queues: [{name: a, guaranteed: {gpu: 6}}, {name: b}]
        work:
          - name: w
            queue: a
            jobs:
              - {name: b, at: 2h, pods: 2, requests: {gpu: 4}, run: 1h, queue: b, user: bo}
              - {at: 1h, pods: 2, requests: {gpu: 3}, run: 2h, user: ann, preemptible: false}
    """
    found = scenario(tmp_path, NODES + indented(work))
    # 1 March 2026 is 20,513 days after 1970 began.
    assert found.spec.start_ms == 20_513 * 24 * HOUR + 5 * HOUR
    seen = events(found)
    assert times(seen, Submitted, found.spec.start_ms) == [("w-2", 1), ("b", 2)]
    assert times(seen, Started, found.spec.start_ms) == [("w-2", 1), ("b", 3)]
    assert times(seen, Finished, found.spec.start_ms) == [("w-2", 3), ("b", 4)]
    jobs = [each.job for each in seen if isinstance(each, Submitted)]
    assert [(job.queue, job.user, job.kind) for job in jobs] == [
        ("a", "ann", "w"),
        ("b", "bo", "w"),
    ]


def test_a_backlog_goes_on_with_the_clock_of_the_simulation(tmp_path: Path) -> None:
    """One job at a time, of an hour each: there are 3 until 3 hours are over."""
    work = """
        duration: 3h
        work:
          - name: w
            queue: a
            shapes: [{requests: {gpu: 8}, run: 1h}]
            backlog: {jobs: 1, keep: alive}
        cluster: {nodes: [{name: node, capacity: {gpu: 8}}]}
    """
    found = scenario(tmp_path, QUEUES + indented(work))
    came = times(events(found), Submitted, found.spec.start_ms)
    assert came == [("w-1", 0), ("w-2", 1), ("w-3", 2)]


def test_a_pattern_knows_on_which_day_the_scenario_starts(tmp_path: Path) -> None:
    """1 March 2026 is a Sunday, the seventh day from Monday."""
    work = """
        start: 2026-03-01T05:00:00Z
        duration: 1d
        work:
          - name: w
            queue: a
            shapes: [{requests: {gpu: 1}, run: 1h}]
            arrivals: {poisson: {perHour: 1}}
    """
    [part] = scenario(tmp_path, NODES + QUEUES + indented(work)).work
    assert isinstance(part, ArrivingWork)
    assert isinstance(part.arrivals, Poisson)
    assert (part.arrivals.pattern.start_weekday, part.arrivals.pattern.start_hour) == (6, 5)


def test_nodes_fail_come_back_and_are_added(tmp_path: Path) -> None:
    """8 GPUs, without a node of 4 for an hour, then 8 again, and 2 of another kind more."""
    spec = """
        duration: 5h
        cluster:
          nodes: [{name: node, count: 2, capacity: {gpu: 4}}]
          changes:
            - {at: 3h, add: {name: more, count: 2, capacity: {gpu: 1, cpu: 1}}}
            - {at: 1h, lose: [node-2], for: 1h}
        work:
          - {name: w, queue: a, jobs: [{pods: 10, minPods: 1, requests: {gpu: 1}, run: forever}]}
    """
    found = scenario(tmp_path, QUEUES + indented(spec))
    changes = [
        ((each.at_ms - found.spec.start_ms) // HOUR, each.capacity["nvidia.com/gpu"] // 1000)
        for each in events(found)
        if isinstance(each, CapacityChanged)
    ]
    assert changes == [(0, 8), (1, 4), (2, 8), (3, 10)]


def test_manifests_are_taken_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "queues"
    folder.mkdir()
    (folder / "queues.yaml").write_text(TWO_QUEUES, encoding="utf-8")
    work = """
        manifests: [queues]
        work: [{name: w, queue: team, jobs: [{requests: {gpu: 4}, run: 1h}]}]
    """
    found = scenario(tmp_path, NODES + indented(work))
    assert [variant.policy for variant in found.variants] == ["kai"]
    assert times(events(found), Finished, found.spec.start_ms) == [("w-1", 1)]
    (folder / "queues.yaml").write_text("kind: [", encoding="utf-8")
    with pytest.raises(ManifestError):
        prepare(found, found.variants[0])


def test_a_pod_of_another_scheduler_holds_its_room_unless_it_is_being_deleted(
    tmp_path: Path,
) -> None:
    """On two nodes of 4 GPUs: one pod has 2 for good; one has 4, and is gone at the start."""
    pod = "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}{more}}}, "
    pod += "spec: {{nodeName: {on}, "
    pod += "containers: [{{name: c, resources: {{requests: {{nvidia.com/gpu: {gpu}}}}}}}]}}}}\n"
    deleted = ', deletionTimestamp: "2026-01-01T00:00:00Z"'
    (tmp_path / "queues.yaml").write_text(
        TWO_QUEUES
        + pod.format(name="stays", more="", on="node-1", gpu=2)
        + pod.format(name="goes", more=deleted, on="node-2", gpu=4),
        encoding="utf-8",
    )
    work = "work: [{name: w, queue: team, jobs: [{requests: {gpu: 4}, run: 1h}]}]"
    found = scenario(tmp_path, NODES + "  manifests: [queues.yaml]\n" + indented(work))
    seen = events(found)
    (capacity,) = [each for each in seen if isinstance(each, CapacityChanged)]
    assert capacity.capacity["nvidia.com/gpu"] == (8 - 2) * 1000
    assert times(seen, Finished, found.spec.start_ms) == [("w-1", 1)]


def test_manifests_must_not_bring_work_of_their_own(tmp_path: Path) -> None:
    pod = "---\n{apiVersion: v1, kind: Pod, "
    pod += "metadata: {name: p, labels: {kai.scheduler/queue: team}}, "
    pod += "spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}\n"
    (tmp_path / "queues.yaml").write_text(TWO_QUEUES + pod, encoding="utf-8")
    work = "work: [{name: w, queue: team, jobs: [{requests: {gpu: 4}, run: 1h}]}]"
    result = read(tmp_path, NODES + "  manifests: [queues.yaml]\n" + indented(work))
    assert [(each.path, each.code) for each in result.findings if each.severity == "error"] == [
        ("$.spec.manifests", "contradiction")
    ]


def test_owners_in_manifests_are_no_work(tmp_path: Path) -> None:
    owner = "---\n{apiVersion: batch/v1, kind: Job, "
    owner += "metadata: {name: p, labels: {kai.scheduler/queue: team}}, spec: {template: "
    owner += "{spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}}\n"
    (tmp_path / "queues.yaml").write_text(TWO_QUEUES + owner, encoding="utf-8")
    work = "work: [{name: w, queue: team, jobs: [{requests: {gpu: 4}, run: 1h}]}]"
    found = scenario(tmp_path, NODES + "  manifests: [queues.yaml]\n" + indented(work))
    assert [name for name, _ in times(events(found), Finished, found.spec.start_ms)] == ["w-1"]


def test_the_jobs_of_a_trace_come_to_its_queues(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "job_id,submit_s,run_s,group,gpus\n1,500,3600,x,2\n2,4100,3600,y,3\n3,9000,10,z,1\n",
        encoding="utf-8",
    )
    work = """
        work:
          - name: log
            trace:
              path: log.csv
              runScale: 2
              firstJobs: 2
              queues: {by: group, named: {x: a, y: b}, others: ""}
    """
    found = scenario(tmp_path, NODES + QUEUES + indented(work))
    seen = events(found)
    assert times(seen, Submitted, found.spec.start_ms) == [("log-1", 0), ("log-2", 1)]
    assert times(seen, Finished, found.spec.start_ms) == [("log-1", 2), ("log-2", 3)]
    assert [each.job.queue for each in seen if isinstance(each, Submitted)] == ["a", "b"]


def test_a_trace_that_is_not_there_is_reported(tmp_path: Path) -> None:
    result = read(tmp_path, NODES + QUEUES + "  work: [{name: log, trace: {path: no.csv}}]\n")
    assert [(each.path, each.code) for each in result.findings] == [
        ("$.spec.work[0].trace.path", "unreadable")
    ]


def test_the_state_is_shown_as_it_is_until_something_happens(tmp_path: Path) -> None:
    """All of the time is shown once, from the start to the end."""
    found = scenario(tmp_path, "  duration: 1h\n" + NODES + QUEUES + WORK)
    spans: list[tuple[int, int]] = []
    prepared = prepare(found, found.variants[0])
    prepared.simulation(
        lambda _: None, lambda now_ms, until_ms, _: spans.append((now_ms, until_ms))
    ).run()
    start_ms = found.spec.start_ms
    begins, ends = zip(*spans, strict=True)
    assert begins == (start_ms, *ends[:-1])
    assert ends[-1] == start_ms + HOUR


def test_texts_are_read_as_files_of_their_names() -> None:
    result = load([], texts=[("one", TWO_QUEUES), ("two", "kind: Quue\napiVersion: x\nspec: [")])
    assert result.read == {"Queue.scheduling.run.ai": 2}
    assert [(each.file, each.line, each.code) for each in result.findings] == [("two", 3, "syntax")]
