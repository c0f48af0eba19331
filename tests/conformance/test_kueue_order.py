"""Every recorded order of admission is ours; and a difference would be seen."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.kueue_order import check
from tests.conformance.vector_file import check_file

Json = dict[str, Any]
RANDOM = Path(__file__).parents[1] / "vectors" / "kueue-random-public.json"


def recorded(name: str) -> Json:
    cases: list[Json] = json.loads(RANDOM.read_text())["cases"]
    (case,) = (each for each in cases if each["name"] == name)
    return case


def test_every_recorded_order_is_ours_where_kueue_draws_no_lots() -> None:
    outcomes = [outcome for outcome in check_file(RANDOM) if outcome.kind == "order"]
    assert Counter(outcome.status for outcome in outcomes) == {"passed": 168, "apart": 1}


def _another_order(case: Json) -> None:
    case["result"]["order"].reverse()


def _one_head_less(case: Json) -> None:
    case["heads"].pop()


def _newest_first(case: Json) -> None:
    for head in case["heads"]:
        head["createdAt"] *= -1


def _no_weights(case: Json) -> None:
    for queue in case["clusterQueues"]:
        queue.pop("weight", None)


def _without_priority(case: Json) -> None:
    case["gates"] = {**case.get("gates", {}), "PrioritySortingWithinCohort": False}


def _without_non_borrowing_first(case: Json) -> None:
    case["gates"] = {**case.get("gates", {}), "FairSharingPrioritizeNonBorrowing": False}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("p00033", _another_order),
        ("p00033", _one_head_less),
        ("p00033", _newest_first),
        ("p00235", _no_weights),
        ("p00374", _without_priority),
        ("p00492", _without_non_borrowing_first),
    ],
)
def test_another_order_than_ours_fails(name: str, change: Callable[[Json], None]) -> None:
    case = recorded(name)
    assert [outcome.status for outcome in check(case)] == ["passed"]
    change(case)
    assert [outcome.status for outcome in check(case)] == ["failed"]


@pytest.mark.parametrize("heads", [None, [{}], [{"name": "h", "cq": "nowhere"}], 7])
def test_malformed_heads_fail_with_the_reason(heads: object) -> None:
    (outcome,) = check(recorded("p00033") | {"heads": heads})
    assert outcome.status == "failed"
    assert outcome.note.startswith("malformed case")


@pytest.mark.parametrize("case", [None, [], {}, {"result": None}, {"result": {"fits": True}}])
def test_a_case_without_an_order_is_not_asked(case: object) -> None:
    assert check(case) == []
