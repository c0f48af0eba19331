"""The engine decides as the capacity-scheduling plugin did, and each fix changes what it says."""

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.elastic_quirks import main as list_quirks
from tests.conformance.vector_file import check_file
from tests.shared_folder import shared_file

VECTORS = Path(__file__).parents[1] / "vectors"
KINDS = ("used", "admission", "fit", "accounting", "victims", "choice")
APART = {
    "NewElasticQuotaInfo": 4,
    "AddElasticQuota": 4,
    "UpdatePod": 2,
    "UpdateElasticQuota": 1,
    "DeleteElasticQuota": 1,
}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("elastic-quota-public.json", 400),
        ("elastic-quota-crafted.json", 31),
        ("late-elastic-quota.json", 3),
    ],
)
def test_every_recorded_case_is_decided_as_the_plugin_did(name: str, count: int) -> None:
    outcomes = check_file(VECTORS / name)
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
    assert Counter(outcome.kind for outcome in outcomes) == dict.fromkeys(KINDS, count)


def test_the_plugins_own_tables_expect_what_is_decided_here() -> None:
    outcomes = check_file(shared_file("vectors/elastic-quota-suite.json"))
    assert [outcome for outcome in outcomes if outcome.status not in ("passed", "apart")] == []
    apart = [outcome for outcome in outcomes if outcome.status == "apart"]
    assert Counter(outcome.kind for outcome in apart) == APART
    assert all(outcome.note for outcome in apart)
    passed = Counter(outcome.kind for outcome in outcomes if outcome.status == "passed")
    assert passed["integration"] == 7
    assert passed.total() == 90


def test_a_fix_changes_only_cases_that_its_quirk_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Or those for which there is a written reason."""
    assert list_quirks([str(VECTORS / "elastic-quota-crafted.json")]) == 0
    told = capsys.readouterr().out
    assert "max-core-zero: 1 of 31 cases differ" in told
    assert "NOT EXPLAINED" not in told
