"""A rule set is one package in each layer that needs one, and one line of that layer's registry.

So a fourth one touches nothing else. Files outside its packages that name a rule set all the same
are listed here, each with the reason; one that does not any more is to be taken off the list.
"""

import re
from pathlib import Path

import pytest

import fairlead
from fairlead.policy.contract import POLICY_NAMES

SOURCE = Path(fairlead.__file__).parent
TESTS = Path(__file__).parent
PACKAGES = frozenset(name.replace("-", "_") for name in POLICY_NAMES)
NAMED = re.compile("|".join("[-_ ]?".join(name.split("-")) for name in POLICY_NAMES), re.IGNORECASE)

REGISTRY = "the registry of its layer"
STATE = "a state has one struct for each rule set, for what only that one has"
FORMULA = "a formula of fairness, called after the scheduler that it comes from"
PAST_USE = "past usage counts under one rule set so far, and comes from its Prometheus"
FILES = "the files of an installation are those of one rule set, for which another is put in"
FILE_FORMAT = "a file format of another simulator, which is no rule set"

EXCEPTIONS = {
    "policy/contract.py": REGISTRY,
    "manifest/registry.py": REGISTRY,
    "explain/registry.py": REGISTRY,
    "sim/scenario/rule_sets.py": REGISTRY,
    "store/metrics/registry.py": REGISTRY,
    "cluster/kubernetes/live_rule_sets.py": REGISTRY,
    "cluster/kubernetes/reporting/rule_sets.py": REGISTRY,
    "model/catalogue.py": STATE,
    "model/execution/remember.py": STATE,
    "model/memory.py": STATE,
    "model/plan.py": STATE,
    "model/queue.py": STATE,
    "model/workload.py": STATE,
    "fairness/dominant_share.py": FORMULA,
    "fairness/elastic_pool.py": FORMULA,
    "fairness/quota_tree.py": FORMULA,
    "placement/scored_nodes.py": "a figure of what it wins, measured under one rule set",
    "store/prometheus/": PAST_USE,
    "cluster/kubernetes/install/render.py": FILES,
    "cli/sim/": FILE_FORMAT,
    "cli/cluster/validate.py": FILE_FORMAT,
}

SURFACE = re.compile(
    r"(?:from|import) fairlead\.policy\.(?:kai|kueue|elastic_quota)\.(?!(?:api|settings|policy)\b)"
)
# Conformance compares parts of a rule set with the recorded answers of its original.
INSIDE = ("policy/", "conformance/")


def naming() -> set[str]:
    """Return the files outside the packages of rule sets that name one."""
    found = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if NAMED.search(file.read_text(encoding="utf-8"))
    }
    return {
        path
        for path in found
        if not PACKAGES.intersection(part.removesuffix(".py") for part in Path(path).parts)
    }


def test_only_known_files_name_a_rule_set() -> None:
    assert [path for path in sorted(naming()) if not path.startswith(tuple(EXCEPTIONS))] == []


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_every_exception_is_needed(exception: str) -> None:
    assert any(path.startswith(exception) for path in naming())


@pytest.mark.parametrize("text", ["KaiQueue", "the KAI rules", "_kueue", "elastic-quota"])
def test_a_name_is_found_in_words_and_identifiers(text: str) -> None:
    assert NAMED.search(text)


def test_tests_of_other_layers_use_the_surface_of_a_rule_set() -> None:
    found = [
        f"{file.relative_to(TESTS)}: {line}"
        for file in sorted(TESTS.rglob("*.py"))
        if not file.relative_to(TESTS).as_posix().startswith(INSIDE)
        for line in file.read_text(encoding="utf-8").splitlines()
        if SURFACE.match(line)
    ]
    assert found == []
