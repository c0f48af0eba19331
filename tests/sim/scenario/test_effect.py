"""Settings that change nothing under a rule set are told, each beside the others that are set."""

from pathlib import Path

import pytest

from fairlead.sim.scenario.effect import settings_without_effect
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, scenario

POLICIES = "  policies: [kai, kueue, elastic-quota]\n"
USAGE = "  usage: {k: 1, halfLife: 1h}\n"
TOLD = {
    "how much past use counts, where none does": ("", "kValue=2", "", "kai kueue elastic-quota"),
    "the same where it does": (USAGE, "kValue=2", "", "kueue elastic-quota"),
    "what it is already": (USAGE, "kValue=1", "", "kai kueue elastic-quota"),
    "the same where another setting makes it count": (
        "",
        "kValue=2",
        "window=1d",
        "kueue elastic-quota",
    ),
    "kueue's own": ("", "fairSharing=false", "", "kai elastic-quota"),
    "more load, where jobs are told one by one": (
        "",
        "loadFactor=5",
        "",
        "kai kueue elastic-quota",
    ),
    "what all know": ("", "grace=1m", "", ""),
    "what it is where nobody says so": ("", "atMostEvery=1s", "", "kai kueue elastic-quota"),
    "the least time between cycles": ("", "atMostEvery=2s", "", ""),
    "the same, where they have a fixed period": (
        "  cycle: {every: 5s}\n",
        "atMostEvery=2s",
        "",
        "kai kueue elastic-quota",
    ),
    "nothing at all": ("", "", "", ""),
}


def settings_of(text: str) -> dict[str, str]:
    return {name: value for name, _, value in [each.partition("=") for each in text.split()]}


@pytest.mark.parametrize(("spec", "told", "beside", "expected"), TOLD.values(), ids=TOLD.keys())
def test_a_setting_is_told_under_the_rule_sets_that_go_on_as_before(
    tmp_path: Path, spec: str, told: str, beside: str, expected: str
) -> None:
    found = scenario(tmp_path, NODES + QUEUES + POLICIES + spec + WORK)
    settings = settings_of(told)
    pairs = settings_without_effect(found, found.variants, settings, settings_of(beside))
    assert list(pairs) == [(each, name) for each in expected.split() for name in settings]


def test_each_is_judged_beside_the_others(tmp_path: Path) -> None:
    """Without a window how much past use counts would change nothing, with one it does."""
    found = scenario(tmp_path, NODES + QUEUES + WORK)
    settings = {"kValue": "2", "window": "1d", "grace": "0s"}
    assert list(settings_without_effect(found, found.variants, settings, {})) == [("kai", "grace")]
