"""``fairlead report``: where it writes, what it draws, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.cli.run_cli import run_cli
from tests.sim.report.small_results import STORY, small_run, write_result
from tests.sim.scenario.scenario_files import HEAD, QUEUES


def test_the_page_goes_into_the_folder_of_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    write_result(folder, small_run())
    ran = run_cli("report", str(folder))
    file = folder / "report.html"
    assert (ran.exit_code, ran.out, ran.err) == (0, f"written: {file}\n", "")
    assert file.read_bytes().startswith(b"<!doctype html>")


def test_the_page_goes_where_it_is_reported_and_is_the_same_every_time(tmp_path: Path) -> None:
    write_result(tmp_path / "result", small_run())
    pages = []
    for name in ("one.html", "two.html"):
        ran = run_cli("report", str(tmp_path / "result"), "--to", str(tmp_path / name))
        assert ran.exit_code == 0
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    assert not (tmp_path / "result" / "report.html").exists()


@pytest.mark.parametrize("form", ["svg", "png"])
def test_figures_are_drawn_instead_of_a_page(tmp_path: Path, form: str) -> None:
    write_result(tmp_path / "result", small_run(complete=False))
    figures = tmp_path / "some" / "figures"
    arguments = ["report", str(tmp_path / "result"), "--figures", str(figures), "--format", form]
    ran = run_cli(*arguments)
    names = [f"first-held-gpu.{form}", f"first-due-gpu.{form}", f"first-waits.{form}"]
    assert ran.exit_code == 0
    assert ran.out.splitlines() == [f"drawn: {figures / name}" for name in names]
    drawn = {name: (figures / name).read_bytes() for name in names}
    assert not (tmp_path / "result" / "report.html").exists()
    if form == "svg":
        assert b"first (partial)" in drawn[names[0]]
        assert b"evicted (1)" in drawn[names[0]]
        run_cli(*arguments)
    assert drawn == {name: (figures / name).read_bytes() for name in names}


def test_figures_show_more_than_64_bits_hold(tmp_path: Path) -> None:
    """Four nodes with 5 x 10^18 of something, all held by one job, and 2^64 is 1.8 x 10^19."""
    file = tmp_path / "vast.yaml"
    file.write_text(
        HEAD
        + "  cluster: {nodes: [{name: node, count: 4, capacity: {cpu: 1, some/slot: 5E}}]}\n"
        + QUEUES
        + "  work: [{name: w, queue: a, jobs: [{pods: 4, requests: {some/slot: 5E}, run: 1h}]}]\n"
    )
    result, figures = str(tmp_path / "result"), tmp_path / "figures"
    assert run_cli("simulate", str(file), "--to", result).exit_code == 0
    ran = run_cli("report", result, "--figures", str(figures))
    assert ran.exit_code == 0, ran.err
    assert (figures / "kai-held-some-slot.svg").exists()


def test_a_format_without_figures_is_wrong_usage(tmp_path: Path) -> None:
    write_result(tmp_path / "result", small_run())
    ran = run_cli("report", str(tmp_path / "result"), "--format", "png")
    assert (ran.exit_code, ran.out) == (2, "")
    assert "--format is of pictures: add --figures FOLDER, or leave it out" in ran.err
    assert not (tmp_path / "result" / "report.html").exists()


def test_a_page_and_figures_can_be_had_together(tmp_path: Path) -> None:
    write_result(tmp_path / "result", small_run())
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    ran = run_cli("report", str(tmp_path / "result"), "--to", str(page), "--figures", str(figures))
    assert ran.exit_code == 0
    assert page.exists()
    assert len(list(figures.iterdir())) == 3


def test_without_the_library_figures_are_refused_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(tmp_path / "result", small_run())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run_cli("report", str(tmp_path / "result"), "--figures", str(tmp_path / "figures"))
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err == (
        "error: pictures need matplotlib: install it, or fairlead with its extra plot\n"
    )


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    ran = run_cli("report", str(tmp_path))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "is no folder with results" in ran.err


def test_a_result_without_runs_is_refused(tmp_path: Path) -> None:
    write_result(tmp_path, small_run())
    about = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    (tmp_path / "result.json").write_text(json.dumps({**about, "runs": []}), encoding="utf-8")
    ran = run_cli("report", str(tmp_path))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "holds no run that can be shown: simulate again" in ran.err


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    write_result(tmp_path / "result", small_run())
    ran = run_cli("report", str(tmp_path / "result"), "--to", str(tmp_path / "no" / "page.html"))
    assert ran.exit_code == 1
    assert "cannot write" in ran.err


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    write_result(tmp_path, small_run())
    (tmp_path / "first" / "summary.json").write_text("{", encoding="utf-8")
    ran = run_cli("report", str(tmp_path))
    assert ran.exit_code == 1
    assert "summary.json is damaged" in ran.err


def test_a_run_that_was_stopped_at_once_can_be_shown(tmp_path: Path) -> None:
    """No time has passed: every average is 0, and nothing is divided by it."""
    at_once = msgspec.structs.replace(small_run(complete=False), end_ms=0, bucket_ms=1)
    story = STORY[: STORY.index("5000")]
    write_result(tmp_path / "result", at_once, story=story)
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    ran = run_cli("report", str(tmp_path / "result"), "--to", str(page), "--figures", str(figures))
    assert (ran.exit_code, ran.err) == (0, "")
    assert b"NaN" not in page.read_bytes()


def test_a_reader_of_the_page_may_leave_early(tmp_path: Path) -> None:
    """As with head: it has what it wanted, so nothing is wrong."""
    write_result(tmp_path / "result", small_run())
    command = [sys.executable, "-m", "fairlead", "report", "result", "--to", "/dev/stdout"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        assert ran.stdout.read(15) == b"<!doctype html>"
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 0


def test_a_page_on_standard_output_ends_where_it_ends(tmp_path: Path) -> None:
    write_result(tmp_path / "result", small_run())
    command = [sys.executable, "-m", "fairlead", "report", "result", "--to", "/dev/stdout"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert ran.stdout.endswith(b"</html>\n")
    assert ran.stderr == b"written: /dev/stdout\n"
