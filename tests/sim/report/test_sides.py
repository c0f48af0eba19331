"""Which runs may be compared, and what they are called."""

from pathlib import Path

import msgspec
import pytest

from fairlead.errors import ResultError
from fairlead.sim.report.sides import Side, check_comparable, sides_of, with_names
from fairlead.sim.results.about import RunAbout
from tests.sim.report.small_results import JOBS, small_run, write_result


def side(folder: Path, about: RunAbout, jobs: str = JOBS) -> Side:
    (found,) = sides_of(str(folder), write_result(folder, about, jobs=jobs).runs)
    return found


def changed(about: RunAbout, **changes: object) -> RunAbout:
    return msgspec.structs.replace(about, **changes)


def test_each_variant_of_a_result_is_a_side_with_a_run_for_each_seed(tmp_path: Path) -> None:
    runs = [
        changed(small_run(f"{variant}-seed-{seed}", seed=seed), variant=variant)
        for variant in ("kai", "kueue")
        for seed in (1, 2)
    ]
    sides = sides_of("result", write_result(tmp_path, *runs).runs)
    assert [(each.about.name, sorted(each.runs)) for each in sides] == [
        ("kai", [1, 2]),
        ("kueue", [1, 2]),
    ]


def test_one_variant_can_be_chosen_and_another_is_refused(tmp_path: Path) -> None:
    result = write_result(tmp_path, small_run("one"), small_run("two"))
    (only,) = sides_of("result", result.runs, "two")
    assert only.about.variant == "two"
    with pytest.raises(ResultError, match="result has no variant three: it has one, two"):
        sides_of("result", result.runs, "three")


def test_two_runs_of_one_seed_are_refused(tmp_path: Path) -> None:
    twice = [changed(small_run(name), variant="kai") for name in ("one", "two")]
    result = write_result(tmp_path, *twice)
    with pytest.raises(ResultError, match="two runs of kai with the seed 1"):
        sides_of("result", result.runs)


def test_sides_are_called_after_what_sets_them_apart(tmp_path: Path) -> None:
    runs = {
        "a": changed(small_run("kai"), settings={"grace": "30s", "kValue": "1"}),
        "b": changed(small_run("kai"), settings={"grace": "30s", "kValue": "2"}),
        "c": changed(small_run("kai"), settings={"grace": "30s", "kValue": "2"}),
    }
    sides = [(name, side(tmp_path / name, about)) for name, about in runs.items()]
    names = [each.about.name for each in with_names(sides)]
    assert names == ["kai kValue=1", "b: kai kValue=2", "c: kai kValue=2"]


OTHER_WORK = {
    "another scenario": ({"scenario": "large"}, "their scenarios differ (small and large)"),
    "another seed": ({"seed": 2}, "their seeds differ (1 and 2)"),
    "a setting that changes the work": (
        {"settings": {"loadFactor": "2"}},
        "their settings of loadFactor differ (- and 2)",
    ),
}


@pytest.mark.parametrize(("change", "message"), OTHER_WORK.values(), ids=OTHER_WORK.keys())
def test_other_work_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    first = side(tmp_path / "first", small_run("first"))
    second = side(tmp_path / "second", changed(small_run("second"), **change))
    with pytest.raises(ResultError) as refused:
        check_comparable([first, second])
    assert "are not of the same work" in str(refused.value)
    assert message in str(refused.value)


def test_jobs_of_the_same_name_that_are_not_the_same_are_refused(tmp_path: Path) -> None:
    first = side(tmp_path / "first", small_run("first"))
    longer = JOBS.replace("5000   1     4000", "6000   1     4000")
    second = side(tmp_path / "second", small_run("second"), longer)
    with pytest.raises(ResultError, match="the job y is not the same"):
        check_comparable([first, second])


def test_runs_without_a_job_in_common_are_refused(tmp_path: Path) -> None:
    first = side(tmp_path / "first", small_run("first"))
    renamed = write_result(tmp_path / "second", small_run("second"))
    jobs = renamed.folder / "second" / "jobs.csv"
    text = jobs.read_text(encoding="utf-8")
    for name in "xyz":
        text = text.replace(f"\n{name},", f"\nother-{name},")
    jobs.write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match="they have no job in common"):
        check_comparable([first, *sides_of("second", renamed.runs)])


def test_a_partial_run_is_refused(tmp_path: Path) -> None:
    first = side(tmp_path / "first", small_run("first"))
    second = side(tmp_path / "second", small_run("second", complete=False))
    with pytest.raises(ResultError, match="the run second was stopped before its end"):
        check_comparable([first, second])


def test_one_side_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="nothing to compare with"):
        check_comparable([side(tmp_path, small_run())])
