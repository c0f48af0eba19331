"""The fuzzers of manifests and plans find nothing in the first cases of a seed."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.fuzz import manifests, plans
from tests.fuzz.campaign import passes

SEED = 1


@pytest.mark.parametrize(
    ("name", "fuzzer", "cases"), [("manifests", manifests, 25), ("plans", plans, 60)]
)
def test_no_case_of_a_seed_fails(
    name: str, fuzzer: ModuleType, cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for the input of a case that fails
    for number in range(cases):
        assert passes(name, fuzzer.make, fuzzer.check, SEED, number), f"case {number}"


def test_a_case_that_fails_is_made_smaller_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(text: str) -> None:
        assert "b" not in text

    monkeypatch.chdir(tmp_path)
    assert not passes("letters", lambda _: "a\nb\nc\nd\ne", check, 7, 0)
    assert Path("fuzz-letters-7-0.yaml").read_text() == "b"
    assert "case 0 of seed 7 fails" in capsys.readouterr().out
