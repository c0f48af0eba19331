"""Imports are in the log: who brought what, when and why."""

import json
from pathlib import Path

from tests.cli.run_cli import run_cli

HEAD = '{"type":"usage","version":1,"resources":["gpu"],"observed_ms":null}'
LINES = [
    '{"type":"held","at_ms":1794700000000,"queue":"a","user":"","amounts":[1000]}',
    '{"type":"held","at_ms":1794703600000,"queue":"a","user":"","amounts":[0]}',
]


def test_an_import_is_told_with_who_when_and_why_and_one_of_nothing_new_is_not(
    tmp_path: Path,
) -> None:
    store, text = str(tmp_path / "use.db"), tmp_path / "week.jsonl"
    text.write_text("\n".join([HEAD, *LINES]) + "\n")
    signed = ("--who", "eve", "--now", "2026-11-16T08:00:00Z")
    for reason in ("the old cluster", "again"):
        ran = run_cli("usage", "import", str(text), "--store", store, "--reason", reason, *signed)
        assert ran.exit_code == 0, ran.err
    ran = run_cli("usage", "log", "--store", store, "-o", "json")
    [change] = json.loads(ran.out)["changes"]
    assert change == {
        "time": "2026-11-16T08:00:00Z",
        "who": "eve",
        "change": "imported",
        "queue": None,
        "user": None,
        "amounts": {},
        "imported": "week.jsonl, 2 entries from 2026-11-14T23:46:40Z to 2026-11-15T00:46:40Z",
        "reason": "the old cluster",
    }
    table = run_cli("usage", "log", "--store", store).out
    assert "imported" in table
    assert "week.jsonl" in table


def test_a_reason_of_nothing_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "week.jsonl"
    text.write_text(HEAD + "\n")
    ran = run_cli("usage", "import", str(text), "--store", "x.db", "--reason", " ")
    assert (ran.exit_code, ran.out) == (2, "")
    assert "found no text, expected a reason" in ran.err
