"""Settings that change nothing under a rule set are told, and no others."""

from pathlib import Path

import pytest

from fairlead.sim.sweep.combinations import Sweep, without_effect
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, scenario

POLICIES = "  policies: [kai, kueue, elastic-quota]\n"
USAGE = "  usage: {k: 1, halfLife: 1h}\n"
DRAWN = indented(
    """
    duration: 1h
    work:
      - name: w
        queue: a
        shapes: [{requests: {gpu: 1}, run: 1m}]
        arrivals: {poisson: {perHour: 3}}
    """
)
WITHOUT = {
    "kai's own, with past use": (USAGE + WORK, "kValue=1,2", "kueue elastic-quota"),
    "kai's own, where no past use counts": (WORK, "kValue=1,2", "kai kueue elastic-quota"),
    "a window, which makes past use count": (WORK, "window=1d,2d", "kueue elastic-quota"),
    "how often it asks, where it does not": (
        WORK,
        "fetchInterval=1m,2m",
        "kai kueue elastic-quota",
    ),
    "kueue's own": (WORK, "minRunTime=0s,5m", "kai elastic-quota"),
    "elastic-quota's own": (WORK, "protectMin=true,false", "kai kueue"),
    "what all know": (WORK, "grace=0s,5s", ""),
    "faithfulness, which each of them has": (WORK, "faithful=true,false", ""),
    "a load, where jobs are told one by one": (WORK, "loadFactor=1,2", "kai kueue elastic-quota"),
    "a load, where they are drawn": (DRAWN, "loadFactor=1,2", ""),
    "the same value twice": (WORK, "grace=60s,1m", "kai kueue elastic-quota"),
    "a value alone, which has no rows to be equal to": (WORK, "kValue=2", ""),
}


@pytest.mark.parametrize(("spec", "over", "expected"), WITHOUT.values(), ids=WITHOUT.keys())
def test_a_setting_without_effect_is_reported(
    tmp_path: Path, spec: str, over: str, expected: str
) -> None:
    found = scenario(tmp_path, NODES + QUEUES + POLICIES + spec)
    name, _, values = over.partition("=")
    sweep = Sweep(scenario=found, variants=found.variants, over={name: values.split(",")})
    told = [(each.variant, each.setting) for each in without_effect(sweep)]
    assert told == [(each, name) for each in expected.split()]


def test_a_setting_that_another_one_gives_its_effect_is_not_told(tmp_path: Path) -> None:
    """With a window past use counts, and with it how much it does."""
    found = scenario(tmp_path, NODES + QUEUES + WORK)
    over = {"kValue": ["1", "2"], "window": ["1d", "2d"]}
    assert list(without_effect(Sweep(scenario=found, variants=found.variants, over=over))) == []
