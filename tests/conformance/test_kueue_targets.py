"""Kueue's own tables agree with both searches; and a difference would be seen."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.kueue_targets import check
from tests.conformance.vector_file import check_file
from tests.shared_folder import shared_file

Json = dict[str, Any]
CRAFTED = Path(__file__).parents[1] / "vectors" / "kueue-crafted.json"


def test_every_target_of_the_peers_own_tables_is_ours() -> None:
    """What the incoming workload lacks is given there, so it is no answer to compare."""
    outcomes = check_file(shared_file("vectors/kueue-suite.json"))
    found = [outcome for outcome in outcomes if outcome.kind in ("targets", "classical")]
    assert [outcome for outcome in found if outcome.status != "passed"] == []
    assert Counter(outcome.kind for outcome in found) == {"targets": 35, "classical": 84}
    assert "preempting" not in {outcome.kind for outcome in outcomes}


def test_every_target_of_the_large_world_is_ours() -> None:
    """1,000 queues, 10,000 workloads: ten of them give way, others without fair sharing."""
    world = json.loads(shared_file("vectors/kueue-bench-world.json").read_text())
    answer = json.loads(shared_file("vectors/kueue-bench-world-expected.json").read_text())
    answer["preempting"] = ["cpu", "nvidia.com/gpu"]
    outcomes = check(world | {"result": answer})
    assert [(outcome.kind, outcome.status) for outcome in outcomes] == [
        ("preempting", "passed"),
        ("targets", "passed"),
        ("classical", "passed"),
    ]


def _one_target_less(result: Json) -> None:
    result["targets"].pop()


def _another_reason(result: Json) -> None:
    result["targets"][0]["reason"] = "InClusterQueue"


def _one_more_without_fair_sharing(result: Json) -> None:
    result["classical"]["targets"].append({"name": "z9", "reason": "InCohortReclamation"})


def _nothing_lacks(result: Json) -> None:
    result["preempting"] = []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("targets", _one_target_less),
        ("targets", _another_reason),
        ("classical", _one_more_without_fair_sharing),
        ("preempting", _nothing_lacks),
    ],
)
def test_an_answer_that_is_not_ours_fails(
    tmp_path: Path, kind: str, change: Callable[[Json], None]
) -> None:
    content = json.loads(CRAFTED.read_text())
    content["cases"] = [case for case in content["cases"] if case["result"].get("targets")][:1]
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(content))
    assert main([str(file), "--only", kind]) == 0
    change(content["cases"][0]["result"])
    file.write_text(json.dumps(content))
    assert main([str(file), "--only", kind]) == 1


def test_any_listed_alternative_is_right(tmp_path: Path) -> None:
    content = json.loads(CRAFTED.read_text())
    (case, *_) = content["cases"] = [c for c in content["cases"] if c["result"].get("targets")]
    result = case["result"]
    result["alternatives"] = [result["targets"]]
    result["targets"] = []
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(content))
    assert main([str(file), "--only", "targets"]) == 0
