"""A rule set is one sub-package and one line of the registry: nothing else of sim names it."""

import re
from pathlib import Path

import fairlead.sim
from fairlead.policy.contract import POLICY_NAMES
from fairlead.sim.scenario.rule_sets import RULE_SETS

SIM = Path(fairlead.sim.__file__).parent
REGISTRY = SIM / "scenario" / "rule_sets.py"


def pattern(policy: str) -> re.Pattern[str]:
    """Return what finds *policy* as a word or within an identifier, in any spelling."""
    return re.compile("[-_ ]?".join(policy.split("-")), re.IGNORECASE)


def test_the_registry_has_every_rule_set_in_the_order_of_the_policies() -> None:
    assert tuple(RULE_SETS) == POLICY_NAMES


def test_no_other_file_of_sim_names_a_rule_set() -> None:
    own = [SIM / "scenario" / policy.replace("-", "_") for policy in POLICY_NAMES]
    others = [
        file
        for file in sorted(SIM.rglob("*.py"))
        if file != REGISTRY and not any(file.is_relative_to(folder) for folder in own)
    ]
    assert len(others) > 50
    named = [
        f"{file.relative_to(SIM)}:{number}: {line.strip()}"
        for file in others
        for number, line in enumerate(file.read_text().splitlines(), 1)
        for policy in POLICY_NAMES
        if pattern(policy).search(line)
    ]
    assert named == []


def test_no_rule_set_names_another() -> None:
    for policy in POLICY_NAMES:
        folder = SIM / "scenario" / policy.replace("-", "_")
        texts = [file.read_text() for file in folder.rglob("*.py")]
        assert texts, folder
        for other in POLICY_NAMES:
            if other != policy:
                assert not any(pattern(other).search(text) for text in texts), (policy, other)


def test_the_pattern_finds_a_name_in_every_spelling() -> None:
    found = pattern("elastic-quota")
    spellings = ("elastic-quota", "elastic_quota", "ElasticQuota", "elasticQuota")
    assert all(map(found.search, spellings))
    assert not found.search("elastic jobs")
