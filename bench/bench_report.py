"""What a report of a large run costs: from the files of a result to the bytes of its page.

The run is not simulated: 50,000 jobs of a month go through the measures and the writer of results
as a simulator would report them, so that only reading and showing them is measured. How large the
page is goes to stderr beside its goal.
"""

import sys
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from bench.harness import Work, benchmark
from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import Amounts
from fairlead.model.plan import Reason
from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.measures.measures import Measures
from fairlead.sim.report.make_report import make_report
from fairlead.sim.results.about import RunAbout, WorkMarks
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.results.run_writer import RunWriter
from fairlead.web.page.write_page import write_page

JOBS: Final = 50_000
QUEUES: Final = 100
DEPARTMENTS: Final = 10
EVICTED: Final = 7  # every so many-th job has to leave once
START_MS: Final = 1_767_571_200_000
HOUR_MS: Final = 3_600_000
MONTH_MS: Final = 30 * 24 * HOUR_MS
SAMPLES: Final = 1_000
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
CAPACITY: Final = (16_000_000, 125 * 2**40, 1_000_000)
GOAL_MB: Final = 5
PARENTS: Final[dict[str, str | None]] = {
    **{f"department-{at}": None for at in range(DEPARTMENTS)},
    **{f"queue-{at:02}": f"department-{at % DEPARTMENTS}" for at in range(QUEUES)},
}


@benchmark("report: page of a month with 50,000 jobs, 100 queues", goal_cpu_ms=10_000)
def _page() -> Work:
    folder = TemporaryDirectory()
    _write_month(Path(folder.name))
    page = _report(folder.name)
    print(f"  its page has {len(page) / 1e6:.2f} MB, the goal is {GOAL_MB}", file=sys.stderr)
    return lambda: _report(folder.name)


def _report(folder: str) -> bytes:
    result = read_result(folder)
    return write_page("report", "a month", make_report(result.about.scenario, result.runs))


def _write_month(folder: Path) -> None:
    result = ResultFolder(folder, "a month", ["month"])
    writer = RunWriter(result.of_run("month"), RESOURCES, reason_text)
    measures = Measures(RESOURCES, PARENTS, start_ms=START_MS, horizon_ms=MONTH_MS)
    for told in merge(_events(), _samples(), key=lambda each: each.at_ms):
        if isinstance(told, EntitlementChange):
            measures.change_due(told)
        else:
            measures(told)
            writer(told)
    summary, series = measures.end(START_MS + MONTH_MS)
    about = RunAbout(
        name="month",
        scenario="a month",
        variant="kai",
        policy="kai",
        seed=1,
        complete=True,
        start_ms=START_MS,
        end_ms=START_MS + MONTH_MS,
        cycles=JOBS,
        resources=RESOURCES,
        parents=PARENTS,
        bucket_ms=series.bucket_ms,
        work=WorkMarks(duration_ms=MONTH_MS, sources={}),
    )
    writer.end(about, summary, series)
    result.ended(about)
    result.close()


def _events() -> Iterator[SimulationEvent]:
    """Return what happens, by time; at one time as it comes."""
    capacity = dict(zip(RESOURCES, CAPACITY, strict=True))
    yield CapacityChanged(at_ms=START_MS, capacity=capacity)
    random = Random(1)
    told = [each for number in range(JOBS) for each in _life(_job(number, random), random, number)]
    end_ms = START_MS + MONTH_MS
    yield from sorted((each for each in told if each.at_ms < end_ms), key=lambda each: each.at_ms)


def _job(number: int, random: Random) -> Job:
    gpus = random.choice([1, 1, 1, 2, 4, 8])
    return Job(
        name=f"job-{number}",
        queue=f"queue-{int(random.paretovariate(1.1)) % QUEUES:02}",
        user=f"user-{number % 300}",
        kind=random.choice(["training", "serving"]),
        submit_ms=START_MS + MONTH_MS * number // JOBS,
        run_ms=int(random.lognormvariate(0, 1.2) * HOUR_MS),
        requests={"cpu": gpus * 8_000, "memory": gpus * 2**35, "nvidia.com/gpu": gpus * 1000},
    )


def _life(job: Job, random: Random, number: int) -> Iterator[SimulationEvent]:
    """Submitted, started, for some evicted and started again, and done."""
    why = Reason(code="ReclaimedByFairShare", names=(f"queue-{number % QUEUES:02}",))
    at_ms = job.submit_ms + int(random.expovariate(1 / HOUR_MS))
    first_ms = at_ms
    yield Submitted(at_ms=job.submit_ms, job=job)
    yield Started(at_ms=at_ms, job=job, pods=1, running=1, reason=why)
    if number % EVICTED == 0:
        at_ms += (job.run_ms or 0) // 2
        yield Evicted(at_ms=at_ms, job=job, pods=1, cause="evicted", beneficiary=None, reason=why)
        yield Stopped(at_ms=at_ms, job=job, pods=1, running=0, cause="evicted", lost_ms=HOUR_MS)
        at_ms += HOUR_MS
        yield Started(at_ms=at_ms, job=job, pods=1, running=1, reason=why)
    at_ms += job.run_ms or 0
    yield Finished(
        at_ms=at_ms,
        job=job,
        pods=1,
        first_start_ms=first_ms,
        evictions=int(number % EVICTED == 0),
        held_ms=job.run_ms or 0,
        lost_ms=0,
    )


def _samples() -> Iterator[EntitlementChange]:
    """Return what is due to every queue, which changes all the time."""
    random = Random(2)
    leaves = [name for name, parent in PARENTS.items() if parent is not None]
    for number in range(SAMPLES):
        shares: dict[str, Amounts] = {
            name: tuple(int(each * random.random() / QUEUES) for each in CAPACITY)
            for name in leaves
        }
        usage: dict[str, Amounts] = {
            name: tuple(random.randrange(10**9) for _ in CAPACITY) for name in PARENTS
        }
        yield EntitlementChange(
            at_ms=START_MS + number * MONTH_MS // SAMPLES,
            entitled=shares,
            demand=shares,
            fair_share=shares,
            usage_e9=usage,
        )
