"""Small results in a folder, from histories that are written as tables."""

from contextlib import closing
from pathlib import Path

from fairlead.explain.text.reasons import reason_text
from fairlead.sim.engine.events import SimulationEvent
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.results.about import RunAbout, WorkMarks
from fairlead.sim.results.read_result import StoredResult, read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.results.run_writer import RunWriter
from tests.sim.measures.histories import Told, measure, written

JOBS = """
    job  queue  submit  run    pods  gpu
    x    a      0       20000  1     4000
    y    b      0       5000   1     4000
    z    b      5000    5000   2     1000
"""
STORY = """
    at     what      to  pods  more
    0      capacity  -   4000  -
    0      submit    x   -     -
    0      submit    y   -     -
    0      due       a   -     2000/6000
    0      due       b   -     2000/4000
    0      start     x   1     -
    5000   submit    z   -     -
    10000  told      x   1     -
    12000  stop      x   1     12000
    12000  start     y   1     -
    17000  finish    y   1     -
    17000  start     x   1     -
"""
END_MS = 30_000
PARENTS: dict[str, str | None] = {"a": "top", "b": "top", "top": None}


def small_run(name: str = "first", *, complete: bool = True, seed: int = 1) -> RunAbout:
    """What is told about a run; its end and its buckets are those of the story."""
    return RunAbout(
        name=name,
        scenario="small",
        variant=name,
        policy="kai",
        seed=seed,
        complete=complete,
        start_ms=0,
        end_ms=END_MS,
        cycles=7,
        resources=("gpu",),
        parents=PARENTS,
        bucket_ms=15,
        work=WorkMarks(duration_ms=END_MS, sources={"w": "the mark of its jobs"}),
    )


def write_result(
    folder: Path,
    *runs: RunAbout,
    jobs: str = JOBS,
    story: str = STORY,
    told: list[Told] | None = None,
    asked: tuple[str, ...] = (),
) -> StoredResult:
    """Write the same history as each of *runs*; *asked* are names of runs that never ended."""
    history = written(jobs, story) if told is None else told
    names = [*(run.name for run in runs), *asked]
    with closing(ResultFolder(folder, runs[0].scenario, names)) as result:
        for about in runs:
            write_run(result.of_run(about.name), about, history)
            result.ended(about)
    return read_result(folder)


def write_run(folder: Path, about: RunAbout, told: list[Told]) -> None:
    """Write what is *told* as the run of that name."""
    writer = RunWriter(folder, about.resources, reason_text)
    for each in told:
        if not isinstance(each, EntitlementChange):
            event: SimulationEvent = each
            writer(event)
    summary, series = measure(
        told,
        about.end_ms,
        resources=about.resources,
        parents=dict(about.parents),
        start_ms=about.start_ms,
    )
    assert series.bucket_ms == about.bucket_ms
    writer.end(about, summary, series)
