"""The published JSON Schema is that of the reader, and the examples keep to it."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import read_documents
from fairlead.sim.scenario.form.json_schema import scenario_schema, schema_text
from tests.shared_folder import ROOT
from tests.sim.scenario.form.plain_schema_check import faults
from tests.sim.scenario.scenario_files import HEAD, NODES, QUEUES, WORK, read

PUBLISHED = ROOT / "docs" / "schema" / "scenario.schema.json"
FOLDER = ROOT / "examples" / "scenarios"
EXAMPLES = sorted([*FOLDER.glob("*.yaml"), *FOLDER.glob("*/*.yaml")])


def value_of(file: Path) -> Any:
    findings = Findings()
    [document] = read_documents([str(file)], findings)
    assert not len(findings)
    return document.value


def test_the_published_schema_is_that_of_the_reader() -> None:
    """Else write it anew: python -m fairlead.sim.scenario.form.json_schema."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_keeps_to_the_schema_and_names_it(file: Path) -> None:
    schema = scenario_schema()
    top = {"$ref": schema["$ref"]}
    assert faults(value_of(file), top, schema) == []
    first_line = file.read_text(encoding="utf-8").splitlines()[0]
    named = first_line.removeprefix("# yaml-language-server: $schema=")
    assert (file.parent / named).resolve() == PUBLISHED


# Each row is added below spec; the second says where schema and reader both find a fault.
FAULTS = {
    "duration: 5": "$.spec.duration",
    "duration: 5 hours": "$.spec.duration",
    "seed: -1": "$.spec.seed",
    "seed: many": "$.spec.seed",
    "cluster: {nodes: [{name: x, count: 50001, capacity: {}}]}": "$.spec.cluster.nodes[0].count",
    "policies: [keue]": "$.spec.policies[0]",
    "policies: [{name: x}]": "$.spec.policies[0].policy",
    "cycle: {evry: 1s}": "$.spec.cycle.evry",
    "pods: [1]": "$.spec.pods",
    "usage: {k: much}": "$.spec.usage.k",
    "usage: {window: {type: round}}": "$.spec.usage.window.type",
    "manifests: x.yaml": "$.spec.manifests",
}


@pytest.mark.parametrize(("line", "place"), FAULTS.items())
def test_schema_and_reader_find_the_same_faults(tmp_path: Path, line: str, place: str) -> None:
    nodes = "" if line.startswith("cluster") else NODES
    spec = f"{nodes}{QUEUES}{WORK}  {line}\n"
    result = read(tmp_path, spec)
    assert place in [each.path for each in result.findings]
    schema = scenario_schema()
    assert faults(value_of(tmp_path / "small.yaml"), {"$ref": schema["$ref"]}, schema) == [place]


def test_a_small_scenario_has_no_faults(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(HEAD + NODES + QUEUES + WORK, encoding="utf-8")
    schema = scenario_schema()
    assert faults(value_of(file), {"$ref": schema["$ref"]}, schema) == []
    assert faults({}, {"$ref": schema["$ref"]}, schema) == [
        "$.apiVersion",
        "$.kind",
        "$.metadata",
        "$.spec",
    ]


def test_every_form_says_what_it_is() -> None:
    definitions = scenario_schema()["$defs"]
    assert [name for name, each in definitions.items() if not each["description"]] == []
