"""What is written of a run is what happened, adds up, and can be read back."""

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import QueueName
from fairlead.model.plan import Comparison, Reason, SideShare, Term
from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Submitted,
)
from fairlead.sim.measures.measures import Measures
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.eviction_table import reason_json
from fairlead.sim.results.read_result import StoredResult, StoredRun
from fairlead.sim.results.series_table import read_series, write_series
from fairlead.sim.run.run_variant import RunOrder, Unobserved, run_variant
from fairlead.sim.scenario.variant.prepare import prepare
from tests.sim.results.small_runs import contended, contents, run_all
from tests.sim.scenario.scenario_files import NODES, events, indented, scenario

POLICIES = ("kai", "kueue", "elastic-quota")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StoredResult:
    folder = tmp_path_factory.mktemp("results")
    return run_all(contended(folder), folder / "out")


@pytest.fixture(params=POLICIES)
def run(request: pytest.FixtureRequest, result: StoredResult) -> StoredRun:
    return next(run for run in result.runs if run.about.variant == request.param)


def test_a_run_says_what_it_was(result: StoredResult) -> None:
    assert result.about.complete
    assert [run.about.name for run in result.runs] == list(POLICIES)
    for run in result.runs:
        about = run.about
        assert (about.variant, about.policy, about.seed) == (about.name, about.name, 3)
        assert about.complete
        assert about.end_ms - about.start_ms == 600_000
        assert about.parents == {"a": "top", "b": "top", "c": None, "top": None}


def test_the_tables_tell_what_happened(tmp_path: Path, run: StoredRun) -> None:
    seen = events(contended(tmp_path), run.about.variant)
    jobs = {row.job: row for row in run.jobs()}
    assert list(jobs) == [row.job for row in run.jobs()], "a job has one line"
    assert set(jobs) == {each.job.name for each in seen if isinstance(each, Submitted)}
    done = [each for each in seen if isinstance(each, Finished)]
    assert [row.job for row in run.jobs() if row.outcome == "finished"] == [
        each.job.name for each in done
    ]
    for each in done:
        row = jobs[each.job.name]
        assert (row.first_start_ms, row.finish_ms) == (each.first_start_ms, each.at_ms)
        assert (row.told_to_leave, row.held_ms, row.lost_ms) == (
            each.evictions,
            each.held_ms,
            each.lost_ms,
        )
        assert (row.queue, row.user, row.kind) == (each.job.queue, each.job.user, each.job.kind)
        assert row.requests == each.job.requests
    told = [each for each in seen if isinstance(each, Evicted)]
    rows = list(run.evictions())
    assert rows, "the scenario is of no use without evictions"
    assert [(row.at_ms, row.job, row.pods, row.cause, row.beneficiary) for row in rows] == [
        (each.at_ms, each.job.name, each.pods, each.cause, each.beneficiary) for each in told
    ]
    assert [row.reason for row in rows] == [
        reason_json(each.reason) if each.reason else None for each in told
    ]
    assert [row.sentence for row in rows] == [
        reason_text(each.reason) if each.reason else "its node is gone" for each in told
    ]


def test_resource_time_is_the_same_in_all_files(run: StoredRun) -> None:
    """Jobs add up to their queue, buckets to the same, and both to what the summary says."""
    from_jobs: Counter[tuple[str, str]] = Counter()
    for row in run.jobs():
        above: str | None = row.queue
        while above is not None:
            for resource, amount in row.requests.items():
                from_jobs[above, resource] += amount * row.held_ms
            above = run.about.parents[above]
    for queue, measures in run.summary.of_queues.items():
        series = run.series.of_queue(queue)
        for resource in run.about.resources:
            assert sum(series.allocated[resource]) == measures.allocated[resource]
            assert sum(series.entitled[resource]) == measures.entitled[resource]
            assert from_jobs[queue, resource] == measures.allocated[resource]
        assert sum(series.evictions) == sum(measures.preemptions.values())
    assert sum(from_jobs.values()) > 0
    capacity = run.summary.of_cluster.capacity
    assert {name: sum(row) for name, row in run.series.capacity().items()} == capacity


def test_a_run_is_the_same_as_its_parts_put_together_by_hand(
    tmp_path: Path, run: StoredRun
) -> None:
    """Without samples everything that comes from jobs alone must be equal."""
    found = contended(tmp_path)
    prepared = prepare(found, found.by_name[run.about.variant])
    measures = Measures(run.about.resources, run.about.parents, start_ms=run.about.start_ms)
    simulation = prepared.simulation(measures)
    simulation.run()
    plain, _ = measures.end(simulation.now_ms)
    assert simulation.cycles == run.about.cycles
    for name, of_queue in plain.of_queues.items():
        stored = run.summary.of_queues[name]
        assert (of_queue.wait, of_queue.allocated, of_queue.lost, of_queue.preemptions) == (
            stored.wait,
            stored.allocated,
            stored.lost,
            stored.preemptions,
        )


def test_a_series_is_read_back_as_it_was_written(tmp_path: Path, run: StoredRun) -> None:
    """Writing what was read gives the same bytes, and the buckets are all there."""
    again = tmp_path / "series.csv"
    write_series(again, run.series)
    assert again.read_bytes() == (run.folder / "series.csv").read_bytes()
    assert read_series(again, run.about).lengths_ms() == run.series.lengths_ms()
    assert sum(run.series.lengths_ms()) == run.about.end_ms - run.about.start_ms


def test_fair_share_and_usage_are_those_of_kai(result: StoredResult) -> None:
    """Each queue's usage lies between nothing and all of the cluster; others tell of none."""
    kai, *others = result.runs
    told = [kai.series.of_queue(queue) for queue in kai.series.queues]
    gpu = "nvidia.com/gpu"
    for series in told:
        for used, length_ms in zip(series.usage_e9[gpu], kai.series.lengths_ms(), strict=True):
            assert 0 <= used <= 10**9 * length_ms
    assert any(any(series.usage_e9[gpu]) for series in told)
    assert any(any(series.fair_share[gpu]) for series in told)
    for run in others:
        for queue in run.series.queues:
            assert not any(run.series.of_queue(queue).fair_share[gpu])


def test_the_flat_measures_are_those_of_the_summary(run: StoredRun) -> None:
    lines = (run.folder / "measures.csv").read_text().splitlines()
    assert lines[0] == "scope,name,measure,resource,value"
    wait = run.summary.of_queues["a"].wait
    assert f"queue,a,wait/p90_ms,,{wait.p90_ms}" in lines
    held = run.summary.of_kinds["large"].allocated["nvidia.com/gpu"]
    assert f"kind,large,allocated,nvidia.com/gpu,{held}" in lines
    span_ms = run.summary.of_queues["a"].backlogged["nvidia.com/gpu"].span_ms
    assert f"queue,a,backlogged/span_ms,nvidia.com/gpu,{span_ms}" in lines


def test_the_same_run_is_written_in_the_same_bytes(tmp_path: Path, result: StoredResult) -> None:
    again = run_all(contended(tmp_path), tmp_path / "again")
    assert contents(again.folder) == contents(result.folder)


class _StopsAt(Unobserved):
    """Stops a run when some time has come."""

    def __init__(self, after_ms: int) -> None:
        self._after_ms = after_ms
        self._start_ms = 0
        self.asked = 0

    def begin(self, run: str, start_ms: int, until_ms: int | None, jobs: int | None) -> None:
        del run, until_ms, jobs
        self._start_ms = start_ms

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        del finished
        self.asked += 1
        return now_ms < self._start_ms + self._after_ms


def test_a_run_that_is_stopped_tells_all_until_then(tmp_path: Path, run: StoredRun) -> None:
    """Its tables are those of a whole run, cut off: the same jobs ended until then."""
    stopper = _StopsAt(400_000)
    found = contended(tmp_path)
    order = RunOrder(scenario=found, variant=run.about.variant, seed=3)
    about = run_variant(order, tmp_path / "run", phrase=reason_text, observer=stopper)
    assert not about.complete
    assert stopper.asked > 50
    part = StoredRun(tmp_path / "run")
    assert part.about == about
    done = [row for row in part.jobs() if row.outcome == "finished"]
    assert done == [row for row in run.jobs() if row.finish_ms and row.finish_ms < about.end_ms]
    assert part.summary.of_cluster.finished == len(done)
    assert part.series.end_ms == about.end_ms


def test_jobs_of_a_local_queue_are_counted_with_their_cluster_queue(tmp_path: Path) -> None:
    work = """
        policies: [kueue]
        queues: [{name: a, guaranteed: {gpu: 4}}]
        work: [{name: w, queue: default/a, jobs: [{requests: {gpu: 1}, run: 1h}]}]
    """
    found = scenario(tmp_path, NODES + indented(work))
    stored = run_all(found, tmp_path / "out").runs[0]
    assert stored.summary.of_queues["a"].finished == 1
    assert [row.queue for row in stored.jobs()] == ["a"]


def test_what_is_guaranteed_to_nobody_is_no_queue_of_a_result(result: StoredResult) -> None:
    """Two of eight GPUs are left over; under Kueue a cohort and a namespace stand for them."""
    for run in result.runs:
        assert list(run.summary.of_queues) == ["a", "b", "c", "top"]


def test_a_run_without_a_known_end_is_measured_exactly(tmp_path: Path) -> None:
    """Six jobs of two days, one a day, each of which takes all: they run one after the other.

    Those of a go first. Those of b come on days 1, 3 and 5 and start on days 6, 8 and 10: some wait
    for 9 days, in 4 of which another one has all 8 GPUs.
    """
    work = """
        queues: [{name: a}, {name: b}]
        work:
          - name: w
            queue: {inTurn: [a, b]}
            shapes: [{pods: 2, requests: {gpu: 4}, run: 2d}]
            arrivals: {every: {interval: 1d}}
            atMost: 6
    """
    stored = run_all(scenario(tmp_path, NODES + indented(work)), tmp_path / "out").runs[0]
    assert stored.about.complete
    assert stored.summary.of_cluster.finished == 6
    day_ms = 86_400_000
    assert stored.about.end_ms - stored.about.start_ms == 12 * day_ms
    backlogged = stored.summary.of_queues["b"].backlogged["nvidia.com/gpu"]
    assert (backlogged.span_ms, backlogged.received) == (9 * day_ms, 8000 * 4 * day_ms)


def test_a_reason_with_infinite_shares_and_fractions_can_be_read_back() -> None:
    comparison = Comparison(
        queue=QueueName("a"),
        axis=None,
        left=(Term("share", math.inf),),
        relation=">",
        right=Term("share", 0.1),
    )
    reason = Reason(
        code="Some",
        comparisons=(comparison,),
        shares=(SideShare(queue=QueueName("a"), before=math.inf, after=float(Fraction(1, 3))),),
    )
    text = reason_json(reason)
    assert "Infinity" not in text
    assert "1e999" in text
    read = msgspec.convert(json.loads(text), Reason, dec_hook=lambda kind, value: kind(value))
    assert read == reason


def test_a_happening_of_capacity_leaves_no_line(tmp_path: Path) -> None:
    """It is told at the start of every run, so it must be known to the listener."""
    seen: list[SimulationEvent] = events(contended(tmp_path), "kai")
    assert sum(isinstance(each, CapacityChanged) for each in seen) == 3


def test_what_a_run_was_is_plain_data(result: StoredResult) -> None:
    """Nothing of the machine, the clock or the place of the files is written down."""
    for name, text in contents(result.folder).items():
        assert str(result.folder.parent).encode() not in text, name
    assert RunAbout.__struct_fields__[:2] == ("name", "scenario")
