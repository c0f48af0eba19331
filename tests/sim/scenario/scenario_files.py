"""Small scenarios in files, and what becomes of them."""

from pathlib import Path
from textwrap import dedent

from fairlead.errors import Finding
from fairlead.sim.engine.events import SimulationEvent
from fairlead.sim.scenario.read.read_scenario import SimulationFile, read_scenario
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.variant.prepare import prepare

HEAD = "apiVersion: fairlead/v1\nkind: Scenario\nmetadata: {name: small}\nspec:\n"
NODES = "  cluster: {nodes: [{name: node, count: 2, capacity: {cpu: 8, memory: 32Gi, gpu: 4}}]}\n"
QUEUES = "  queues: [{name: a}, {name: b}]\n"
WORK = "  work: [{name: w, queue: a, jobs: [{requests: {gpu: 1}, run: 1h}]}]\n"


def read(folder: Path, spec: str) -> SimulationFile:
    """Read a scenario with *spec* from a file in *folder*."""
    file = folder / "small.yaml"
    file.write_text(HEAD + spec, encoding="utf-8")
    return read_scenario(str(file))


def scenario(folder: Path, spec: str) -> Scenario:
    """Read a scenario without errors."""
    result = read(folder, spec)
    assert result.scenario is not None, "\n".join(map(str, result.findings))
    return result.scenario


def indented(text: str) -> str:
    """Return *text* as it stands below ``spec:``."""
    return "".join(f"  {line}\n" for line in dedent(text).strip().splitlines())


def told(findings: tuple[Finding, ...]) -> list[str]:
    """Return findings in short: severity, line, path and code."""
    return [f"{each.severity} {each.line} {each.path} {each.code}" for each in findings]


def events(
    scenario: Scenario, variant: str | None = None, seed: int | None = None
) -> list[SimulationEvent]:
    """Run a scenario under one of its rule sets, the first by default, and write all down."""
    chosen = scenario.variants[0] if variant is None else scenario.by_name[variant]
    seen: list[SimulationEvent] = []
    prepare(scenario, chosen, seed).simulation(seen.append).run()
    return seen
