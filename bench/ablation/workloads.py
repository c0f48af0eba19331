"""The work on which shortcuts are measured: a made-up month, a real log, and one busy cycle.

Each returns a digest of what was decided, since a shortcut must not change it.
"""

import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.harness import Preparation
from bench.long_scenarios import SCENARIOS
from fairlead.explain.text.reasons import reason_text
from fairlead.sim.run.run_variant import RunOrder, run_variant
from fairlead.sim.scenario.read.read_scenario import read_scenario

Work = Callable[[], str]


class AblationWorkload(NamedTuple):
    """A named piece of work; the preparation is not timed."""

    name: str
    prepare: Callable[[], Work]


def simulated(scenario: str, policy: str, days: int, from_day: int = 0) -> AblationWorkload:
    """Return so many days of a long scenario under *policy*."""

    def prepare() -> Work:
        document = SCENARIOS[scenario](from_day, days)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "scenario.yaml"
            file.write_bytes(msgspec.json.encode(document))
            result = read_scenario(str(file))
        read = result.scenario
        assert read is not None, "\n".join(map(str, result.findings))
        order = RunOrder(scenario=read, variant=policy, seed=read.spec.seed)

        def work() -> str:
            with tempfile.TemporaryDirectory() as parent:
                folder = Path(parent) / policy
                run_variant(order, folder, phrase=reason_text)
                return _digest(folder)

        return work

    name = f"{scenario}, {days} days" + (f" from day {from_day}" if from_day else "")
    return AblationWorkload(name, prepare)


def decided(name: str, benchmark: Preparation, times: int = 2) -> AblationWorkload:
    """Return a benchmark that returns its decisions, done so many *times*."""

    def prepare() -> Work:
        decide = benchmark()

        def work() -> str:
            made = [decide() for _ in range(times)]
            return sha256(repr(made).encode()).hexdigest()

        return work

    return AblationWorkload(name, prepare)


def _digest(folder: Path) -> str:
    """Return a digest of the jobs and evictions in a result folder."""
    digest = sha256()
    for file in sorted(folder.glob("*.csv*")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
