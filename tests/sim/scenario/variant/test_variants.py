"""The same rules with other settings in one file, with a history, and in another process."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.sim.engine.events import SimulationEvent, Started
from fairlead.sim.scenario.settings import with_settings
from fairlead.sim.scenario.variant.prepare import prepare
from fairlead.usage.entries import Capacity, Held
from fairlead.usage.window import Sliding, Tumbling
from tests.shared_folder import ROOT
from tests.sim.scenario.read.test_examples import example
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, read, scenario

POLICIES = indented(
    """
    usage: {k: 1, halfLife: 1h, fetchInterval: 2m}
    policies:
      - kai
      - name: weekly
        policy: kai
        faithful: true
        usage:
          k: 2.5
          window: {type: tumbling, length: 7d, start: 2026-01-05T00:00:00Z}
      - {name: plain, policy: kueue, fairSharing: false, settings: {minRunTime: 5m}}
      - {policy: elastic-quota, settings: {protectMin: true}}
    """
)


@pytest.mark.parametrize(
    ("beside", "expected"),
    [("", []), (", fairSharing: false", ["$.spec.policies[0].settings.minRunTime no-effect"])],
)
def test_inline_queues_share_fairly_before_what_needs_that_is_judged(
    tmp_path: Path, beside: str, expected: list[str]
) -> None:
    policies = f"  policies: [{{policy: kueue, settings: {{minRunTime: 5m}}{beside}}}]\n"
    findings = read(tmp_path, NODES + QUEUES + WORK + policies).findings
    assert [f"{each.path} {each.code}" for each in findings] == expected


def test_each_variant_has_settings_of_its_own(tmp_path: Path) -> None:
    found = scenario(tmp_path, NODES + QUEUES + WORK + POLICIES)
    assert [variant.name for variant in found.variants] == [
        "kai",
        "weekly",
        "plain",
        "elastic-quota",
    ]
    prepared = [prepare(found, variant) for variant in found.variants]
    first, second, third, fourth = (each.settings for each in prepared)
    assert isinstance(first, KaiSettings)
    assert isinstance(second, KaiSettings)
    assert first.usage is not None
    assert second.usage is not None
    assert (first.k, second.k) == (Fraction(1), Fraction(5, 2))
    assert (first.faithful, second.faithful) == (False, True)
    assert first.usage.rules.half_life_ms == 3_600_000
    assert first.usage.rules.window == Sliding(7 * 86_400_000)
    assert second.usage.rules.half_life_ms is None
    assert second.usage.rules.window == Tumbling(7 * 86_400_000, found.spec.start_ms)
    assert isinstance(third, KueueSettings)
    assert not third.fair_sharing
    assert third.options.min_run_time_ms == 300_000
    assert isinstance(fourth, ElasticQuotaSettings)
    assert fourth.protect_min
    past_uses = [each.past_use for each in prepared]
    assert [each and each.every_ms for each in past_uses] == [120_000, 60_000, None, None]


@pytest.mark.parametrize(
    ("policy", "settings", "refused"),
    [
        ("kueue", "{preventPreemptionLoops: true}", "preventPreemptionLoops"),
        ("elastic-quota", "{protectMin: true}", "protectMin"),
    ],
)
def test_rules_cannot_be_faithful_and_depart_from_their_namesake(
    tmp_path: Path, policy: str, settings: str, refused: str
) -> None:
    policies = f"  policies: [{{policy: {policy}, faithful: true, settings: {settings}}}]\n"
    found = read(tmp_path, NODES + QUEUES + WORK + policies)
    assert found.scenario is None
    (finding,) = found.findings
    assert (finding.severity, finding.code) == ("error", "contradiction")
    assert finding.path == f"$.spec.policies[0].settings.{refused}"


def test_what_the_namesake_leaves_open_can_be_set_beside_faithful(tmp_path: Path) -> None:
    policies = indented(
        """
        policies: [{policy: elastic-quota, faithful: true, settings: {nodeScoring: MostAllocated}}]
        """
    )
    found = scenario(tmp_path, NODES + QUEUES + WORK + policies)
    settings = prepare(found, found.variants[0]).settings
    assert settings == replace(FAITHFUL, scoring="MostAllocated")


def test_a_policy_is_called_by_one_name_only(tmp_path: Path) -> None:
    found = scenario(tmp_path, NODES + QUEUES + WORK + POLICIES)
    assert found.by_name["plain"] is found.variants[2]


@pytest.mark.parametrize(("used_by", "first"), [("left", "right"), ("right", "left")])
def test_who_used_all_before_the_start_comes_second(used_by: str, first: str) -> None:
    """All 16 GPUs for the 256 seconds that count, and the other queue nothing."""
    found = with_settings(example("two-queues"), {"duration": "10m"})
    prepared = prepare(found, found.variants[0])
    axes = [axis.resource for axis in prepared.state.axes.axes]
    whole = tuple(16_000 if axis == "gpu" else 1 for axis in axes)
    gpus = tuple(16_000 if axis == "gpu" else 0 for axis in axes)
    since_ms = found.spec.start_ms - 256_000
    history = (
        Capacity(at_ms=since_ms, amounts=whole),
        Held(at_ms=since_ms, queue=QueueName(used_by), amounts=gpus),
    )
    seen: list[SimulationEvent] = []
    prepare(found, found.variants[0], history=history).simulation(seen.append).run()
    starts = [each.job.queue for each in seen if isinstance(each, Started)]
    assert starts[:2] == [first, used_by]


DIGEST = """
import hashlib
from fairlead.sim.scenario.variant.prepare import prepare
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.settings import with_settings
import msgspec, sys
scenario = with_settings(read_scenario(sys.argv[1]).scenario, {"duration": "7h"})
for variant in scenario.variants:
    seen = []
    prepare(scenario, variant).simulation(seen.append).run()
    sys.stdout.write(hashlib.sha256(msgspec.json.encode(seen)).hexdigest() + "\\n")
"""


def test_a_run_is_the_same_in_every_process() -> None:
    """Whatever the hash seed, the time zone and the language of the machine."""
    told = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Kathmandu")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}
        command = [sys.executable, "-c", DIGEST, str(ROOT / "examples/scenarios/a-busy-day.yaml")]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        told.append(result.stdout.split())
    assert len(told[0]) == 3
    assert told[0] == told[1]
