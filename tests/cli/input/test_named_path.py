"""An empty name of a file or folder is a slip, such as a variable that is not set."""

import pytest

from tests.cli.run_cli import run_cli

COMMANDS = {
    "simulate": ("simulate", ""),
    "results of simulate": ("simulate", "x.yaml", "--to", ""),
    "results of sweep": ("sweep", "x.yaml", "--over", "kValue=1", "--to", ""),
    "report": ("report", ""),
    "page of report": ("report", "x", "--to", ""),
    "figures of report": ("report", "x", "--figures", ""),
    "page of compare": ("compare", "x", "--to", ""),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
def test_an_empty_name_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    ran = run_cli(*arguments)
    assert ran.exit_code == 2
    assert "found an empty path, perhaps from a variable that is not set: name a f" in ran.err
