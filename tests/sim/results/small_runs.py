"""Small scenarios that were run and written, one folder for each rule set."""

from contextlib import closing
from pathlib import Path

from fairlead.explain.text.reasons import reason_text
from fairlead.sim.results.read_result import StoredResult, read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.run.run_variant import RunObserver, RunOrder, run_variant
from fairlead.sim.scenario.scenario import Scenario
from tests.sim.scenario.scenario_files import indented, scenario

CONTENDED = indented(
    """
    start: 2026-03-01T05:00:00Z
    duration: 10m
    seed: 3
    cluster:
      nodes: [{name: node, count: 2, capacity: {cpu: 8, memory: 32Gi, gpu: 4}}]
      changes: [{at: 4m, lose: [node-2], for: 2m}]
    queues:
      - {name: top, guaranteed: {gpu: 6}}
      - {name: a, parent: top, guaranteed: {gpu: 2}}
      - {name: b, parent: top, guaranteed: {gpu: 2}}
      - {name: c}
    policies: [kai, kueue, elastic-quota]
    pods: {grace: 5s}
    cycle: {atMostEvery: 1s}
    usage: {k: 1, halfLife: 5m}
    work:
      - name: small
        queue: {drawn: {a: 1, b: 2}}
        user: {inTurn: [ann, bo]}
        shapes: [{requests: {gpu: 2, memory: 8Gi}, run: {exponential: {mean: 90s}}}]
        arrivals: {poisson: {load: 0.9}}
      - name: large
        queue: c
        shapes: [{pods: 2, minPods: 1, requests: {gpu: 2}, run: 4m, checkpoint: 30s}]
        backlog: {jobs: 1}
    """
)
"""Three queues want more than there is, a node is lost for two minutes, and c borrows."""


def contended(folder: Path) -> Scenario:
    """Read the scenario from a file in *folder*."""
    return scenario(folder, CONTENDED)


def run_all(scenario: Scenario, to: Path, observer: RunObserver | None = None) -> StoredResult:
    """Run *scenario* under each of its rule sets, and read back what was written."""
    names = [variant.name for variant in scenario.variants]
    with closing(ResultFolder(to, scenario.name, names)) as result:
        for name in names:
            order = RunOrder(scenario=scenario, variant=name, seed=scenario.spec.seed)
            folder = result.of_run(name)
            result.ended(run_variant(order, folder, phrase=reason_text, observer=observer))
    return read_result(to)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below *folder*, by its path from there."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}
