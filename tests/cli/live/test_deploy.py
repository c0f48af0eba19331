"""The command that prints an installation."""

import pytest
import yaml

from tests.cli.run_cli import run_cli


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in yaml.safe_load_all(text)]


def test_kinds_are_printed_unless_they_are_not_wanted_and_a_note_says_what_to_mind() -> None:
    with_kinds, without = run_cli("deploy"), run_cli("deploy", "--no-crds")
    assert (with_kinds.exit_code, without.exit_code) == (0, 0)
    assert kinds(with_kinds.out) == ["CustomResourceDefinition"] * 2 + kinds(without.out)
    assert "add --context or --no-crds" in with_kinds.err
    assert without.err == ""


def test_a_shadow_is_printed_without_kinds_fence_and_lease() -> None:
    done = run_cli("deploy", "--shadow", "--policy", "kueue")
    assert done.exit_code == 0
    assert done.err == ""
    assert kinds(done.out) == [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Deployment",
    ]


WRONG = {
    "a rule set that cannot schedule yet": (["--policy", "kai"], "add --shadow to watch with kai"),
    "the scheduler of our own pods": (
        ["--scheduler-name", "default-scheduler"],
        "are scheduled by default-scheduler themselves",
    ),
    "a namespace that is no name": (["-n", "Batch"], "found 'Batch', expected at most 63"),
    "a name that would leave its YAML": (["--scheduler-name", "a\nb: c"], "lower-case letters"),
    "a name too long for a Service": (["--scheduler-name", "x" * 45], "expected at most 44"),
    "an image that would leave its YAML": (["--image", "a\nb"], "expected an image"),
    "replicas of a shadow": (["--shadow", "--replicas", "2"], "a shadow is one process"),
    "no replica": (["--replicas", "0"], "0 is not in the range"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_installed_is_wrong_usage(arguments: list[str], words: str) -> None:
    done = run_cli("deploy", *arguments)
    assert done.exit_code == 2
    assert words in done.err
    assert done.out == ""
