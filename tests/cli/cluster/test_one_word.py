"""One word for one thing: the numbers of queues have the same keys under all rules."""

import re

import pytest

from tests.cli.run_cli import of_shard, run_cli
from tests.shared_folder import ROOT

PAGE = (ROOT / "docs" / "reference" / "queues-output.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("**One word for one thing.**")[2].partition("###")[0]
EXAMPLES = {"KAI": "kai/monday", "Kueue": "kueue", "ElasticQuota": "elastic-quota"}
RULES = list(EXAMPLES)


def keys_of(rules: str) -> set[str]:
    """Return the keys of all queues of an example, and of what they have of each resource."""
    ran = run_cli("queues", "-f", str(ROOT / "examples" / EXAMPLES[rules]), "-o", "json")
    queues = of_shard(ran.out)["queues"]
    of_resources = [numbers for each in queues for numbers in each["resources"].values()]
    return {key for each in (*queues, *of_resources) for key in each}


@pytest.mark.parametrize("rules", RULES)
def test_the_page_says_which_rules_have_which_key(rules: str) -> None:
    found = keys_of(rules)
    rows = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| `")]
    numbers = [row for row in rows if row[0] != "`queue`, `workload`"]
    assert len(numbers) == 7
    for names, _, *cells in numbers:
        has = cells[RULES.index(rules)] != "-"
        for key in re.findall(r"`(\w+)`", names):
            assert (key in found) is has, key


def test_an_elastic_quota_has_the_word_of_the_others_beside_its_own() -> None:
    file = str(ROOT / "examples" / "elastic-quota")
    for queue in of_shard(run_cli("queues", "-f", file, "-o", "json").out)["queues"]:
        for numbers in queue["resources"].values():
            assert numbers["allocated"] == numbers["used"]
