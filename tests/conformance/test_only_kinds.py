"""``--only`` with a kind that no file has says which kinds there are."""

from pathlib import Path

import pytest

from tests.conformance.__main__ import main

CRAFTED = Path(__file__).parents[1] / "vectors" / "kueue-crafted.json"


def test_an_unknown_kind_is_told_with_those_that_are_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([str(CRAFTED), "--only", "bogus"]) == 1
    told = capsys.readouterr().err
    assert "nothing was compared: no case is of the kind 'bogus'; these are there: " in told
    assert "fits" in told


def test_a_kind_that_is_there_needs_no_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(CRAFTED), "--only", "fits"]) == 0
    assert "these are there" not in capsys.readouterr().err
