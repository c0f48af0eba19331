"""Victims in Kueue's bench world: 1,000 queues under 100 cohorts, 10,000 workloads, all full.

The world is a case as Kueue's recorded answers have them. Building it is not timed for a search,
which leaves the world as it was; a cycle does not, so there it is built anew and timed with it.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from bench.harness import AbsentInputError, Work, benchmark
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from tests.conformance.kueue_cycle import turns
from tests.conformance.kueue_targets import question_of

WORLD = "vectors/kueue-bench-world.json"


@benchmark("kueue: fair targets, 10 victims", goal_cpu_ms=2.0, peer="Kueue 23-35 ms")
def ten_victims() -> Work:
    """The queue borrows, so shares are compared."""
    return _fair({}, {"InCohortFairSharing": 10})


@benchmark("kueue: fair targets, no solution", goal_cpu_ms=5.0, peer="Kueue 131-151 ms")
def no_solution() -> Work:
    """The queue would borrow more than all others do."""
    asked = {"cq": "q0003", "requests": {"cpu": 10_000, "nvidia.com/gpu": 10}}
    return _fair(asked, {})


@benchmark("kueue: fair targets within quota, 5 victims", goal_cpu_ms=2.0, peer="Kueue 38-43 ms")
def within_quota() -> Work:
    """What was lent goes back, whatever the shares are."""
    asked = {"cq": "q0095", "requests": {"cpu": 5_000, "nvidia.com/gpu": 5}}
    return _fair(asked, {"InCohortReclamation": 5})


@benchmark("kueue: targets without fair sharing, 10 victims")
def classical() -> Work:
    """All candidates stand in one order."""
    asked = question_of(_world({}))

    def search() -> None:
        targets = classical_targets(asked.snapshot, asked.preemptor)
        assert len(targets) == 10

    return search


@benchmark("kueue: full cycle of 1,000 heads", goal_cpu_ms=2_000.0, peer="Kueue 269 s")
def full_cycle() -> Work:
    """Every queue has a head and nothing is free, so a head preempts a workload or waits."""
    world = _world({})

    def cycle() -> None:
        had = turns(world)
        outcomes = Counter(turn.outcome for turn in had)
        assert outcomes == {"preempting": 929, "nocandidates": 71}
        assert sum(len(turn.targets) for turn in had) == 929

    return cycle


def _fair(changes: dict[str, Any], reasons: dict[str, int]) -> Work:
    asked = question_of(_world(changes))

    def search() -> None:
        # A copy knows no order of asking: searches of one cycle that share it take less.
        targets = fair_targets(asked.snapshot.copy(), asked.preemptor, asked.settings)
        found = [target.reason for target in targets]
        assert found == [reason for reason, count in reasons.items() for _ in range(count)]

    return search


def _world(changes: dict[str, Any]) -> dict[str, Any]:
    """Read the world, with an incoming workload that differs by *changes*."""
    default = Path(__file__).resolve().parent.parent.parent / "shared"
    file = Path(os.environ.get("FAIRLEAD_SHARED") or default) / WORLD
    if not file.exists():
        raise AbsentInputError(f"no {WORLD} in the shared folder: set FAIRLEAD_SHARED")
    world: dict[str, Any] = json.loads(file.read_text())
    world["incoming"] |= changes
    return world
