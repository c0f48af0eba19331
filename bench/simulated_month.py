"""What a long simulation costs: ``python -m bench.simulated_month --policy kueue --days 3``.

One run takes minutes, so this is no part of ``python -m bench`` and is run once, not the best of
several. Nothing is extrapolated: three days of a month are three days, and how many jobs wait at
their end matters more than how long they are. A line a day goes to stderr.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from bench.harness import AbsentInputError
from bench.long_scenarios import SCENARIOS
from fairlead.errors import SimulationError
from fairlead.sim.happenings import Finished, Happening, Submitted, ToldToLeave
from fairlead.sim.scenario.prepare import prepare
from fairlead.sim.scenario.read_scenario import read_scenario
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.with_settings import with_settings
from fairlead.usage.settings import DAY_MS

POLICIES = ("kai", "kueue", "elastic-quota")


def main() -> int:
    """Run what the arguments ask for, and print the figures."""
    arguments = _arguments()
    try:
        scenario = _read(arguments)
    except (AbsentInputError, SimulationError) as error:
        print(error, file=sys.stderr)
        return 1
    _run(scenario, arguments.policy)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.simulated_month", description=__doc__)
    parser.add_argument("--policy", choices=POLICIES, default="kueue")
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="month")
    parser.add_argument("--days", type=int, help="how long (default: 30, or all of a log)")
    parser.add_argument("--from-day", type=int, default=0, help="where to begin in a log")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a setting by name, such as atMostEvery=60s",
    )
    return parser.parse_args()


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _read(arguments: argparse.Namespace) -> Scenario:
    document = SCENARIOS[arguments.scenario](arguments.from_day, arguments.days)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_bytes(msgspec.json.encode(document))
        result = read_scenario(str(file))
    assert result.scenario is not None, "\n".join(map(str, result.findings))
    return with_settings(result.scenario, dict(arguments.set))


class _Counts:
    """Counts what happens, and says once a day how far it is."""

    def __init__(self, start_ms: int) -> None:
        self.of: Counter[type[Happening]] = Counter()
        self._start_ms = start_ms
        self._next_ms = start_ms + DAY_MS

    def __call__(self, happening: Happening) -> None:
        self.of[type(happening)] += 1
        if happening.at_ms >= self._next_ms:
            day = (happening.at_ms - self._start_ms) // DAY_MS
            self._next_ms = self._start_ms + (day + 1) * DAY_MS
            print(f"day {day}: {time.process_time():.1f} s, {self.told()}", file=sys.stderr)

    def told(self) -> str:
        came, done = self.of[Submitted], self.of[Finished]
        return f"{came} jobs came, {done} done, {self.of[ToldToLeave]} preemptions"


def _run(scenario: Scenario, policy: str) -> None:
    counts = _Counts(scenario.spec.start_ms)
    began = time.process_time()
    simulation = prepare(scenario, scenario.by_name[policy]).simulation(counts)
    ready = time.process_time()
    simulation.run()
    ended = time.process_time()
    days = (simulation.now_ms - scenario.spec.start_ms) / DAY_MS
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{scenario.name} under {policy}, {days:.2f} days: {counts.told()}")
    print(f"CPU {ended - ready:.2f} s, and {ready - began:.2f} s to make it ready")
    print(f"{simulation.cycles} cycles, {(ended - ready) * 1000 / simulation.cycles:.3f} ms each")
    print(f"peak memory {peak_mib:.0f} MiB")


if __name__ == "__main__":
    raise SystemExit(main())
