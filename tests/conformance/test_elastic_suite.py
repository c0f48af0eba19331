"""The tables of the plugin's own tests are read whole, and the plain rule agrees with them."""

import copy
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.elastic_suite import APART, PLAIN, checked
from tests.shared_folder import shared_file

Json = dict[str, Any]


def table_rows() -> list[Json]:
    file = shared_file("vectors/elastic-quota-suite.json")
    cases: list[Json] = json.loads(file.read_text(encoding="utf-8"))["cases"]
    return cases


def test_every_row_of_the_peers_own_tables_is_that_of_the_plain_rule() -> None:
    rows = table_rows()
    outcomes = [outcome for row in rows for outcome in checked(row, PLAIN)]
    assert [outcome for outcome in outcomes if outcome.status not in ("passed", "apart")] == []
    asked = Counter(row["table"] for row in rows)
    assert asked.total() == 56
    passed = Counter(outcome.kind for outcome in outcomes if outcome.status == "passed")
    for table, count in asked.items():
        assert passed[table] == (0 if table in APART else count), table
    # 4 + 3 + 2 situations are compared with what the code answered too, 5 of them have nodes.
    kinds = {"used": 9, "admission": 9, "fit": 9, "accounting": 9, "victims": 5, "choice": 5}
    assert {kind: passed[kind] for kind in kinds} == kinds


def test_only_what_shows_the_plugins_own_data_stands_apart_and_says_why() -> None:
    outcomes = [outcome for row in table_rows() for outcome in checked(row, PLAIN)]
    apart = [outcome for outcome in outcomes if outcome.status == "apart"]
    assert Counter(outcome.kind for outcome in apart) == {
        "NewElasticQuotaInfo": 4,
        "AddElasticQuota": 4,
        "UpdatePod": 2,
        "UpdateElasticQuota": 1,
        "DeleteElasticQuota": 1,
    }
    assert all(outcome.note for outcome in apart)


def _flip(key: str) -> Callable[[Json], None]:
    def change(expected: Json) -> None:
        expected[key] = not expected[key]

    return change


def _set(**values: object) -> Callable[[Json], None]:
    return lambda expected: expected.update(values)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("PreFilter", _set(preFilter="Error")),
        ("PostFilter", _set(chosenNode="node-b")),
        ("PostFilter", _set(code="Error")),
        ("DryRunPreemption", _set(victims={})),
        ("DryRunPreemption", _set(pdbViolations=1)),
        ("PodEligibleToPreemptOthers", _flip("eligible")),
        ("UsedOverMin", _flip("overMin")),
        ("UsedOverMinWith", _flip("overMin")),
        ("UsedOverMaxWith", _flip("overMax")),
        ("ReserveResource", _set(used={"cpu": 1})),
        ("UnReserveResource", _set(used={"cpu": 1})),
        ("AddPod", _set(used={"cpu": 1})),
        ("DeletePod", _set(used={"cpu": 1})),
        ("Reserve", _set(usedAfterEachStep=[{"memory": 350}, {"memory": 400}])),
        ("Unreserve", _set(usedAfterEachStep=[])),
        ("integration", _set(scheduled=[])),
    ],
)
def test_another_expectation_than_the_answer_fails(
    table: str, change: Callable[[Json], None]
) -> None:
    rows = [copy.deepcopy(row) for row in table_rows() if row["table"] == table]
    for row in rows:
        change(row["expected"])
        failed = [outcome for outcome in checked(row, PLAIN) if outcome.status == "failed"]
        assert [outcome.kind for outcome in failed] == [table]


@pytest.mark.parametrize("row", [{}, {"table": "Reserve"}, {"table": "PreFilter"}, 7, None, []])
def test_a_malformed_row_fails_without_a_crash(row: object) -> None:
    assert [outcome.status for outcome in checked(row, PLAIN)] == ["failed"]
