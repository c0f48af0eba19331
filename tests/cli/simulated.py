"""Small scenarios for the commands that simulate."""

from pathlib import Path

from tests.sim.scenario.scenario_files import HEAD, NODES, indented

WORK = indented(
    """
    duration: 6m
    queues:
      - {name: top}
      - {name: a, parent: top, guaranteed: {gpu: 4}}
      - {name: b, parent: top, guaranteed: {gpu: 2}}
    usage: {k: 1, halfLife: 3m}
    cycle: {atMostEvery: 3s}
    work:
      - name: w
        queue: {drawn: {a: 1, b: 1}}
        shapes: [{requests: {gpu: 2}, run: {exponential: {mean: 60s}}}]
        arrivals: {poisson: {load: 1.1}}
    """
)


def write_scenario(folder: Path, more: str = "") -> str:
    """Write a scenario of six minutes in which two queues want more than eight GPUs."""
    file = folder / "small.yaml"
    file.write_text(HEAD + NODES + WORK + indented(more or "seed: 1"), encoding="utf-8")
    return str(file)
