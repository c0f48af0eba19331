"""What KAI's own code answered on recorded trees, and numbers that were published."""

import copy
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.conformance import kai_division, published_division
from tests.shared_folder import shared_file

Json = dict[str, Any]

CASE: Json = {
    "id": "sample",
    "k": 0,
    "total": {"gpu": 1},
    "queues": [
        {
            "name": name,
            "parent": "",
            "priority": 100,
            "created": 0,
            "gpu": {"deserved": 0, "limit": None, "weight": 1, "request": Decimal("0.7")},
        }
        for name in ("a", "b")
    ],
    "result": {"fairShare": {"a": {"gpu": 1}, "b": {"gpu": 0}}},
}
OTHER_WAY_ROUND = {"a": {"gpu": 0}, "b": {"gpu": 1}}


def read(name: str) -> Json:
    text = shared_file(f"vectors/{name}").read_text()
    contents: Json = json.loads(text, parse_float=Decimal)
    return contents


def statuses(case: Json) -> list[str]:
    return [outcome.status for outcome in kai_division.check(case)]


def test_every_recorded_tree_is_divided_as_recorded() -> None:
    recorded = read("kai-division-public.json")
    outcomes = [outcome for case in recorded["cases"] for outcome in kai_division.check(case)]
    assert len(outcomes) == recorded["count"]
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []


def test_the_published_divisions_come_out() -> None:
    entries = read("published-results.json")["entries"]
    outcomes = [
        outcome
        for entry in entries
        if entry["kind"] in published_division.CHECKS
        for outcome in published_division.check(entry)
    ]
    assert len(outcomes) >= 8
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []


def test_a_recorded_share_that_differs_is_reported() -> None:
    case = CASE | {"result": {"fairShare": OTHER_WAY_ROUND}}
    (outcome,) = kai_division.check(case)
    assert outcome.status == "failed"
    assert outcome.expected == "a.gpu 0, b.gpu 1"
    assert outcome.got == "a.gpu 1, b.gpu 0"


def test_any_alternative_is_right_unless_the_exact_answer_is_told() -> None:
    right = CASE["result"]["fairShare"]
    varies = {"fairShare": OTHER_WAY_ROUND, "varies": True, "alternatives": [right]}
    wrong_exact = {**varies, "exactArithmetic": OTHER_WAY_ROUND}
    right_exact = {"fairShare": OTHER_WAY_ROUND, "exactArithmetic": right}
    assert statuses(CASE) == ["passed"]
    assert statuses(CASE | {"result": varies}) == ["passed"]
    assert statuses(CASE | {"result": wrong_exact}) == ["failed"]
    assert statuses(CASE | {"result": right_exact}) == ["passed"]
    assert statuses(CASE | {"exactArithmetic": OTHER_WAY_ROUND}) == ["failed"]


@pytest.mark.parametrize("key", ["k", "total", "queues", "result"])
def test_a_case_without_a_key_fails_with_the_reason(key: str) -> None:
    case = {name: value for name, value in CASE.items() if name != key}
    (outcome,) = kai_division.check(case)
    assert outcome.status == "failed"
    assert key in outcome.note


def test_a_case_whose_result_leaves_a_queue_out_fails() -> None:
    case = copy.deepcopy(CASE)
    del case["result"]["fairShare"]["b"]
    assert "does not list every queue" in kai_division.check(case)[0].note


def test_a_published_left_over_is_compared_too() -> None:
    queue = {"deserved": 2, "weight": 2, "limit": None, "request": 6, "priority": 1, "created": 0}
    entry = {
        "id": "sample",
        "kind": "division",
        "input": {"total": 9, "k": 0, "queues": [queue]},
        "expected": {"fairShare": [6], "left": 3},
        "tolerance": 0,
    }
    wrong = entry | {"expected": {"fairShare": [6], "left": 2}}
    short = entry | {"expected": {"fairShare": [], "left": 3}}
    assert [outcome.status for outcome in published_division.check(entry)] == ["passed"]
    assert [outcome.status for outcome in published_division.check(wrong)] == ["failed"]
    assert "1 queues but 0" in published_division.check(short)[0].note
    assert published_division.check({"id": "x", "kind": "turns"})[0].status == "unbuilt"
