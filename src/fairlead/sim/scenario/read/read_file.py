"""A file that can be simulated: a scenario of ours, or a file of KAI's own simulator."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, read_documents
from fairlead.policy.contract import PolicyName
from fairlead.sim.kai_file.kai_simulation import KaiSimulation
from fairlead.sim.kai_file.read_kai_file import is_kai_simulation, read_kai_simulation
from fairlead.sim.scenario.form.scenario_form import API_VERSION, KIND
from fairlead.sim.scenario.read.read_scenario import scenario_of
from fairlead.sim.scenario.scenario import Scenario


class SimulationFile(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: one of the two, or neither if some finding is an error."""

    scenario: Scenario | None = None
    kai_simulation: KaiSimulation | None = None
    findings: tuple[Finding, ...] = ()


def read_simulation(
    path: str, also: Sequence[PolicyName] = (), asked: Sequence[str] = ()
) -> SimulationFile:
    """Read the file at *path*, whichever of the two it is: what it holds tells.

    *also* is as for `read_scenario`, and *asked* as for `scenario_of`. Never raises for what a file
    holds. It is read once, so it may be a pipe.
    """
    findings = Findings()
    if Path(path).is_dir():
        message = "found a folder, expected the file of one scenario"
        findings.add("error", "unreadable", file=path, message=message, fix="name a file in it")
        return SimulationFile(findings=tuple(findings))
    documents = read_documents([path], findings)
    if len(documents) == 1 and is_kai_simulation(documents[0]):
        kai_simulation = read_kai_simulation(documents[0], findings)
        return SimulationFile(
            kai_simulation=None if findings.has_errors else kai_simulation,
            findings=tuple(findings),
        )
    result = scenario_of(documents, path, also, findings, asked)
    told = tuple(_told_of_one(each) if each.file == path else each for each in result.findings)
    return SimulationFile(scenario=result.scenario, findings=told)


def _told_of_one(finding: Finding) -> Finding:
    """Return *finding* with a cure for who names one file, and not folders or standard input."""
    if finding.code != "unreadable" or finding.line is not None:
        return finding
    fix = "name the file of a scenario, one that exists and that you may read"
    return msgspec.structs.replace(finding, fix=fix)


def is_scenario(document: Document) -> bool:
    """Return whether *document* says that it is a scenario."""
    value = document.value
    return value.get("kind") == KIND and value.get("apiVersion") == API_VERSION
