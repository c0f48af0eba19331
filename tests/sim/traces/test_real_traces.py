"""The traces of the shared folder hold what the page beside them says."""

from fractions import Fraction

import pytest

from fairlead.sim.traces.read_rows import TraceTally
from fairlead.sim.traces.trace_job import CPU, GPU
from tests.shared_folder import shared_file
from tests.sim.traces.trace_files import HOUR_MS, jobs_of, rows_of
from tests.text_table import rows

# A dash is what a trace does not tell. GPU-h and CPU-h are rounded as the page rounds them.
TRACES = """
    file                jobs    users  groups  queues  span_d  gpu_h     cpu_h
    philly-vc           82247   0      0       15      108.9   978078.5  -
    alibaba-openb-2023  8151    0      0       4       149.3   51499     696691
    kth-sp2-1996        28481   214    252     0       339.9   -         560703
    lcg-2005            187520  216    28      0       11.0    -         417370
"""


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


@pytest.mark.parametrize("row", rows(TRACES), ids=lambda row: row["file"])
def test_a_trace_holds_what_is_reported_of_it(row: dict[str, str]) -> None:
    tally = TraceTally()
    found = rows_of(shared_file(f"traces/{row['file']}.csv.gz"), tally=tally)
    names = [
        len({each for job in found if (each := getattr(job, kind))})
        for kind in ("user", "group", "queue")
    ]
    assert [len(found), *names] == [int(row[n]) for n in "jobs users groups queues".split()]
    assert (tally.rows, tally.broken, tally.dropped) == (len(found), 0, {})
    submits = [job.submit_ms for job in found]
    assert submits == sorted(submits)
    span_d = (submits[-1] - submits[0]) / (24 * HOUR_MS)
    assert abs(span_d - float(row["span_d"])) <= 0.05
    for resource, column in ((GPU, "gpu_h"), (CPU, "cpu_h")):
        used = sum(dict(job.asks).get(resource, 0) * (job.run_ms or 0) for job in found)
        hours = Fraction(used, 1000 * HOUR_MS)
        if row[column] == "-":
            assert hours == 0
        else:
            assert round(float(hours), decimals(row[column])) == float(row[column])


def test_jobs_that_share_a_gpu_keep_their_thousandths() -> None:
    """8,151 pods, of which 3,911 + 44 + 16 + 15 take 1, 8, 2 or 4 GPUs and 1,088 none."""
    jobs = jobs_of(shared_file("traces/alibaba-openb-2023.csv.gz"))
    sharing = sum(job.requests.get(GPU, 0) % 1000 > 0 for job in jobs)
    assert sharing == 8151 - 3911 - 44 - 16 - 15 - 1088
    assert jobs[1].requests[GPU] == 460


def test_as_many_jobs_share_each_size_of_a_gpu_as_stand_in_the_file() -> None:
    jobs = jobs_of(shared_file("traces/alibaba-openb-2023.csv.gz"))
    assert sum(job.requests.get(GPU) == 810 for job in jobs) == 1078
