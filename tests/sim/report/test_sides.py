"""Which runs may be compared, and what they are called."""

from pathlib import Path

import msgspec
import pytest

from fairlead.errors import ResultError
from fairlead.sim.report.sides import Side, check_comparable, sides_of, with_names
from fairlead.sim.results.about import HistoryMark, RunAbout, WorkMarks
from tests.sim.report.small_results import small_run, write_result


def side(folder: Path, about: RunAbout) -> Side:
    (found,) = sides_of(str(folder), write_result(folder, about).runs)
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


@pytest.mark.parametrize("variant", [None, "kai"])
def test_a_result_without_runs_is_refused_as_such(variant: str | None) -> None:
    with pytest.raises(ResultError, match=r"^result holds no run that can be compared: simulate "):
        sides_of("result", [], variant)


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


def history(sha256: str) -> HistoryMark:
    return HistoryMark(begins_ms=-5, entries=2, sha256=sha256)


def test_a_history_sets_sides_apart_like_a_setting(tmp_path: Path) -> None:
    runs = {
        "without": small_run("kai"),
        "one": changed(small_run("kai"), history=history("1234567890")),
        "two": changed(small_run("kai"), history=history("abcdefghij")),
    }
    sides = [(name, side(tmp_path / name, about)) for name, about in runs.items()]
    named = with_names(sides)
    names = ["kai", "kai history=12345678", "kai history=abcdefgh"]
    assert [each.about.name for each in named] == names
    assert [each.about.history is None for each in named] == [True, False, False]
    check_comparable(named)
    both = with_names([sides[1], sides[1]])
    assert [each.about.name for each in both] == ["one: kai", "one: kai"]


MARKS = small_run().work
OTHER_WORK = {
    "another start": (
        {"start_ms": 3_600_000},
        "differ in their start (1970-01-01T00:00:00Z and 1970-01-01T01:00:00Z)",
    ),
    "another duration": (
        {"work": WorkMarks(duration_ms=3_600_000, sources=MARKS.sources)},
        "differ in their duration (30s and 1h)",
    ),
    "no duration": (
        {"work": WorkMarks(duration_ms=None, sources=MARKS.sources)},
        "differ in their duration (30s and until all is done)",
    ),
    "other jobs of the same name": (
        {"work": WorkMarks(duration_ms=MARKS.duration_ms, sources={"w": "another"})},
        "differ in what the work called w is",
    ),
    "more work": (
        {"work": WorkMarks(duration_ms=MARKS.duration_ms, sources={**MARKS.sources, "v": "x"})},
        "differ in the work called v, which only one has",
    ),
}


@pytest.mark.parametrize(("change", "message"), OTHER_WORK.values(), ids=OTHER_WORK.keys())
def test_other_work_is_refused_with_both_runs_and_what_differs(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    first = side(tmp_path / "first", small_run("kai"))
    second = side(tmp_path / "second", small_run("kai"))
    second.runs[1].about = changed(small_run("kai"), **change)
    with pytest.raises(ResultError) as refused:
        check_comparable([first, second])
    told = str(refused.value)
    assert f"{tmp_path / 'first' / 'kai'} and {tmp_path / 'second' / 'kai'} are not of the" in told
    assert message in told
    assert "Simulate both from the same work" in told


def test_other_seeds_are_refused(tmp_path: Path) -> None:
    first = side(tmp_path / "first", small_run("first"))
    second = side(tmp_path / "second", small_run("second", seed=2))
    with pytest.raises(ResultError, match=r"the same seeds \(1 and 2\): simulate both"):
        check_comparable([first, second])


def test_the_same_work_is_comparable_whatever_its_file_and_its_settings_are_called(
    tmp_path: Path,
) -> None:
    first = side(tmp_path / "first", small_run("first"))
    other = changed(small_run("second"), scenario="a copy", settings={"kValue": "2"})
    check_comparable([first, side(tmp_path / "second", other)])


def test_a_partial_run_is_refused(tmp_path: Path) -> None:
    first = side(tmp_path / "first", small_run("first"))
    second = side(tmp_path / "second", small_run("second", complete=False))
    with pytest.raises(ResultError, match="the run second was stopped before its end"):
        check_comparable([first, second])


def test_one_side_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="nothing to compare with"):
        check_comparable([side(tmp_path, small_run())])
