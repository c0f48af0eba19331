"""The help of commands that change settings by name."""

import pytest

from fairlead.sim.scenario.settings import SETTABLE
from tests.cli.run_cli import run_cli


@pytest.mark.parametrize("command", ["simulate", "sweep"])
def test_every_setting_is_listed_with_what_it_means_on_one_line(command: str) -> None:
    ran = run_cli(command, "--help")
    assert ran.exit_code == 0
    lines = [line.split(maxsplit=1) for line in ran.out.splitlines()]
    unlisted = [name for name, each in SETTABLE.items() if [name, each.meaning] not in lines]
    assert unlisted == []
