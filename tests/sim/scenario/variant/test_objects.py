"""Findings about an object that was made from a scenario point into the scenario."""

from fairlead.errors import Finding, Severity
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Source, read_bytes
from fairlead.manifest.text.path import Path
from fairlead.sim.scenario.variant.objects import MadeObject, source_without_lines

SCENARIO = b"""\
kind: Scenario
spec:
  queues:
    - name: a
  policies:
    - policy: x
      settings:
        option: 3
"""
SETTINGS: Path = ("spec", "policies", 0, "settings")


def scenario() -> Source:
    [document] = read_bytes(SCENARIO, "scenario.yaml", Findings())
    return document.source


def reported(made: MadeObject, path: Path, severity: Severity = "error") -> list[Finding]:
    findings = Findings()
    source = made.document(scenario()).source
    source.report(findings, severity, "out-of-range", path, "found 3", "write 2")
    return list(findings)


def test_a_finding_stands_where_the_object_comes_from_and_says_where_in_the_object() -> None:
    made = MadeObject({"kind": "Queue"}, ("spec", "queues", 0))
    [found] = reported(made, ("spec", "parent"))
    assert (found.file, found.line, found.path) == ("scenario.yaml", 4, "$.spec.queues[0]")
    assert found.message == "found 3 ($.spec.parent of the Queue that stands for it)"


def test_a_part_that_stands_in_the_scenario_as_it_is_has_its_own_line() -> None:
    made = MadeObject({"kind": "Settings"}, SETTINGS, below=("spec", "section"))
    [found] = reported(made, ("spec", "section", "option"))
    assert (found.line, found.path) == (8, "$.spec.policies[0].settings.option")
    assert found.message == "found 3"


def test_advice_about_what_the_scenario_does_not_say_is_left_out() -> None:
    nowhere = MadeObject({"kind": "Cohort"}, None)
    partly = MadeObject({"kind": "Quota"}, ("spec", "queues", 0), unwritten=(("spec", "min"),))
    assert reported(nowhere, ("spec",), "advice") == []
    assert reported(partly, ("spec", "min"), "advice") == []
    assert len(reported(partly, ("spec", "max"), "advice")) == 1
    [found] = reported(nowhere, ("spec",), "warning")
    assert found.path == "$.spec"


def test_a_scenario_that_was_read_before_has_a_file_and_no_lines() -> None:
    source = source_without_lines("scenario.yaml")
    assert (source.file, source.locate(("spec",))) == ("scenario.yaml", None)
