"""A rule set is one package of explain and one line in its registry.

No other file of explain or of the command line names one, as a word or as part of an identifier.
Help texts take the names from data: `POLICY_NAMES` and the registry. Not searched are the registry
itself, the packages of the rule sets, and ``cli/sim/kai_file.py``, which reads the file format of
another simulator.
"""

import importlib
import re
from pathlib import Path

import pytest

import fairlead
from fairlead.explain.registry import RULE_SETS
from fairlead.explain.rule_set import RuleSet
from fairlead.explain.text.phrases import Phrases
from fairlead.policy.contract import POLICY_NAMES

SOURCE = Path(fairlead.__file__).parent
NAMED = re.compile(r"kai|kueue|elastic", re.IGNORECASE)
EXEMPT = re.compile(
    r"explain/(registry\.py|kai/|kueue/|elastic_quota/)"
    r"|cli/sim/kai_file\.py"
)


def searched() -> list[Path]:
    found = [*(SOURCE / "explain").rglob("*.py"), *(SOURCE / "cli").rglob("*.py")]
    return [file for file in found if not EXEMPT.match(file.relative_to(SOURCE).as_posix())]


def names_in(text: str) -> list[str]:
    """Return the lines that name a rule set; a path to a module of another layer may."""
    return [line for line in text.splitlines() if NAMED.search(line) and "kai_file" not in line]


def test_many_files_are_searched() -> None:
    assert len(searched()) > 35


@pytest.mark.parametrize("file", searched(), ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_no_other_file_names_a_rule_set(file: Path) -> None:
    assert names_in(file.read_text(encoding="utf-8")) == []


def test_a_name_is_found_in_words_and_identifiers() -> None:
    for text in ("the KAI rules", "KueueSettings()", "_kai_table", "elastic-quota", "ElasticQuota"):
        assert names_in(text) == [text]


def test_every_policy_is_registered() -> None:
    assert tuple(RULE_SETS) == POLICY_NAMES


@pytest.mark.parametrize("name", RULE_SETS)
def test_a_package_has_its_two_modules(name: str) -> None:
    package = RULE_SETS[name].package
    rules = importlib.import_module(f"{package}.rule_set").RULE_SET
    assert isinstance(rules, RuleSet)
    assert rules.name == name
    assert isinstance(importlib.import_module(f"{package}.phrases").PHRASES, Phrases)
