"""What a file of KAI's own simulator costs, which needs a control plane and real time there."""

from fractions import Fraction
from typing import Final

from bench.harness import Work, benchmark
from fairlead.sim.scenario.kai.simulator_file import (
    KaiSimulation,
    SimulatedJobs,
    SimulatedNodes,
    SimulatedQueue,
    run_kai_simulation,
)

TWO_QUEUES: Final = KaiSimulation(
    cycles=1_024,
    window_s=256,
    half_life_s=128,
    k=Fraction(1),
    nodes=(SimulatedNodes(gpus=16, count=1),),
    queues=(
        SimulatedQueue(name="department", parent=None),
        SimulatedQueue(name="left", parent="department"),
        SimulatedQueue(name="right", parent="department"),
    ),
    jobs=(
        SimulatedJobs(queue="left", gpus=16, pods=1, jobs=1),
        SimulatedJobs(queue="right", gpus=16, pods=1, jobs=1),
    ),
)
LINES: Final = 1 + 1_024 * 3


@benchmark(
    "simulate: KAI's two queues take turns, 1,024 cycles",
    goal_cpu_ms=500,
    peer="KAI 10 s of real time at least",
)
def _take_turns() -> Work:
    lines: list[str] = []
    run_kai_simulation(TWO_QUEUES, lines.append)
    assert len(lines) == LINES, len(lines)
    return lambda: run_kai_simulation(TWO_QUEUES, lambda _: None)
