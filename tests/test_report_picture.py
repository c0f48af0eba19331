"""The picture in the docs of a report shows what Fairlead draws today."""

from pathlib import Path

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

PICTURE = ROOT / "docs" / "images" / "a-busy-day-due.svg"
SCENARIO = ROOT / "examples" / "scenarios" / "a-busy-day.yaml"


def test_the_picture_is_drawn_from_the_busy_day(tmp_path: Path) -> None:
    result, figures = tmp_path / "result", tmp_path / "figures"
    ran = run_cli("simulate", str(SCENARIO), "--policy", "elastic-quota", "--to", str(result))
    assert ran.exit_code == 0, ran.err
    ran = run_cli("report", str(result), "--figures", str(figures))
    assert ran.exit_code == 0, ran.err
    drawn = figures / "elastic-quota-due-nvidia.com-gpu.svg"
    assert PICTURE.read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8"), (
        "copy the figure of that name to docs/images, and look at it"
    )
