"""Tables of simulations fit a terminal, and ``-o wide`` has a line for every row."""

from pathlib import Path

import pytest

from tests.cli.run_cli import run_cli
from tests.cli.simulated import write_scenario

COLUMNS = 80


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setattr("fairlead.cli.output.table.terminal_width", lambda: COLUMNS)
    monkeypatch.chdir(tmp_path)
    scenario, policies = write_scenario(tmp_path), ["--policy", "kai,kueue"]
    over = ["--over", "kValue=1", "--over", "halfLife=1m,2m", "--workers", "1"]
    return {
        "simulate": ["simulate", scenario, *policies, "--seeds", "2", "--to", "runs"],
        "compare": ["compare", "runs"],
        "sweep": ["sweep", scenario, *over, "--to", "swept"],
    }


def test_tables_fit_the_terminal_unless_they_are_to_be_wide(
    commands: dict[str, list[str]],
) -> None:
    for name, arguments in commands.items():
        narrow = run_cli(*arguments)
        assert narrow.exit_code == 0, narrow.err
        assert max(map(len, narrow.out.splitlines())) <= COLUMNS, name
        wide = run_cli(*arguments, "-o", "wide")
        assert wide.exit_code == 0, wide.err
        assert max(map(len, wide.out.splitlines())) > COLUMNS, name
        assert len(wide.out.splitlines()) < len(narrow.out.splitlines()), name
        # Titles are broken between words, and never within a unit.
        assert not any(line.split()[-1:] == ["h"] for line in narrow.out.splitlines()), name
