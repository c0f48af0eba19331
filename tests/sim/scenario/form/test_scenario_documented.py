"""The reference names every field of a scenario file and everything that can be set."""

import re

from fairlead.sim.scenario.form.json_schema import scenario_schema
from fairlead.sim.scenario.settings import SETTABLE
from tests.shared_folder import ROOT

PAGE = (ROOT / "docs" / "reference" / "scenario.md").read_text(encoding="utf-8")
WORDS = frozenset(re.findall(r"[A-Za-z]+", " ".join(re.findall(r"`[^`\n]+`", PAGE))))
OF_EVERY_OBJECT = {"apiVersion", "kind", "metadata", "spec"}


def test_every_field_is_named() -> None:
    definitions = scenario_schema()["$defs"].values()
    fields = {field for each in definitions for field in each["properties"]}
    assert sorted(fields - WORDS - OF_EVERY_OBJECT) == []


def test_everything_that_can_be_set_is_named() -> None:
    assert sorted(SETTABLE.keys() - WORDS) == []
