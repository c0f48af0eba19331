"""Our answers are the recorded ones; and the tool that compares can tell when they are not."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.vector_file import check_file
from tests.shared_folder import shared_file

Json = dict[str, Any]

VECTORS = Path(__file__).parent.parent / "vectors"
DIVISION = VECTORS / "kai-division-public.json"

BUILT = [
    ("kai-division-public.json", {"division": 406}),
    ("kai-order-public.json", {"order": 300}),
    ("kai-capacity-public.json", {"capacity": 250}),
    ("kai-reclaimable-public.json", {"reclaimable": 300}),
    ("late-kai-reclaimable.json", {"reclaimable": 1}),
    ("kai-minruntime-public.json", {"minruntime": 150}),
    ("kueue-random-public.json", {"nodes": 500, "drs": 500, "fits": 500}),
    ("kueue-random-public.json", {"preempting": 500, "targets": 500, "classical": 500}),
    ("kueue-random-public.json", {"cycle": 169}),
    ("kueue-crafted.json", {"nodes": 12, "drs": 12, "fits": 12}),
    ("kueue-crafted.json", {"preempting": 12, "targets": 12, "classical": 12}),
    ("published-results.json", {"division": 7, "shareWeight": 1, "drs": 8, "decay": 2}),
    ("published-results.json", {"portion": 3, "usage": 1}),
]


@pytest.mark.parametrize(("name", "kinds"), BUILT)
def test_every_recorded_answer_that_is_built_is_ours(name: str, kinds: dict[str, int]) -> None:
    def is_of_these(case: Json) -> bool:
        return case.get("kind", "") in kinds or "kind" not in case

    found = check_file(VECTORS / name, is_of_these)
    outcomes = [outcome for outcome in found if outcome.kind in kinds]
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
    assert Counter(outcome.kind for outcome in outcomes) == kinds


def test_every_recorded_cycle_is_ours_where_it_is_to_be_compared() -> None:
    """Apart are what the vectors mark as odd, as varying or as kept with wrong books."""
    outcomes = check_file(VECTORS / "kai-cycle-public.json")
    assert [outcome for outcome in outcomes if outcome.status not in ("passed", "apart")] == []
    compared = Counter(outcome.kind for outcome in outcomes if outcome.status == "passed")
    never_apart = {"fairShare", "allocate", "stalegangeviction"}
    assert never_apart.isdisjoint(each.kind for each in outcomes if each.status != "passed")
    later = {"consolidation": 296, "reclaim": 288, "preempt": 289, "cycle": 285, "cycles": 50}
    later["withDefaults"] = 285
    assert compared == later | {"fairShare": 300, "allocate": 300, "stalegangeviction": 300}


def test_every_row_of_the_peers_own_tables_that_is_built_is_ours() -> None:
    outcomes = check_file(shared_file("vectors/kai-suite.json"))
    built = [outcome for outcome in outcomes if outcome.status != "unbuilt"]
    assert [outcome for outcome in built if outcome.status != "passed"] == []
    assert len(built) == 322


def some_cases(folder: Path, *, count: int = 2, **changes: Any) -> Path:
    content = json.loads(DIVISION.read_text())
    content["cases"] = content["cases"][:count]
    content.update(changes)
    file = folder / "cases.json"
    file.write_text(json.dumps(content))
    return file


def test_agreement_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(some_cases(tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["  division: 2/2", "conformance: 2 passed, 0 failed, 0 apart"]


def test_a_difference_is_shown_with_both_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = some_cases(tmp_path, count=1)
    content = json.loads(file.read_text())
    content["cases"][0]["result"]["fairShare"]["a"]["gpu"] = 4
    file.write_text(json.dumps(content))
    assert main([str(file)]) == 1
    shown = capsys.readouterr().out
    assert "crafted00" in shown
    assert "expected" in shown
    assert shown.endswith("conformance: 0 passed, 1 failed, 0 apart\n")


def test_only_the_exact_answer_is_right_where_one_is_given(tmp_path: Path) -> None:
    file = some_cases(tmp_path, count=1)
    content = json.loads(file.read_text())
    content["cases"][0]["exactArithmetic"] = {"a": {"gpu": 4}}
    file.write_text(json.dumps(content))
    assert main([str(file)]) == 1


def _another_winner(case: Json) -> None:
    case["result"]["firstOf"]["a|b"] = "b"


def _another_rule(case: Json) -> None:
    case["result"]["rule"]["a|b"] = 5


def _no_winner(case: Json) -> None:
    case["result"]["firstOf"]["a|b"] = None


def _another_first(case: Json) -> None:
    case["result"]["order"] = ["b", "c", "a"]


def _another_gate(case: Json) -> None:
    case["result"]["nonPreemptibleOnly"] = {"schedulable": False, "reason": "OverLimit"}


def _floats_after_all(case: Json) -> None:
    del case["result"]["exactArithmetic"]


def _another_node_answer(case: Json) -> None:
    case["result"]["exactArithmetic"] = {"firstPodOnNode": {"schedulable": "unknown"}}


def _no_reclaimer(case: Json) -> None:
    case["result"]["canReclaim"] = False


def _not_reclaimable(case: Json) -> None:
    case["result"]["reclaimable"] = False


def _only_another_alternative(case: Json) -> None:
    case["result"].update(varies=True, alternatives=[False])


def _another_exact_answer(case: Json) -> None:
    case["result"]["exactArithmetic"] = {"reclaimable": False}


def _another_exact_answer_than_the_listed(case: Json) -> None:
    exact = {"reclaimable": False}
    case["result"].update(varies=True, alternatives=[True, False], exactArithmetic=exact)


def _another_length(case: Json) -> None:
    case["queries"][0]["result"]["reclaimMinRuntimeSeconds"] = 1


def _another_candidate(case: Json) -> None:
    result = case["queries"][-1]["result"]
    result["preemptCandidate"] = not result["preemptCandidate"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("kai-order-public.json", _another_winner),
        ("kai-order-public.json", _another_rule),
        ("kai-order-public.json", _no_winner),
        ("kai-order-public.json", _another_first),
        ("kai-capacity-public.json", _another_gate),
        ("kai-capacity-public.json", _floats_after_all),
        ("kai-capacity-public.json", _another_node_answer),
        ("kai-reclaimable-public.json", _no_reclaimer),
        ("kai-reclaimable-public.json", _not_reclaimable),
        ("kai-reclaimable-public.json", _only_another_alternative),
        ("kai-reclaimable-public.json", _another_exact_answer),
        ("kai-reclaimable-public.json", _another_exact_answer_than_the_listed),
        ("kai-minruntime-public.json", _another_length),
        ("kai-minruntime-public.json", _another_candidate),
    ],
)
def test_an_answer_that_is_not_ours_fails(
    tmp_path: Path, name: str, change: Callable[[Json], None]
) -> None:
    content = json.loads((VECTORS / name).read_text())
    content["cases"] = content["cases"][:1]
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(content))
    assert main([str(file)]) == 0
    change(content["cases"][0])
    file.write_text(json.dumps(content))
    assert main([str(file)]) == 1


def _one_more_bound(case: Json) -> None:
    case["result"]["allocate"].setdefault("bound", {})["p1"] = 9


def _more_allocated(case: Json) -> None:
    case["result"]["allocate"]["allocated"]["q0"][0] += 1


def _another_reason(case: Json) -> None:
    case["result"]["allocate"]["reasons"] = {"p1": "OverLimit"}


def _another_fair_share(case: Json) -> None:
    case["fairShare"]["q0"][0] += 1


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("allocate", _one_more_bound),
        ("allocate", _more_allocated),
        ("allocate", _another_reason),
        ("fairShare", _another_fair_share),
    ],
)
def test_another_cycle_than_ours_fails(
    tmp_path: Path, kind: str, change: Callable[[Json], None]
) -> None:
    content = json.loads((VECTORS / "kai-cycle-public.json").read_text())
    (case,) = (each for each in content["cases"] if each["id"] == "kc-0003")
    content["cases"] = [case]
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(content))
    assert main([str(file), "--only", kind]) == 0
    change(case)
    file.write_text(json.dumps(content))
    assert main([str(file), "--only", kind]) == 1


@pytest.mark.parametrize(
    "case", [{}, {"id": "x"}, {"id": "x", "queues": 7}, 7, None, "x", []], ids=repr
)
@pytest.mark.parametrize(
    "head",
    [
        {"schema": "kai-oracle/1", "kind": "division"},
        {"schema": "kai-oracle/1", "kind": "order"},
        {"schema": "kai-oracle/1", "kind": "capacity"},
        {"schema": "kai-oracle/1", "kind": "reclaimable"},
        {"schema": "kai-oracle/1", "kind": "minruntime"},
        {"schema": "kai-cycle/1"},
        {"schema": "kai-suite/1"},
        {"schema": "kueue-oracle/1"},
        {"schema": "published/1"},
    ],
    ids=lambda head: " ".join(head.values()),
)
def test_a_malformed_case_fails_without_a_crash(
    tmp_path: Path, head: dict[str, str], case: object
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({**head, "cases": [case]}))
    assert main([str(file)]) == 1


def test_a_kind_that_nothing_answers_yet_is_said_and_counts_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(some_cases(tmp_path, kind="unheardOf"))]) == 1
    assert "unheardOf: not built yet (2 cases)" in capsys.readouterr().out


def test_only_limits_the_comparison_to_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(VECTORS / "kueue-crafted.json"), "--only", "fits"]) == 0
    assert "drs" not in capsys.readouterr().out


def test_a_kind_that_the_file_does_not_have_is_not_taken_for_agreement(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([str(DIVISION), "--only", "targets"]) == 1
    assert "nothing was compared" in capsys.readouterr().err


def test_json_has_every_outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = some_cases(tmp_path)
    assert main([str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["counts"] == {"passed": 2}
    assert [outcome["id"] for outcome in shown["files"][str(file)]] == ["crafted00", "crafted01"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"schema": 1, "cases": 3}', "\xff"])
def test_a_file_that_is_no_vector_file_is_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "no.json"
    file.write_text(content, encoding="latin-1")
    assert main([str(file)]) == 1
    assert str(file) in capsys.readouterr().err


def test_a_missing_file_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "absent.json"), str(some_cases(tmp_path))]) == 1
    shown = capsys.readouterr()
    assert "absent.json" in shown.err
    assert "2 passed" in shown.out
