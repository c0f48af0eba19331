"""Wrong usage of `fairlead run`, refused before anything is asked of a cluster."""

import pytest

from tests.cli.run_cli import run_cli

LIVE = ("run", "--policy", "elastic-quota")
SHADOW = ("run", "--shadow", "--policy", "kai")

WRONG = {
    "a rule set that cannot schedule yet": (("run", "--policy", "kai"), "add --shadow"),
    "a scheduler name that is none": ((*LIVE, "--scheduler-name", "Not This"), "lower-case"),
    "an empty scheduler name": ((*LIVE, "--scheduler-name", ""), "found '', expected"),
    "a namespace that is no name": ((*LIVE, "-n", "A"), "found 'A', expected at most 63"),
    "a shadow that records usage": ((*SHADOW, "--usage-store", "u.db"), "leave out --usage-store"),
    "a shadow with a Lease": (
        (*SHADOW, "--no-leader-elect", "-n", "x"),
        "a shadow writes nothing: leave out --leader-elect, -n",
    ),
    "a shadow with Events": ((*SHADOW, "--events", "all"), "leave out --events"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_has_no_effect_or_no_meaning_is_wrong_usage(
    arguments: tuple[str, ...], words: str
) -> None:
    done = run_cli(*arguments)
    assert done.exit_code == 2
    assert words in done.err
