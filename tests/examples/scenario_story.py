"""Runs a scenario of examples/scenarios and says what its story is about: who ran, and when."""

from bisect import bisect_right
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

from fairlead.sim.engine.events import Evicted, Finished, SimulationEvent, Started, Stopped
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.variant.prepare import prepare
from tests.shared_folder import ROOT

FOLDER = ROOT / "examples" / "scenarios"
FILES = sorted(FOLDER.glob("*/*.yaml"))
SECOND = 1000


class Story:
    """All that happened in one run, in seconds since its start."""

    def __init__(self, name: str, variant: str) -> None:
        result = read_scenario(str(FOLDER / f"{name}.yaml"))
        assert result.scenario is not None, "\n".join(map(str, result.findings))
        assert {each.severity for each in result.findings} <= {"advice"}
        self._start_ms = result.scenario.spec.start_ms
        self._seen: list[SimulationEvent] = []
        self._steps: dict[str, list[tuple[float, int]]] = defaultdict(lambda: [(0.0, 0)])
        simulation = prepare(result.scenario, result.scenario.by_name[variant]).simulation(
            self._take
        )
        simulation.run()
        self.end = self._second(simulation.now_ms)

    def starts(self, job: str = "") -> list[float]:
        """When *job*, or any job, started."""
        return [
            self._second(each.at_ms)
            for each in self._seen
            if isinstance(each, Started) and job in ("", each.job.name)
        ]

    def started(self) -> list[str]:
        """Whose jobs started, in order: their queues."""
        return [each.job.queue for each in self._seen if isinstance(each, Started)]

    def told_to_leave(self) -> list[tuple[float, str]]:
        """Who had to leave when."""
        told = [each for each in self._seen if isinstance(each, Evicted)]
        return [(self._second(each.at_ms), each.job.name) for each in told]

    def held(self, at: float) -> dict[str, int]:
        """How many GPUs, or CPUs, each queue had then; those that had none are left out."""
        levels = {
            queue: steps[bisect_right(steps, at, key=lambda step: step[0]) - 1][1]
            for queue, steps in self._steps.items()
        }
        return {queue: level for queue, level in sorted(levels.items()) if level}

    def mean(self, queue: str, since: float, until: float) -> float:
        """How many a queue had on average."""
        steps = self._steps[queue]
        times = [since, *(at for at, _ in steps if since < at < until), until]
        total = sum(
            self.held(begin).get(queue, 0) * (end - begin) for begin, end in pairwise(times)
        )
        return total / (until - since)

    def _take(self, event: SimulationEvent) -> None:
        self._seen.append(event)
        match event:
            case Started(pods=pods):
                change = pods
            case Stopped(pods=pods) | Finished(pods=pods):
                change = -pods
            case _:
                return
        (amount,) = event.job.requests.values()
        steps = self._steps[event.job.queue]
        level = steps[-1][1] + change * amount // 1000
        steps.append((self._second(event.at_ms), level))

    def _second(self, at_ms: int) -> float:
        return (at_ms - self._start_ms) / SECOND


@cache
def story(name: str, variant: str) -> Story:
    """Run the scenario of that name, under the rules of that name."""
    return Story(name, variant)


def described(file: Path) -> str:
    """Return what a file says about itself, above its first line."""
    lines = file.read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("#"))
