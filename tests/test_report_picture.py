"""The pictures in the docs of simulations show what Fairlead draws today."""

from pathlib import Path

import pytest

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

IMAGES = ROOT / "docs" / "images"
SCENARIOS = ROOT / "examples" / "scenarios"


@pytest.mark.parametrize(
    ("picture", "scenario", "policy", "figure"),
    [
        ("a-busy-day-due", "a-busy-day", "elastic-quota", "elastic-quota-due-nvidia.com-gpu"),
        ("two-queues", "time-based/published-picture", "kai", "kai-held-nvidia.com-gpu"),
    ],
)
def test_the_picture_is_drawn_from_the_scenario(
    picture: str, scenario: str, policy: str, figure: str, tmp_path: Path
) -> None:
    result, figures = tmp_path / "result", tmp_path / "figures"
    file = str(SCENARIOS / f"{scenario}.yaml")
    ran = run_cli("simulate", file, "--policy", policy, "--to", str(result))
    assert ran.exit_code == 0, ran.err
    ran = run_cli("report", str(result), "--figures", str(figures))
    assert ran.exit_code == 0, ran.err
    drawn = (figures / f"{figure}.svg").read_text(encoding="utf-8")
    assert (IMAGES / f"{picture}.svg").read_text(encoding="utf-8") == drawn, (
        "copy the figure to docs/images, and look at it"
    )
