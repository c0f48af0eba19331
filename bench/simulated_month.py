"""What a long simulation costs: ``python -m bench.simulated_month --policy kueue --days 3``.

It is what ``fairlead simulate`` does for one run, measures and files included. One run takes
minutes, so this is no part of ``python -m bench`` and is run once, not the best of several. Nothing
is extrapolated: three days of a month are three days, and how many jobs wait at their end matters
more than how long they are. A line a day goes to stderr.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from bench.harness import AbsentInputError
from bench.long_scenarios import SCENARIOS
from fairlead.errors import SimulationError
from fairlead.explain.text.reasons import reason_text
from fairlead.sim.results.read_result import StoredRun
from fairlead.sim.run.run_variant import RunObserver, RunOrder, run_variant
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.settings import with_settings
from fairlead.usage.settings import DAY_MS

POLICIES: Final = ("kai", "kueue", "elastic-quota")
GOALS_S: Final[Mapping[tuple[str, str], int]] = {
    **{("month", policy): 120 for policy in POLICIES},
    **{("lcg", policy): 60 for policy in POLICIES},
    ("philly", "kai"): 120,
    ("philly", "kueue"): 60,
}
"""For the whole of it. A bare first-in-first-out loop over the events of the month takes 0.2 s."""


def main() -> int:
    """Run what the arguments ask for, and print the figures."""
    arguments = _arguments()
    try:
        scenario = _read(arguments)
    except (AbsentInputError, SimulationError) as error:
        print(error, file=sys.stderr)
        return 1
    goal_s = None if arguments.days else GOALS_S.get((arguments.scenario, arguments.policy))
    _run(scenario, arguments.policy, goal_s)
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


class _Days(RunObserver):
    """Says once a day how far it is."""

    def begin(self, run: str, start_ms: int, until_ms: int | None, jobs: int | None) -> None:
        """Begin to count days."""
        del run, until_ms, jobs
        self._start_ms = start_ms
        self._day = 0

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        """Let it go on, whatever it costs."""
        day = (now_ms - self._start_ms) // DAY_MS
        if day > self._day:
            self._day = day
            print(f"day {day}: {time.process_time():.1f} s, {finished} jobs done", file=sys.stderr)
        return True


def _run(scenario: Scenario, policy: str, goal_s: int | None) -> None:
    order = RunOrder(scenario=scenario, variant=policy, seed=scenario.spec.seed)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / policy
        began_s, began_wall_s = time.process_time(), time.perf_counter()
        about = run_variant(order, folder, phrase=reason_text, observer=_Days())
        cpu_s = time.process_time() - began_s
        wall_s = time.perf_counter() - began_wall_s
        jobs = StoredRun(folder).summary.of_cluster
    days = (about.end_ms - about.start_ms) / DAY_MS
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    causes = ", ".join(f"{count} {cause}" for cause, count in jobs.preemptions.items())
    print(f"{scenario.name} under {policy}, {days:.2f} days: {jobs.submitted} jobs came,")
    print(f"{jobs.finished} done, {causes or 'no evictions'}")
    goal = "" if goal_s is None else f", goal {goal_s} s"
    print(f"CPU {cpu_s:.2f} s{goal}; wall {wall_s:.2f} s")
    print(f"{about.cycles} cycles, {cpu_s * 1000 / about.cycles:.3f} ms each")
    print(f"peak memory {peak_mib:.0f} MiB")


if __name__ == "__main__":
    raise SystemExit(main())
