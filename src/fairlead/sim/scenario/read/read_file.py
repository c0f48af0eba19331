"""A file that can be simulated: a scenario of ours, or a file of another simulator."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, read_documents
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.form.scenario_form import API_VERSION, KIND
from fairlead.sim.scenario.read.read_scenario import scenario_of
from fairlead.sim.scenario.rule_set import PeerSimulation, RuleSet
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import Scenario


class SimulationFile(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: one of the two, or neither if some finding is an error."""

    scenario: Scenario | None = None
    peer: PeerSimulation | None = None
    findings: tuple[Finding, ...] = ()


def read_simulation(
    path: str, also: Sequence[PolicyName] = (), asked: Sequence[str] = ()
) -> SimulationFile:
    """Read the file at *path*, whichever of the two it is, by its content.

    *also* is as for `read_scenario`, and *asked* as for `scenario_of`. Never raises for what a file
    holds. It is read once, so it may be a pipe.
    """
    findings = Findings()
    if Path(path).is_dir():
        message = "found a folder, expected the file of one scenario"
        findings.add("error", "unreadable", file=path, message=message, fix="name a file in it")
        return SimulationFile(findings=tuple(findings))
    documents = read_documents([path], findings)
    reader = simulator_of(documents)
    if reader is not None:
        peer = reader.read_simulator_file(documents[0], findings)
        return SimulationFile(peer=None if findings.has_errors else peer, findings=tuple(findings))
    result = scenario_of(documents, path, also, findings, asked)
    reported = tuple(
        _with_fix_for_one_file(each) if each.file == path else each for each in result.findings
    )
    return SimulationFile(scenario=result.scenario, findings=reported)


def _with_fix_for_one_file(finding: Finding) -> Finding:
    """Return *finding* with a fix for a command that takes one file, no folder or stdin."""
    if finding.code != "unreadable" or finding.line is not None:
        return finding
    fix = "name the file of a scenario, one that exists and that you may read"
    return msgspec.structs.replace(finding, fix=fix)


def simulator_of(documents: Sequence[Document]) -> RuleSet | None:
    """Return the rule set whose simulator has files such as the one of *documents*."""
    if len(documents) != 1:
        return None
    return next((each for each in RULE_SETS.values() if each.is_simulator_file(documents[0])), None)


def is_scenario(document: Document) -> bool:
    """Return whether *document* says that it is a scenario."""
    value = document.value
    return value.get("kind") == KIND and value.get("apiVersion") == API_VERSION
