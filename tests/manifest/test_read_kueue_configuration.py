"""Of Kueue's Configuration only what decides who runs is read, and half-lives of 0 are refused."""

from decimal import Decimal
from textwrap import dedent

import pytest

from fairlead.manifest.kueue.reading.configuration import read_kueue_configuration
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueSettings
from tests.manifest.yaml_text import cursor_of, remarks

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


def read(text: str, version: str = "v1beta2") -> tuple[KueueSettings, list[str]]:
    head = f"apiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n"
    cursor, findings = cursor_of(head + dedent(text))
    return read_kueue_configuration(cursor).settings, remarks(findings)


@pytest.mark.parametrize(
    ("version", "text", "is_on", "expected"),
    [
        ("v1beta2", "", False, []),
        ("v1beta2", "fairSharing: {}", True, []),
        ("v1beta2", "fairSharing:", False, []),  # null is absent
        ("v1beta2", "fairSharing: {enable: true}", True, ["$.fairSharing.enable"]),
        ("v1beta2", "fairSharing: {enable: false}", False, ["$.fairSharing.enable"]),
        ("v1beta1", "", False, []),
        ("v1beta1", "fairSharing: {}", False, []),
        ("v1beta1", "fairSharing: {enable: true}", True, []),
        ("v1beta1", "fairSharing: {enable: false}", False, []),
    ],
)
def test_when_fair_sharing_is_on(version: str, text: str, is_on: bool, expected: list[str]) -> None:
    settings, told = read(text, version)
    assert settings.fair_sharing is is_on
    assert told == [f"warning other-version {path}" for path in expected]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([], (FINAL, INITIAL)),
        ([FINAL], (FINAL,)),
        ([INITIAL], (INITIAL,)),
        ([FINAL, INITIAL], (FINAL, INITIAL)),
        ([INITIAL, FINAL], None),
        ([FINAL, FINAL], None),
        ([FINAL, INITIAL, INITIAL], None),
        (["Any"], None),
    ],
)
def test_only_three_lists_of_strategies_are_valid(
    listed: list[str], expected: tuple[str, ...] | None
) -> None:
    settings, told = read(f"fairSharing: {{preemptionStrategies: [{', '.join(listed)}]}}")
    if expected is None:
        assert told == ["error bad-choice $.fairSharing.preemptionStrategies"]
    else:
        assert (told, settings.strategies) == ([], expected)


def test_admission_fair_sharing_is_read_exactly() -> None:
    settings, told = read("""
        admissionFairSharing:
          usageHalfLifeTime: 168h
          usageSamplingInterval: 90s
          resourceWeights: {memory: 0.000000001, cpu: 2}
        """)
    assert told == []
    assert settings.admission_fair_sharing == AdmissionFairSharing(
        half_life_ms=168 * 3_600_000,
        sampling_interval_ms=90_000,
        resource_weights=(("cpu", Decimal(2)), ("memory", Decimal("0.000000001"))),
    )


def test_use_is_sampled_every_five_minutes_unless_told_otherwise() -> None:
    settings, told = read("admissionFairSharing: {usageHalfLifeTime: 1h}")
    assert told == []
    assert settings.admission_fair_sharing == AdmissionFairSharing(
        half_life_ms=3_600_000, sampling_interval_ms=300_000
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("usageHalfLifeTime: 0s", "usageHalfLifeTime"),
        ("usageHalfLifeTime: -1h", "usageHalfLifeTime"),
        ("usageSamplingInterval: 5m", "usageHalfLifeTime"),
        ("{usageHalfLifeTime: 1h, usageSamplingInterval: 0s}", "usageSamplingInterval"),
    ],
)
def test_a_half_life_or_interval_of_nothing_is_refused(text: str, field: str) -> None:
    body = text if text.startswith("{") else f"{{{text}}}"
    _, told = read(f"admissionFairSharing: {body}")
    assert told == [f"error out-of-range $.admissionFairSharing.{field}"]


@pytest.mark.parametrize("length", ["0s", "-1h30m", "0"])
@pytest.mark.parametrize("field", ["usageHalfLifeTime", "usageSamplingInterval"])
def test_a_length_that_is_refused_is_quoted_as_it_is_written(field: str, length: str) -> None:
    other = "usageSamplingInterval" if field == "usageHalfLifeTime" else "usageHalfLifeTime"
    cursor, findings = cursor_of(f'admissionFairSharing: {{{other}: 1h, {field}: "{length}"}}')
    read_kueue_configuration(cursor)
    (finding,) = findings
    assert finding.message.startswith(f'found "{length}", expected more than 0')
    assert "168h" in finding.fix or "5m" in finding.fix


def test_a_half_life_that_is_no_duration_is_told_once() -> None:
    _, told = read("admissionFairSharing: {usageHalfLifeTime: long}")
    assert told == ["error bad-duration $.admissionFairSharing.usageHalfLifeTime"]


@pytest.mark.parametrize(
    ("waiting", "requeued_by", "expected"),
    [
        ("{timeout: 5m}", "Eviction", []),
        ("{requeuingStrategy: {timestamp: Eviction}}", "Eviction", []),
        ("{timeout: 5m, requeuingStrategy: {timestamp: Creation}}", "Creation", []),
        ("{requeuingStrategy: {timestamp: null, backoffBaseSeconds: 60}}", "Eviction", []),
        ("{enable: true, recoveryTimeout: 3m, future: 1}", "Eviction", []),
        ("null", "Eviction", []),
        ("{requeuingStrategy: {timestamp: creation}}", "Eviction", ["bad-choice {}.timestamp"]),
        ("{requeuingStrategy: {timestamp: 5}}", "Eviction", ["bad-choice {}.timestamp"]),
        ("{requeuingStrategy: Creation}", "Eviction", ["wrong-type {}"]),
    ],
)
def test_from_when_a_workload_queues_whose_pods_were_not_ready(
    waiting: str, requeued_by: str, expected: list[str]
) -> None:
    settings, told = read(f"waitForPodsReady: {waiting}")
    strategy = "$.waitForPodsReady.requeuingStrategy"
    assert told == [f"error {each.format(strategy)}" for each in expected]
    assert settings.requeued_by == requeued_by


def test_waiting_for_pods_must_be_a_mapping() -> None:
    assert read("waitForPodsReady: true")[1] == ["error wrong-type $.waitForPodsReady"]


def test_all_other_parts_of_the_controller_are_passed_over_in_silence() -> None:
    settings, told = read("""
        namespace: kueue-system
        health: {healthProbeBindAddress: ":8081"}
        manageJobsWithoutQueueName: true
        integrations: {frameworks: [batch/job]}
        resources: {excludeResourcePrefixes: [example.com]}
        featureGates: {TopologyAwareScheduling: true, AdmissionFairSharing: false}
        """)
    assert told == []
    assert settings == KueueSettings(
        feature_gates=(("AdmissionFairSharing", False), ("TopologyAwareScheduling", True))
    )
