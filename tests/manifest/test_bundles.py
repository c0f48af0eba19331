"""What is special to one rule set is in its bundle, and no other file names it."""

import re

import pytest

from fairlead.manifest.registry import BUNDLES
from fairlead.policy.contract import POLICY_NAMES
from tests.shared_folder import ROOT

MANIFEST = ROOT / "src" / "fairlead" / "manifest"
BUNDLE_FILES = {"registry.py", *(name.replace("-", "_") for name in POLICY_NAMES)}


def pattern_of(name: str) -> re.Pattern[str]:
    """The name as a word or as part of an identifier: ``KaiQueue``, ``elastic_quota``."""
    words = "[-_ ]?".join(name.split("-"))
    return re.compile(rf"(?<![a-z])(?i:{words})(?![a-z])|(?<![a-zA-Z])(?i:{words})(?=[A-Z])")


def test_every_rule_set_has_a_bundle() -> None:
    assert tuple(BUNDLES) == POLICY_NAMES


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_only_bundles_and_the_registry_name_a_rule_set(name: str) -> None:
    found = [
        f"{file.relative_to(MANIFEST)}:{number}: {line.strip()}"
        for file in sorted(MANIFEST.rglob("*.py"))
        if file.relative_to(MANIFEST).parts[0] not in BUNDLE_FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if pattern_of(name).search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("KaiQueueObject", True),
        ("read_kai_queue", True),
        ("KAI's own", True),
        ("kai.scheduler", True),
        ("kaizen", False),
    ],
)
def test_a_name_is_found_in_words_and_identifiers(text: str, is_found: bool) -> None:
    assert bool(pattern_of("kai").search(text)) is is_found
