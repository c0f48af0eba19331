"""``fairlead validate``: all findings in one run, for people and for programs."""

import json
from pathlib import Path

import click
import pytest

from fairlead.cli.input.options import states_or_exit
from fairlead.manifest.load import LoadResult
from fairlead.manifest.text.limits import MAX_FINDINGS
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli


def test_a_sound_input_is_exit_0_with_a_count(tmp_path: Path) -> None:
    sound = (NODE, kai_queue("a", quota=1), pod_group("j", "a", 1))
    ran = run_cli("validate", "-f", write(tmp_path, "c.yaml", *sound))
    assert ran.exit_code == 0
    assert ran.out == "objects read for kai: 4, left alone: 0; errors: 0, warnings: 0, advice: 0\n"


def test_every_error_is_listed_with_line_path_and_cure(tmp_path: Path) -> None:
    broken = (kai_queue("a", quota="x"), kai_queue("a"), kai_queue("c", weight=-2))
    ran = run_cli("validate", "-f", write(tmp_path, "c.yaml", NODE, *broken))
    assert ran.exit_code == 1
    assert "c.yaml:14: error: $.spec.resources.gpu.quota" in ran.out
    assert "$.spec.resources.gpu.overQuotaWeight" in ran.out
    assert ran.out.count("fix:") >= 3


def test_unknown_fields_warn_and_strict_refuses(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", NODE, kai_queue("a").replace("parentQueue", "parentQeue"))
    lenient = run_cli("validate", "-f", file)
    assert lenient.exit_code == 0
    assert 'did you mean "parentQueue"?' in lenient.out
    assert run_cli("validate", "-f", file, "--strict").exit_code == 1


def test_programs_get_every_finding_as_data(tmp_path: Path) -> None:
    config_map = "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    file = write(tmp_path, "c.yaml", NODE, config_map, kai_queue("a", quota="x"))
    ran = run_cli("validate", "-f", file, "-o", "json")
    assert ran.exit_code == 1
    document = json.loads(ran.out)
    assert document["kind"] == "Findings"
    assert document["leftAlone"] == {"ConfigMap": 1}
    (error,) = [f for f in document["findings"] if f["severity"] == "error"]
    assert error["file"] == file
    assert error["path"] == "$.spec.resources.gpu.quota"
    assert error["line"] > 1


def test_a_missing_file_is_an_error_not_a_crash(tmp_path: Path) -> None:
    ran = run_cli("validate", "-f", str(tmp_path / "absent.yaml"))
    assert ran.exit_code == 1
    assert "absent.yaml" in ran.out


def odd_fields(count: int) -> str:
    """Return a queue with so many fields that nobody knows."""
    fields = "".join(f"  odd{at}: 1\n" for at in range(count))
    return kai_queue("a").replace("spec:\n", f"spec:\n{fields}")


MANY = odd_fields(MAX_FINDINGS)


def test_findings_beyond_the_bound_are_counted(tmp_path: Path) -> None:
    more = odd_fields(1).replace("name: a", "name: b")
    file = write(tmp_path, "c.yaml", NODE, MANY, more, pod_group("j", "a", 1))
    ran = run_cli("validate", "-f", file)
    assert ran.exit_code == 0
    assert ran.out.endswith("warnings: 10000, advice: 0 (and 1 more that is not shown)\n")
    queues = run_cli("queues", "-f", file)
    assert queues.exit_code == 0
    assert queues.err.endswith("and 1 more that is not shown\n")


def test_an_error_after_very_many_warnings_refuses_and_is_shown(tmp_path: Path) -> None:
    broken = odd_fields(2).replace("name: a", "name: b").replace("quota: 0", "quota: x")
    file = write(tmp_path, "c.yaml", NODE, MANY, broken)
    ran = run_cli("validate", "-f", file)
    assert ran.exit_code == 1
    assert ran.out.endswith(
        "errors: 1, warnings: 10000, advice: 0 (and 2 more that are not shown)\n"
    )
    queues = run_cli("queues", "-f", file)
    assert queues.exit_code == 1
    assert queues.out == ""
    assert queues.err.count("error:") == 1
    assert "odd0" not in queues.err
    assert queues.err.endswith("and 2 more that are not shown\n")


def test_refusing_never_goes_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the bound hides, its count is printed."""
    silent = LoadResult(shards=(), findings=(), omitted=3, read={}, left_alone={})
    with pytest.raises(click.exceptions.Exit):
        states_or_exit(silent)
    assert capsys.readouterr().err == "and 3 more that are not shown\n"


def test_many_warnings_of_one_kind_are_one_and_a_count(tmp_path: Path) -> None:
    groups = [kai_queue(f"q{at:03}").replace("parentQueue", "parentQeue") for at in range(300)]
    file = write(tmp_path, "c.yaml", NODE, *groups)
    ran = run_cli("validate", "-f", file)
    assert ran.exit_code == 0
    assert ran.out.count("unknown-field") == 1
    assert "and 299 more of this kind: " in ran.out
    assert len(ran.out.splitlines()) < 10
    assert "warnings: 300" in ran.out
    assert run_cli("validate", "-f", file, "-o", "wide").out.count("unknown-field") == 300
    plan = run_cli("queues", "-f", file)
    assert "and 299 more of this kind: " in plan.err


def test_few_warnings_of_one_kind_and_all_errors_are_listed(tmp_path: Path) -> None:
    odd = [kai_queue(f"q{at}").replace("parentQueue", "parentQeue") for at in range(3)]
    assert run_cli("validate", "-f", write(tmp_path, "a.yaml", NODE, *odd)).out.count("fix:") == 3
    broken = [kai_queue(f"q{at}", quota="x") for at in range(9)]
    ran = run_cli("validate", "-f", write(tmp_path, "b.yaml", NODE, *broken))
    assert ran.out.count(" error: ") == 9


def test_many_errors_of_one_kind_are_one_and_a_count_with_places(tmp_path: Path) -> None:
    """Of 30 equal mistakes the first is shown in full, and three of the others with their lines."""
    broken = [kai_queue(f"q{at}", quota=f"x{at}") for at in range(30)]
    file = write(tmp_path, "b.yaml", *broken)
    ran = run_cli("validate", "-f", file)
    assert ran.out.count(" error: ") == 1
    (others,) = [line for line in ran.out.splitlines() if "more of this kind" in line]
    first, second = (each["line"] for each in _errors(file)[1:3])
    assert f'and 29 more of this kind: "x1" ({file}:{first}), "x2" ({file}:{second}), ' in others
    assert "and 26 more; " in others
    assert ran.out.endswith("errors: 30, warnings: 0, advice: 0\n")
    assert run_cli("validate", "-f", file, "-o", "wide").out.count(" error: ") == 30
    assert run_cli("plan", "-f", file).err.count(" error: ") == 1


def _errors(file: str) -> list[dict[str, int]]:
    found: list[dict[str, int]] = json.loads(run_cli("validate", "-f", file, "-o", "json").out)[
        "findings"
    ]
    return found
