"""The comparison with the plugin of capacity scheduling can tell when an answer is not its own."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import CaseAnswer, ClaimAnswer
from tests.conformance.elastic_quirks import main
from tests.conformance.elastic_quota import check, compared
from tests.policy.elastic_quota.plain_rule import plain_answer

Json = dict[str, Any]

VECTORS = Path(__file__).parent.parent / "vectors"
PUBLIC = VECTORS / "elastic-quota-public.json"


def recorded(name: str) -> Json:
    cases = json.loads(PUBLIC.read_text(encoding="utf-8"))["cases"]
    (case,) = (case for case in cases if case["name"] == name)
    found: Json = case
    return found


def failed(case: object) -> list[str]:
    outcomes = compared(case, FAITHFUL, plain_answer)
    return [outcome.kind for outcome in outcomes if outcome.status == "failed"]


def _more_used(result: Json) -> None:
    result["used"]["b"] = {"cpu": 1}


def _another_refusal(result: Json) -> None:
    result["preFilter"].update(code="Unschedulable", reason="over-max")


def _no_nominated(result: Json) -> None:
    result["preFilter"]["nominatedAllPlusPod"] = {}


def _another_fit(result: Json) -> None:
    result["filter"]["n0"]["code"] = "Success"


def _one_more_feasible(result: Json) -> None:
    result["feasibleNodes"].append("n0")


def _another_book(result: Json) -> None:
    result["accounting"]["usedAfterAddPod"] = {"cpu": 1}


def _never(result: Json) -> None:
    result["postFilter"].update(eligible=False, notEligibleReason="preemption-policy-never")


def _another_victim(result: Json) -> None:
    result["postFilter"]["nodes"]["n2"]["victims"] = ["x/x"]


def _one_more_node(result: Json) -> None:
    result["postFilter"]["nodes"]["n9"] = {"outcome": "no-victims"}


def _one_more_violation(result: Json) -> None:
    result["postFilter"]["nodes"]["n2"]["pdbViolations"] += 1


def _another_choice(result: Json) -> None:
    result["postFilter"].update(chosenNodes=["n1"], example=None)


def _error(result: Json) -> None:
    result["postFilter"]["code"] = "Error"


def _none_deleted(result: Json) -> None:
    result["postFilter"]["example"]["deletedPods"] = []


def _one_more_cleared(result: Json) -> None:
    result["postFilter"]["example"]["clearedNominations"] = ["x/x"]


def _no_claim(result: Json) -> None:
    del result["postFilter"]


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (_more_used, ["used"]),
        (_another_refusal, ["admission"]),
        (_no_nominated, ["admission"]),
        (_another_fit, ["fit"]),
        (_one_more_feasible, ["fit"]),
        (_another_book, ["accounting"]),
        (_never, ["victims"]),
        (_another_victim, ["victims"]),
        (_one_more_node, ["victims"]),
        (_one_more_violation, ["victims"]),
        (_another_choice, ["choice"]),
        (_error, ["choice"]),
        (_none_deleted, ["choice"]),
        (_one_more_cleared, ["choice"]),
        (_no_claim, ["victims", "choice"]),
    ],
)
def test_another_record_than_the_answer_fails_in_its_kind(
    change: Callable[[Json], None], kinds: list[str]
) -> None:
    """The case r1036 has victims on n2, the node that is chosen."""
    case = copy.deepcopy(recorded("r1036"))
    del case["chosenNodesAnyListing"]
    assert failed(case) == []
    change(case["result"])
    assert failed(case) == kinds


def test_any_of_the_answers_that_depend_on_the_order_of_equal_pods_is_right() -> None:
    """On n0 either of two equal pods of b is the victim; a third one would be wrong."""
    case = copy.deepcopy(recorded("r1036"))
    for right in case["nodeAlternatives"]["n0"]:
        case["result"]["postFilter"]["nodes"]["n0"] = right
        assert failed(case) == []
    case["nodeAlternatives"] = {}
    case["result"]["postFilter"]["nodes"]["n0"]["victims"] = ["b/p9"]
    assert failed(case) == ["victims"]


def test_any_node_that_was_chosen_with_some_order_is_right_with_what_follows_from_it() -> None:
    case = recorded("r3303")
    assert case["chosenNodesAnyListing"] == ["n0", "n1"]

    def answer_with(chosen: str, deleted: tuple[str, ...]) -> list[str]:
        def altered(asked: Any, settings: ElasticQuotaSettings) -> CaseAnswer:
            got = plain_answer(asked, settings)
            assert isinstance(got.claim, ClaimAnswer)
            claim = msgspec.structs.replace(got.claim, chosen=chosen, deleted=deleted)
            return msgspec.structs.replace(got, claim=claim)

        outcomes = compared(case, FAITHFUL, altered)
        return [outcome.kind for outcome in outcomes if outcome.status == "failed"]

    assert answer_with("n0", ("b/p2",)) == []
    assert answer_with("n1", ("b/p6",)) == []
    assert answer_with("n1", ("b/p2",)) == ["choice"]
    assert answer_with("n2", ()) == ["choice"]


@pytest.mark.parametrize("case", [{}, {"name": "x"}, {"name": "x", "nodes": 7}, 7, None, []])
def test_a_malformed_case_fails_without_a_crash(case: object) -> None:
    assert failed(case) == ["case"]
    assert [(outcome.kind, outcome.status) for outcome in check(case)] == [("case", "failed")]


def test_the_runner_names_what_differs_without_the_tag_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([str(VECTORS / "elastic-quota-crafted.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("scalar-if-asked: 2 of 31 cases differ,")
    assert lines[start + 1] == "  0 of the 1 with its tag, 2 without"
    assert "the pod asks for" in lines[start + 2]
    assert lines[start + 3].startswith("    naming a resource with 0 makes it matter: admission")


def test_a_difference_that_nothing_explains_is_not_taken_for_a_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = recorded("r1036")
    case["result"]["used"] = {}
    file = tmp_path / "altered.json"
    file.write_text(json.dumps({"cases": [case]}))
    assert main([str(file)]) == 1
    assert "NOT EXPLAINED" in capsys.readouterr().out
