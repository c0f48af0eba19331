"""What nobody could ever simulate is refused, with the number that it would come to."""

from pathlib import Path

import pytest

from fairlead.errors import SimulationError
from fairlead.sim.scenario.settings import with_settings
from tests.sim.scenario.scenario_files import NODES, QUEUES, read, scenario, told

GPUS = "  cluster: {nodes: [{name: node, count: 2, capacity: {gpu: GPUS}}]}\n"


def work(arrivals: str, more: str = "") -> str:
    shape = "{requests: {gpu: 1}, run: 1h}"
    return f"  work: [{{name: w, queue: a, shapes: [{shape}], arrivals: {arrivals}{more}}}]\n"


# The spec, and how many jobs it would make: what arrives an hour times the hours of a day.
TOO_MANY = {
    # Two nodes of 10^12 GPUs, jobs of one GPU and one hour: 2 * 10^12 an hour.
    "a load of a capacity that is a slip": (
        GPUS.replace("GPUS", "1000000000000") + work("{poisson: {load: 1}}"),
        f"{2 * 24 * 10**12:.1e} jobs",
        "see whether nodes have 2000000000000 nvidia.com/gpu together; lower load",
    ),
    "too many an hour": (
        NODES + work("{poisson: {perHour: 5000000}}"),
        "120,000,000 jobs",
        "lower perHour, or bound the source with atMost or until",
    ),
    "bursts that are too large": (
        NODES + work("{bursts: {perHour: 10, jobs: 1000000}}"),
        "240,000,000 jobs",
        "lower perHour",
    ),
    "one each millisecond, two at a time": (
        NODES + work("{every: {interval: 1ms, jobs: 2}}"),
        "172,800,000 jobs",
        "write a longer interval or fewer jobs",
    ),
    "too many at the times that are told": (
        NODES + work(f"{{at: {{times: [{', '.join(['1h'] * 101)}], jobs: 1000000}}}}"),
        "101,000,000 jobs",
        "write fewer jobs or times",
    ),
}


@pytest.mark.parametrize(("spec", "count", "fix"), TOO_MANY.values(), ids=TOO_MANY.keys())
def test_more_jobs_than_can_be_simulated_are_refused(
    tmp_path: Path, spec: str, count: str, fix: str
) -> None:
    result = read(tmp_path, "  duration: 1d\n" + QUEUES + spec)
    assert told(result.findings) == ["error 8 $.spec.work[0].arrivals out-of-range"]
    [finding] = result.findings
    assert finding.message == f"found some {count}, expected at most 100,000,000 in all"
    assert finding.fix.startswith(fix)


@pytest.mark.parametrize("bound", ["atMost: 1000", "arrivals"])
def test_a_bound_of_the_source_mends_it(tmp_path: Path, bound: str) -> None:
    until = ", until: 1m" if bound == "arrivals" else ""
    more = "" if bound == "arrivals" else f", {bound}"
    spec = work(f"{{poisson: {{perHour: 5000000{until}}}}}", more)
    scenario(tmp_path, "  duration: 1d\n" + QUEUES + NODES + spec)


def test_sources_that_are_too_many_only_together_are_reported_together(tmp_path: Path) -> None:
    one = work("{poisson: {perHour: 3000000}}").strip().removeprefix("work: [").removesuffix("]")
    both = f"  work: [{one}, {one.replace('name: w', 'name: x')}]\n"
    result = read(tmp_path, "  duration: 1d\n" + QUEUES + NODES + both)
    assert told(result.findings) == ["error 8 $.spec.work out-of-range"]
    assert "144,000,000 jobs" in result.findings[0].message


STEPS = {
    "  cycle: {every: 1ms}\n": "$.spec.cycle.every",
    "  cycle: {lookAgain: 1ms}\n": "$.spec.cycle.lookAgain",
    "  usage: {k: 1, fetchInterval: 1ms}\n": "$.spec.usage.fetchInterval",
    "  policies: [{policy: kai, usage: {fetchInterval: 1ms}}]\n": (
        "$.spec.policies[0].usage.fetchInterval"
    ),
}


@pytest.mark.parametrize(("period", "path"), STEPS.items())
def test_more_steps_than_can_be_simulated_are_refused(
    tmp_path: Path, period: str, path: str
) -> None:
    """A year has 3.2e10 milliseconds."""
    spec = QUEUES + NODES + work("{every: {interval: 1d}}") + period
    assert read(tmp_path, "  duration: 7d\n" + spec).scenario is not None
    [finding] = read(tmp_path, "  duration: 1y\n" + spec).findings
    assert finding.path == path
    assert "found 1ms in a duration of 8760h: some 31,536,000,000 steps" in finding.message


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"loadFactor": "1e9"}, r"\$\.spec\.work\[0\]\.arrivals: found some 2\.4e\+12 jobs"),
        ({"duration": "1y", "every": "1ms"}, r"\$\.spec\.cycle\.every: found 1ms in a duration"),
        ({"duration": "1y", "fetchInterval": "1ms"}, r"\$\.spec\.usage\.fetchInterval: found"),
    ],
)
def test_settings_are_bounded_alike(tmp_path: Path, settings: dict[str, str], path: str) -> None:
    spec = "  duration: 1d\n" + QUEUES + NODES + work("{poisson: {perHour: 100}}")
    listed = ", ".join(f"{name}={text}" for name, text in settings.items())
    with pytest.raises(SimulationError, match=f"^with {listed}: {path}"):
        with_settings(scenario(tmp_path, spec), settings)
