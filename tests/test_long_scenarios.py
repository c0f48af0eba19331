"""The long simulation that is measured is the one that the goals speak of."""

from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

from bench.long_scenarios import month
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.variant.prepare import prepare

DAY_MS = 86_400_000


def test_the_month_has_50_000_jobs_a_fifth_of_them_gangs_and_a_load_of_1_1(tmp_path: Path) -> None:
    """As they are drawn, without any scheduler: 1.1 x 1,000 GPUs x 720 h = 792,000 GPU hours."""
    file = tmp_path / "month.yaml"
    file.write_bytes(msgspec.json.encode(month(0, None)))
    scenario = read_scenario(str(file)).scenario
    assert scenario is not None
    assert scenario.spec.duration_ms == 30 * DAY_MS
    end_ms = scenario.spec.start_ms + 30 * DAY_MS
    work = prepare(scenario, scenario.by_name["kai"]).work
    jobs = list(takewhile(lambda job: job.submit_ms < end_ms, work.jobs()))
    assert len(jobs) == pytest.approx(50_000, rel=0.02)
    assert sum(job.pods > 1 for job in jobs) / len(jobs) == pytest.approx(0.2, rel=0.05)
    assert len({job.queue for job in jobs}) == 100
    asked = sum(job.pods * job.requests["nvidia.com/gpu"] * (job.run_ms or 0) for job in jobs)
    assert asked / 1000 / 3_600_000 == pytest.approx(792_000, rel=0.03)
