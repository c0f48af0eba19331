"""Folders: nothing of others is overwritten, and what is no result is told so."""

from pathlib import Path

import pytest

from fairlead.errors import ResultError
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder, free_folder
from fairlead.sim.run_variant import RunOrder, run_variant
from fairlead.sim.scenario.scenario import Scenario
from tests.sim.results.small_runs import contents, run_all
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, scenario


@pytest.fixture
def small(tmp_path: Path) -> Scenario:
    """One job of an hour, under kai."""
    return scenario(tmp_path, NODES + QUEUES + WORK)


def test_a_result_of_ours_makes_way_for_a_new_one(tmp_path: Path, small: Scenario) -> None:
    """What somebody else put into the folder stays."""
    to = tmp_path / "out"
    run_all(small, to)
    (to / "report.html").write_text("mine")
    (to / "kai" / "notes.txt").write_text("mine, too")
    ResultFolder(to, "small", ["kueue"])
    assert sorted(contents(to)) == ["kai/notes.txt", "report.html", "result.json"]
    assert read_result(to).runs == ()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultError, match="has other files in it and no results of ours"):
        ResultFolder(tmp_path, "small", ["kai"])
    assert list(contents(tmp_path)) == ["thesis.tex"]


def test_a_run_does_not_overwrite_files_of_others(tmp_path: Path, small: Scenario) -> None:
    run_all(small, tmp_path / "out")
    (tmp_path / "out" / "kueue").mkdir()
    (tmp_path / "out" / "kueue" / "notes.txt").write_text("mine")
    with pytest.raises(ResultError, match="kueue has other files in it: move them elsewhere"):
        ResultFolder(tmp_path / "out", "small", ["kueue"])


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ResultError, match="is a file: name a folder that is new or empty"):
        ResultFolder(tmp_path / "out", "small", ["kai"])


@pytest.mark.parametrize("name", ["", "..", "a/b", "../up"])
def test_a_run_has_a_name_of_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ResultError, match="which no folder can be called"):
        ResultFolder(tmp_path, "small", [name])


def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match=r"cannot write .*: Not a directory"):
        ResultFolder(tmp_path / "file" / "out", "small", ["kai"])


def test_a_free_folder_is_the_first_that_is_not_there(tmp_path: Path) -> None:
    assert free_folder(tmp_path, "x") == tmp_path / "x"
    (tmp_path / "x").mkdir()
    (tmp_path / "x-2").mkdir()
    assert free_folder(tmp_path, "x") == tmp_path / "x-3"


def test_runs_are_listed_as_they_were_asked_for_whoever_ends_first(
    tmp_path: Path, small: Scenario
) -> None:
    folder = ResultFolder(tmp_path / "out", "small", ["first", "second"])
    order = RunOrder(scenario=small, variant="kai", seed=0)
    second = run_variant(order, folder.of_run("second"))
    folder.ended(second)
    half = read_result(tmp_path / "out")
    assert [run.about.name for run in half.runs] == ["second"]
    assert not half.about.complete
    folder.ended(run_variant(order, folder.of_run("first")))
    whole = read_result(tmp_path / "out")
    assert [run.about.name for run in whole.runs] == ["first", "second"]
    assert whole.about.complete


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is no folder with results: expected one with a result"):
        read_result(tmp_path)
    with pytest.raises(ResultError, match="nowhere does not exist"):
        read_result(tmp_path / "nowhere")


def test_a_full_disk_is_told_and_leaves_no_run(tmp_path: Path, small: Scenario) -> None:
    """A device that is always full stands in the place of the table."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "jobs.csv").symlink_to("/dev/full")
    with pytest.raises(ResultError, match=r"cannot write .*jobs\.csv: No space left on device"):
        run_variant(RunOrder(scenario=small, variant="kai", seed=0), folder)
    assert not (folder / "run.json").exists()


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("a/../../b", "a-..-..-b"),
        ("../up", "-up"),
        ("...", "result"),
        ("two\nlines", "two-lines"),
        ("\u5199\u771f", "\u5199\u771f"),
        ("x" * 300, "x" * 60),
    ],
)
def test_a_name_that_somebody_gave_a_scenario_stays_below_the_folder(
    tmp_path: Path, name: str, folder: str
) -> None:
    assert free_folder(tmp_path, name) == tmp_path / folder
