"""Folders: nothing of others is overwritten, and what is no result is told so."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from fairlead.errors import ResultError
from fairlead.sim.results.about import ASIDE, ResultAbout
from fairlead.sim.results.eviction_table import code_of
from fairlead.sim.results.files import write_json
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder, free_folder
from fairlead.sim.results.run_writer import RunWriter
from fairlead.sim.run.run_variant import RunOrder, run_variant
from fairlead.sim.scenario.scenario import Scenario
from tests.cli.run_cli import run_cli
from tests.sim.results.full_disk import full_for
from tests.sim.results.small_runs import contents, run_all
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, scenario


@pytest.fixture
def small(tmp_path: Path) -> Scenario:
    """One job of an hour, under kai."""
    return scenario(tmp_path, NODES + QUEUES + WORK)


def begun(to: Path, *names: str) -> ResultFolder:
    """Begin a result, of whose runs something is written."""
    folder = ResultFolder(to, "small", names)
    for name in names:
        RunWriter(folder.of_run(name), ("cpu",), code_of).give_up()
    return folder


def end(folder: ResultFolder, small: Scenario, name: str) -> None:
    """Run to the end."""
    order = RunOrder(scenario=small, variant="kai", seed=0)
    folder.ended(run_variant(order, folder.of_run(name)))


def test_a_result_makes_way_when_a_run_of_the_new_one_has_ended(
    tmp_path: Path, small: Scenario
) -> None:
    """With the page that tells of it. What somebody else put into the folder stays."""
    to = tmp_path / "out"
    run_all(small, to)
    assert run_cli("report", str(to)).exit_code == 0
    (to / "kai" / "notes.txt").write_text("mine")
    before = contents(to)
    with closing(begun(to, "a", "b")) as folder:
        assert {name: contents(to)[name] for name in before} == before
        end(folder, small, "b")
        assert sorted({Path(name).parts[0] for name in contents(to)}) == [
            ".fairlead-unfinished",
            "b",
            "kai",
            "result.json",
        ]
        assert [run.about.name for run in read_result(to).runs] == ["b"]
    left = contents(to)
    assert sorted(name for name in left if not name.startswith("b/")) == [
        "kai/notes.txt",
        "result.json",
    ]


def test_a_result_stays_as_it_is_if_no_run_of_the_new_one_ends(
    tmp_path: Path, small: Scenario
) -> None:
    to = tmp_path / "out"
    run_all(small, to)
    before = contents(to)
    begun(to, "kai", "kueue").close()
    assert contents(to) == before


def test_a_page_that_others_wrote_stays(tmp_path: Path, small: Scenario) -> None:
    to = tmp_path / "out"
    run_all(small, to)
    (to / "report.html").write_text("<!doctype html>mine")
    run_all(small, to)
    assert (to / "report.html").read_text() == "<!doctype html>mine"


def test_a_new_folder_goes_if_no_run_ends(tmp_path: Path) -> None:
    begun(tmp_path / "new", "kai").close()
    (tmp_path / "empty").mkdir()
    begun(tmp_path / "empty", "kai").close()
    assert [each.name for each in tmp_path.iterdir()] == ["empty"]


def test_what_a_process_leaves_that_was_killed_is_no_result_and_goes_with_the_next(
    tmp_path: Path, small: Scenario
) -> None:
    """First into a new folder, then over a result, which stays."""
    to = tmp_path / "out"
    killed(to, "kai")
    assert [each.name for each in to.iterdir()] == [".fairlead-unfinished"]
    with pytest.raises(ResultError, match="has only runs that have not ended: simulate again"):
        read_result(to)
    before = contents(run_all(small, to).folder)
    killed(to, "kai")
    assert read_result(to).about.complete
    begun(to, "kai").close()
    assert contents(to) == before


def killed(to: Path, name: str) -> None:
    """Begin a run in a process of its own that is killed before it can tidy up."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from tests.sim.results.test_result_folder import begun\n"
        "begun(Path(sys.argv[1]), sys.argv[2])\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(to), name], check=False)
    assert ran.returncode == -signal.SIGKILL


def test_who_is_killed_while_an_old_result_makes_way_leaves_no_run_of_it_for_ever(
    tmp_path: Path, small: Scenario
) -> None:
    """The folder says at that time which runs are leaving."""
    to = tmp_path / "out"
    run_all(small, to)
    about = ResultAbout(scenario="small", leaving=("kai",))
    (to / "result.json").write_bytes(msgspec.json.encode(about))
    assert read_result(to).runs == ()
    with closing(ResultFolder(to, "small", ["new"])) as folder:
        end(folder, small, "new")
    assert sorted(each.name for each in to.iterdir()) == ["new", "result.json"]
    assert read_result(to).about.leaving == ()


def test_who_is_killed_before_a_run_is_listed_does_not_leave_it_for_ever(
    tmp_path: Path, small: Scenario
) -> None:
    to = tmp_path / "out"
    tell = ResultFolder._write_about

    def stopped(self: ResultFolder, **facts: Any) -> None:
        if "runs" in facts:
            raise KeyboardInterrupt
        tell(self, **facts)

    with (
        mock.patch.object(ResultFolder, "_write_about", stopped),
        closing(ResultFolder(to, "small", ["kai"])) as folder,
        pytest.raises(KeyboardInterrupt),
    ):
        end(folder, small, "kai")
    assert (to / "kai").is_dir()
    assert read_result(to).runs == ()
    with closing(ResultFolder(to, "small", ["new"])) as folder:
        end(folder, small, "new")
    assert sorted(each.name for each in to.iterdir()) == ["new", "result.json"]


def test_two_at_a_time_do_not_write_to_one_folder(tmp_path: Path) -> None:
    first = ResultFolder(tmp_path / "out", "small", ["kai"])
    with pytest.raises(ResultError, match=r"another simulation is writing to .*out: wait"):
        ResultFolder(tmp_path / "out", "small", ["kai"])
    first.close()
    ResultFolder(tmp_path / "out", "small", ["kai"]).close()


OF_OURS = {
    "nothing": "",
    "what a disk leaves that lost its power": "\0" * 100,
    "half of it": '{"format": "fairlead-simulation", "version',
    "an older version": '{"format": "fairlead-simulation", "version": 1, "runs": ["kai"]}',
    "a newer version": '{"format": "fairlead-simulation", "version": 9, "runs": ["kai"], "x": 1}',
}


@pytest.mark.parametrize("text", OF_OURS.values(), ids=OF_OURS.keys())
def test_a_result_that_cannot_be_read_is_replaced(
    tmp_path: Path, small: Scenario, text: str
) -> None:
    to = tmp_path / "out"
    run_all(small, to)
    (to / "result.json").write_text(text)
    assert run_all(small, to).about.complete


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"tests": 12}', "all is well"])
def test_a_file_of_that_name_that_is_not_ours_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ResultError, match=r"not of a simulation: move it elsewhere, or name anot"):
        ResultFolder(tmp_path, "small", ["kai"])
    assert contents(tmp_path) == {"result.json": text.encode()}


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


def others(folder: Path, *names: str) -> Path:
    """Return a folder with data of others."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("mine")
    return folder


def test_a_link_in_place_of_the_unfinished_runs_is_refused_and_keeps_its_data(
    tmp_path: Path,
) -> None:
    precious = others(tmp_path / "precious", "a")
    to = tmp_path / "out"
    to.mkdir()
    (to / ASIDE).symlink_to(precious)
    with pytest.raises(ResultError, match=f"{ASIDE} is a link.*: remove it, or name "):
        ResultFolder(to, "small", ["kai"])
    assert contents(precious) == {"a": b"mine"}


def test_a_linked_run_that_a_result_lists_keeps_its_files(tmp_path: Path) -> None:
    precious = others(tmp_path / "precious", "jobs.csv")
    to = tmp_path / "out"
    to.mkdir()
    write_json(to / "result.json", ResultAbout(scenario="small", leaving=("old",)), own=0)
    (to / "old").symlink_to(precious)
    with pytest.raises(ResultError, match="old is a link"):
        ResultFolder(to, "small", ["kai"])
    assert contents(precious) == {"jobs.csv": b"mine"}


@pytest.mark.parametrize("swapped", ["old", ASIDE])
def test_a_link_that_is_swapped_in_meanwhile_is_not_followed(
    tmp_path: Path, small: Scenario, swapped: str
) -> None:
    precious = others(tmp_path / "precious", "jobs.csv")
    to = tmp_path / "out"
    to.mkdir()
    write_json(to / "result.json", ResultAbout(scenario="small", leaving=("old",)), own=0)
    (to / "old").mkdir()
    with closing(begun(to, "kai")) as folder:
        (to / swapped).rename(tmp_path / "moved")
        (to / swapped).symlink_to(precious)
        with pytest.raises(ResultError, match=f"{swapped} is a link"):
            end(folder, small, "kai")
    assert contents(precious)["jobs.csv"] == b"mine"


def test_a_run_does_not_begin_behind_a_link_that_is_swapped_in(tmp_path: Path) -> None:
    precious = others(tmp_path / "precious")
    others(precious / "kai", "run.json")
    with closing(ResultFolder(tmp_path / "out", "small", ["kai"])) as folder:
        folder.aside.rename(tmp_path / "moved")
        folder.aside.symlink_to(precious)
        with pytest.raises(ResultError, match=f"{ASIDE} is a link"):
            RunWriter(folder.of_run("kai"), ("cpu",), code_of)
    assert contents(precious) == {"kai/run.json": b"mine"}


def test_a_linked_folder_may_be_named_and_other_names_of_its_files_keep_their_content(
    tmp_path: Path, small: Scenario
) -> None:
    to = tmp_path / "link"
    (tmp_path / "real").mkdir()
    to.symlink_to(tmp_path / "real")
    run_all(small, to)
    kept = tmp_path / "kept.json"
    kept.hardlink_to(to / "result.json")
    (to / "result.json.part").symlink_to(kept)
    before = kept.read_bytes()
    run_all(small, to)
    assert kept.read_bytes() == before
    assert read_result(to).about.complete


def test_a_page_is_not_written_through_a_link(tmp_path: Path, small: Scenario) -> None:
    to, mine = tmp_path / "out", tmp_path / "mine"
    run_all(small, to)
    mine.write_text("mine")
    (to / "report.html").symlink_to(mine)
    ran = run_cli("report", str(to))
    assert (ran.exit_code, mine.read_text()) == (1, "mine")
    assert "report.html is a link: remove it" in ran.err


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ResultError, match="is a file: name a folder that is new or empty"):
        ResultFolder(tmp_path / "out", "small", ["kai"])


NAMES = {
    "": "which no folder can be called",
    "..": "which no folder can be called",
    "a/b": "which no folder can be called",
    "../up": "which no folder can be called",
    "result.json": "which is the name of a file of every result: give its variant another name",
    "Report.HTML": "which is the name of a file of every result",
    ".fairlead-unfinished": "which is the name of a file of every result",
    "x" * 256: "a name of 256 bytes, expected at most 255: give its variant a shorter one",
    "\u5199" * 86: "a name of 258 bytes, expected at most 255",
    "\ud800": "which cannot be written in UTF-8",
}


@pytest.mark.parametrize(("name", "problem"), NAMES.items(), ids=range(len(NAMES)))
def test_a_run_that_cannot_be_called_so_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, problem: str
) -> None:
    with pytest.raises(ResultError, match=problem):
        ResultFolder(tmp_path / "out", "small", ["fine", name])
    assert not (tmp_path / "out").exists()


def test_the_longest_name_can_be_written_and_read(tmp_path: Path, small: Scenario) -> None:
    with closing(ResultFolder(tmp_path / "out", "small", ["x" * 255])) as folder:
        end(folder, small, "x" * 255)
    assert read_result(tmp_path / "out").runs[0].about.name == "x" * 255


@pytest.mark.parametrize("place", ["queue", "user", "work"])
def test_a_name_that_no_table_can_hold_is_refused(tmp_path: Path, place: str) -> None:
    long = {place: "x" * 131_073}
    queue = long.get("queue", "a")
    user, work = long.get("user", "ann"), long.get("work", "w")
    job = "{requests: {gpu: 1}, run: 1h}"
    told = f"{{name: {work}, queue: {queue}, user: {user}, jobs: [{job}]}}"
    found = scenario(tmp_path, f"{NODES}  queues: [{{name: {queue}}}]\n  work: [{told}]\n")
    with pytest.raises(ResultError, match=r"begins with 'xxx.*, expected at most 131,072: shorten"):
        run_all(found, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_place_where_nothing_can_be_written_is_reported(tmp_path: Path) -> None:
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
    with closing(ResultFolder(tmp_path / "out", "small", ["first", "second"])) as folder:
        end(folder, small, "second")
        half = read_result(tmp_path / "out")
        assert [run.about.name for run in half.runs] == ["second"]
        assert not half.about.complete
        end(folder, small, "first")
    whole = read_result(tmp_path / "out")
    assert [run.about.name for run in whole.runs] == ["first", "second"]
    assert whole.about.complete


def test_a_folder_without_results_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is no folder with results: expected one with a result"):
        read_result(tmp_path)
    with pytest.raises(ResultError, match="nowhere does not exist"):
        read_result(tmp_path / "nowhere")


def test_a_full_disk_is_reported_and_leaves_no_run(tmp_path: Path, small: Scenario) -> None:
    folder = tmp_path / "run"
    with (
        full_for("jobs.csv"),
        pytest.raises(ResultError, match=r"cannot write .*jobs\.csv: No space left on device"),
    ):
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


def test_a_folder_has_only_letters_that_the_locale_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsencode", lambda name: name.encode("ascii"))
    assert free_folder(tmp_path, "r\u00e8gles") == tmp_path / "r-gles"
    with pytest.raises(ResultError, match=r"letters that no file can have here.*: set a locale"):
        ResultFolder(tmp_path / "out", "small", ["r\u00e8gles"])
