"""Only files named after a rule set, and the registry, name one in store and usage."""

import re

from fairlead.policy.contract import POLICY_NAMES
from fairlead.store.metrics.registry import MODULES
from tests.shared_folder import ROOT

NAMES = re.compile(
    r"""fairlead\.\w+\.(kai|kueue|elastic_quota)\b  # a package of a rule set
    | \b(Kai|Kueue|Elastic)[A-Z]\w*               # a type of one
    | ["'](kai|kueue|elastic-quota)["']           # its name
    """,
    re.VERBOSE,
)


def test_every_rule_set_has_metrics() -> None:
    assert tuple(MODULES) == POLICY_NAMES


def test_no_other_file_names_a_rule_set() -> None:
    source = ROOT / "src/fairlead"
    found = [
        f"{path.relative_to(source)}: {match[0]}"
        for folder in ("store", "usage")
        for path in sorted((source / folder).rglob("*.py"))
        if not re.match(r"kai|kueue|elastic_quota", path.name) and path.name != "registry.py"
        for match in NAMES.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
