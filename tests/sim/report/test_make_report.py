"""The document of a page: numbers that can be worked out by hand, and never too many of them."""

from pathlib import Path

import msgspec
import pytest

from fairlead.model.axes import Amounts
from fairlead.model.plan import Reason
from fairlead.sim.engine.events import CapacityChanged, Evicted, Started, Submitted
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.report import make_report as module
from fairlead.sim.report.make_report import make_report
from fairlead.sim.report.report_page import Points, QueueLines, ReportPage
from tests.sim.measures.histories import Told
from tests.sim.report.small_results import small_run, write_result

GOLDEN = Path(__file__).parent / "golden-report.json"


def small_page(folder: Path) -> ReportPage:
    result = write_result(folder, small_run())
    return make_report(result.about.scenario, result.runs, is_complete=result.about.complete)


def mean(points: Points | None) -> float:
    return sum(points or []) / len(points or [1])


def test_averages_are_those_of_the_story(tmp_path: Path) -> None:
    """4 GPUs. a holds all until 12 s and from 17 s to 30 s: 25/30 of 4. b holds them for 5 s."""
    (run,) = small_page(tmp_path).runs
    a, b, top = (run.lines.get(str(place), {}).get("gpu") for place in range(3))
    assert isinstance(a, QueueLines)
    assert isinstance(b, QueueLines)
    assert isinstance(top, QueueLines)  # in no group, and there is room for every queue
    assert mean(a.allocated) == pytest.approx(4 * 25 / 30, rel=1e-3)
    assert mean(b.allocated) == pytest.approx(4 * 5 / 30, rel=1e-3)
    assert mean(a.entitled) == mean(b.entitled) == 2
    assert (a.fair_share, a.usage) == (None, None)
    assert run.capacity["gpu"] == [4] * run.buckets


def test_buckets_cover_the_time_exactly(tmp_path: Path) -> None:
    """2,000 buckets of 15 ms become 400 of 75 ms: five together, the least that gives 480."""
    (run,) = small_page(tmp_path).runs
    assert (run.bucket_ms, run.buckets) == (75, 400)


def test_evictions_and_waits_are_those_of_the_story(tmp_path: Path) -> None:
    (run,) = small_page(tmp_path).runs
    assert (run.evictions.total, run.evictions.at_ms, run.evictions.job) == (1, [10_000], ["x"])
    assert run.queues[run.evictions.queue[0] or 0].name == "a"
    # x waits 0 s and y waits 12 s, which is between 10 s and 30 s; z never starts.
    assert [run.waits[""].counts[at] for at in (0, 3)] == [1, 1]
    assert sum(run.waits[""].counts) == 2


def test_measures_are_in_hours_of_what_people_count(tmp_path: Path) -> None:
    """Queue a holds 4 GPUs for 25 s: 100 GPU seconds are 100 / 3600 GPU hours."""
    page = small_page(tmp_path)
    by_resource = [column.key for column in page.columns if column.by_resource]
    rows = {row.name: row for row in page.runs[0].measures["queue"].rows}
    got = rows["a"].by_resource["gpu"][by_resource.index("allocated")]
    assert got == pytest.approx(100 / 3600)


def test_the_small_report_is_as_it_was(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    page = small_page(tmp_path)
    (run,) = page.runs
    short = {
        place: {
            resource: msgspec.structs.replace(
                lines,
                allocated=lines.allocated and lines.allocated[::40],
                entitled=lines.entitled and lines.entitled[::40],
            )
            for resource, lines in by_resource.items()
        }
        for place, by_resource in run.lines.items()
    }
    capacity = {resource: points[::40] for resource, points in run.capacity.items()}
    run = msgspec.structs.replace(run, lines=short, capacity=capacity)
    page = msgspec.structs.replace(page, runs=[run])
    text = msgspec.json.format(msgspec.json.encode(page), indent=1).decode() + "\n"
    if pytestconfig.getoption("--refresh-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_partial_result_says_so_of_the_run_and_of_the_whole(tmp_path: Path) -> None:
    result = write_result(tmp_path, small_run(complete=False))
    page = make_report("small", result.runs, is_complete=result.about.complete)
    assert (page.complete, page.runs[0].complete) == (False, False)


def test_a_run_that_never_ended_makes_the_result_partial(tmp_path: Path) -> None:
    result = write_result(tmp_path, small_run(), asked=("second",))
    page = make_report("small", result.runs, is_complete=result.about.complete)
    assert (page.complete, page.runs[0].complete) == (False, True)


def many_queues(queues: int, evictions: int) -> list[Told]:
    """A job in each queue from the start, which is told to leave again and again."""
    told: list[Told] = [CapacityChanged(at_ms=0, capacity={"gpu": 1000 * queues})]
    jobs = [
        Job(name=f"job-{at}", queue=f"q-{at}", submit_ms=0, run_ms=None, requests={"gpu": 1000})
        for at in range(queues)
    ]
    why = Reason(code="because")
    for job in jobs:
        told.append(Submitted(at_ms=0, job=job))
        told.append(Started(at_ms=0, job=job, pods=1, running=1, reason=why))
    due: dict[str, Amounts] = {job.queue: (900,) for job in jobs}
    told.append(EntitlementChange(at_ms=0, entitled=due, demand=due, fair_share=due))
    for at_ms in range(1, evictions + 1):
        job = jobs[at_ms % queues]
        told.append(
            Evicted(at_ms=at_ms, job=job, pods=1, cause="evicted", beneficiary=None, reason=why)
        )
    return told


def numbers_in(lines: dict[str, QueueLines]) -> int:
    return sum(
        len(points)
        for each in lines.values()
        for points in (each.allocated, each.entitled, each.fair_share, each.usage)
        if points
    )


def test_a_large_result_makes_a_page_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 queues in 6 departments: 8 groups; a page of 12,000 numbers has room for a few."""
    monkeypatch.setattr(module, "MOST_NUMBERS", 12_000)
    parents: dict[str, str | None] = {f"q-{at}": f"department-{at % 6}" for at in range(24)}
    parents |= {f"department-{at}": None for at in range(6)}
    runs = [
        msgspec.structs.replace(small_run(name), parents=dict(sorted(parents.items())))
        for name in ("first", "second")
    ]
    result = write_result(tmp_path, *runs, told=many_queues(24, 2500))
    page = make_report("small", result.runs)
    total = sum(
        numbers_in(lines)
        for run in page.runs
        for lines in (*run.lines.values(), *(group.others_lines for group in run.groups))
    )
    assert 6_000 < total <= 12_000
    assert all(run.buckets >= module.FEWEST_BUCKETS for run in page.runs)
    for run in page.runs:
        assert run.groups_left_out == 8 - len(run.groups) > 0
        assert run.evictions.total == 2500
        assert len(run.evictions.at_ms) <= module.MOST_EVICTIONS_OF_RUN


def test_others_have_together_what_each_of_them_has(tmp_path: Path) -> None:
    """Twelve queues with 1 GPU each: seven by themselves, five together with 5 GPUs."""
    parents: dict[str, str | None] = {f"q-{at}": None for at in range(12)}
    run = msgspec.structs.replace(small_run(), parents=dict(sorted(parents.items())))
    result = write_result(tmp_path, run, told=many_queues(12, 0))
    (group,) = make_report("small", result.runs).runs[0].groups
    assert len(group.others) == 5
    lines = group.others_lines["gpu"]
    assert lines.allocated is not None
    assert lines.entitled is not None
    assert set(lines.allocated) == {5}
    assert set(lines.entitled) == {4.5}
