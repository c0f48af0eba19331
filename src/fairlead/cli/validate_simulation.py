"""Findings about a file that is to be simulated, told as those about a cluster's objects are."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import LoadResult
from fairlead.manifest.text.documents import read_documents
from fairlead.policy.contract import PolicyName


def simulation_findings(
    names: Sequence[str], policy: PolicyName | None, *, strict: bool
) -> LoadResult | None:
    """Return what is found in the one file that is named; None if it is not to be simulated."""
    if len(names) != 1 or not _may_be_simulated(Path(names[0])):
        return None
    from fairlead.sim.scenario.read.read_file import is_scenario, read_simulation, simulator_of

    documents = read_documents(names, Findings())
    is_of_peer = simulator_of(documents) is not None
    if not is_of_peer and not any(map(is_scenario, documents)):
        return None
    read = read_simulation(names[0], [policy] if policy else [])
    return LoadResult(
        assembled=None,
        findings=tuple(_refused(each) if strict else each for each in read.findings),
        omitted=0,
        read={"file of KAI's simulator" if is_of_peer else "Scenario": 1},
        left_alone={},
    )


def _refused(finding: Finding) -> Finding:
    if finding.code != "unknown-field":
        return finding
    return msgspec.structs.replace(finding, severity="error")


def _may_be_simulated(file: Path) -> bool:
    """Return whether a look at the text leaves it open: large manifests are not read twice."""
    try:
        text = file.read_bytes() if file.is_file() else b"apiVersion"
    except OSError:
        return False
    return b"Scenario" in text or b"apiVersion" not in text
