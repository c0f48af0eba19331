"""``fairlead compare``: tables, documents, a page, and what it refuses."""

import csv
import json
from pathlib import Path

import msgspec
import pytest

from tests.cli.run_cli import run_cli
from tests.cli.simulated import write_scenario
from tests.sim.report.small_results import small_run, write_result


@pytest.fixture
def one_seed(tmp_path: Path) -> str:
    folder = tmp_path / "result"
    write_result(folder, small_run("kai"), small_run("kueue"))
    return str(folder)


@pytest.fixture
def two_seeds(tmp_path: Path) -> str:
    folder = tmp_path / "seeds"
    runs = [
        msgspec.structs.replace(small_run(f"{variant}-seed-{seed}", seed=seed), variant=variant)
        for variant in ("kai", "kueue")
        for seed in (1, 2)
    ]
    write_result(folder, *runs)
    return str(folder)


def test_the_table_has_both_sides_and_no_interval_for_one_seed(one_seed: str) -> None:
    """The runs are the same: 4 GPUs are held all the time but for nothing, so all are in use."""
    ran = run_cli("compare", one_seed)
    assert ran.exit_code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "small: the same work on 2 sides, seeds 1"
    assert lines[3].split() == ["OF", "MEASURE", "RESOURCE", "kai", "kueue", "DIFFERENCE"]
    assert lines[4].split() == ["cluster", "utilisation", "gpu", "100%", "100%", "0", "points"]
    assert ran.err == "note: with one seed any difference may be chance: simulate with --seeds 10\n"


def test_with_several_seeds_there_is_an_interval(two_seeds: str) -> None:
    ran = run_cli("compare", two_seeds)
    assert ran.exit_code == 0
    assert "95% INTERVAL" in ran.out
    assert ran.out.endswith(
        "\nbetter, worse: the interval does not contain 0; by chance one row of twenty\n"
        ">=: jobs that never started count with their age at the end\n"
    )
    assert ran.err == (
        "note: with two seeds intervals are so wide that most differences are lost in them: "
        "simulate with --seeds 10\n"
    )


def test_where_nothing_is_drawn_one_seed_is_enough(tmp_path: Path) -> None:
    """Both sides have the same two endless jobs; only how often they take turns differs."""
    two_queues = str(Path(__file__).parents[3] / "examples" / "scenarios" / "two-queues.yaml")
    folders = [str(tmp_path / k_value) for k_value in ("1", "2")]
    for folder in folders:
        settings = ("--set", f"kValue={Path(folder).name}", "--set", "duration=10m")
        assert run_cli("simulate", two_queues, *settings, "--to", folder).exit_code == 0
    ran = run_cli("compare", *folders)
    assert ran.err == (
        "note: nothing is drawn by chance: the work is the same in every run, one seed is enough\n"
    )
    lines = map(str.split, ran.out.splitlines())
    assert [line for line in lines if line[:2] == ["cluster", "evictions"]] == [
        ["cluster", "evictions", "4", "7", "+3", "worse"]
    ]


def test_variants_are_chosen_after_a_colon(one_seed: str) -> None:
    ran = run_cli("compare", f"{one_seed}:kueue", f"{one_seed}:kai")
    assert ran.out.splitlines()[1] == "differences are from kueue"


def test_a_document_says_what_it_is(one_seed: str) -> None:
    document = json.loads(run_cli("compare", one_seed, "-o", "json").out)
    assert list(document.items())[:2] == [("apiVersion", "fairlead/v1"), ("kind", "Comparison")]
    assert [side["name"] for side in document["sides"]] == ["kai", "kueue"]
    assert document["rows"][0]["differences"] == [
        {"mean": 0.0, "low": None, "high": None, "runs": 1}
    ]


def test_csv_has_a_line_for_each_side(two_seeds: str) -> None:
    rows = list(csv.DictReader(run_cli("compare", two_seeds, "-o", "csv").out.splitlines()))
    assert [row["side"] for row in rows[:2]] == ["kai", "kueue"]
    assert (rows[0]["difference"], rows[1]["difference"]) == ("", "0.0")
    assert (rows[0]["runs"], rows[1]["pairs"]) == ("2", "2")


def test_the_page_is_written_beside_the_table(one_seed: str, tmp_path: Path) -> None:
    file = tmp_path / "compare.html"
    ran = run_cli("compare", one_seed, "--to", str(file))
    assert ran.exit_code == 0
    assert "utilisation" in ran.out
    assert f"written: {file}" in ran.err
    assert file.read_bytes().startswith(b"<!doctype html>")


def test_one_side_alone_is_refused(one_seed: str) -> None:
    ran = run_cli("compare", f"{one_seed}:kai")
    assert (ran.exit_code, ran.out) == (1, "")
    assert "nothing to compare with: name two results" in ran.err


def test_a_variant_that_is_not_there_is_refused(one_seed: str) -> None:
    ran = run_cli("compare", f"{one_seed}:slurm")
    assert ran.exit_code == 1
    assert "has no variant slurm: it has kai, kueue" in ran.err


EDITS = {"another load": ("load: 1.1", "load: 1.2"), "another duration": ("6m", "5m")}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_runs_of_a_file_that_was_edited_in_between_are_refused(
    tmp_path: Path, edit: tuple[str, str]
) -> None:
    """Its name is the same, and so are the seed and the names of its jobs."""
    file = Path(write_scenario(tmp_path))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    for folder in (old, new):
        assert run_cli("simulate", str(file), "--to", folder).exit_code == 0
        file.write_text(file.read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    ran = run_cli("compare", old, new)
    assert (ran.exit_code, ran.out) == (1, "")
    assert f"{Path(old) / 'kai'} and {Path(new) / 'kai'} are not of the same work" in ran.err


def test_the_same_work_under_other_settings_is_compared(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    folders = [str(tmp_path / k_value) for k_value in ("1", "2")]
    for folder in folders:
        setting = f"kValue={Path(folder).name}"
        assert run_cli("simulate", file, "--set", setting, "--to", folder).exit_code == 0
    ran = run_cli("compare", *folders)
    assert ran.exit_code == 0
    assert "differences are from kai kValue=1" in ran.out


def test_naming_nothing_is_wrong_usage() -> None:
    assert run_cli("compare").exit_code == 2
