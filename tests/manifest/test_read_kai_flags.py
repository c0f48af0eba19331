"""The flags of KAI's scheduler in ``spec.args``: what they set, how they may be spelt."""

import pytest

from fairlead.manifest.kai.reading.shard import FLAGS
from fairlead.policy.kai.settings import KaiSettings
from tests.manifest.test_read_kai_shard import settings

# What else KAI's scheduler takes, none of which means anything here.
OTHER_FLAGS = """
    burst cpu-worker-node-label-key detailed-fit-errors enable-profiler feature-gates
    full-hierarchy-fairness gpu-worker-node-label-key inference-preemptible leader-elect
    listen-address metrics-namespace mig-worker-node-label-key namespace node-level-scheduler
    nodepool-label-key num-of-status-recording-workers partition-label-value plugin-server-port
    profiler-port pyroscope-address pyroscope-block-profiler-rate pyroscope-mutex-profiler-rate qps
    queue-label-key resource-reservation-app-label restrict-node-scheduling schedule-csi-storage
    schedule-period scheduler-conf scheduler-name update-pod-eviction-condition v version
""".split()


def of_args(args: str) -> tuple[KaiSettings, list[str]]:
    return settings(f"{{args: {{{args}}}}}")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ('max-consolidation-preemptees: "8"', KaiSettings(max_consolidation_victims=8)),
        ('max-consolidation-preemptees: "+8"', KaiSettings(max_consolidation_victims=8)),
        ('max-consolidation-preemptees: "0"', KaiSettings(max_consolidation_victims=0)),
        ('max-consolidation-preemptees: "-1"', KaiSettings(max_consolidation_victims=None)),
        ('allow-consolidating-reclaim: "false"', KaiSettings(consolidating_reclaim=False)),
        ('allow-consolidating-reclaim: "T"', KaiSettings()),
        ('use-scheduling-signatures: "0"', KaiSettings(signatures=False)),
        ('use-scheduling-signatures: "1"', KaiSettings()),
        ("default-staleness-grace-period: 1m30s", KaiSettings(stale_grace_ms=90_000)),
        ("default-staleness-grace-period: 0s", KaiSettings(stale_grace_ms=0)),
        ("default-staleness-grace-period: -1s", KaiSettings(stale_grace_ms=-1000)),
    ],
)
def test_a_flag_sets_its_setting_alone_and_quietly(args: str, expected: KaiSettings) -> None:
    assert of_args(args) == (expected, [])


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("maxConsolidationPreemptees", "max-consolidation-preemptees"),
        ("max_consolidation_preemptees", "max-consolidation-preemptees"),
        ("Max-Consolidation-Preemptees", "max-consolidation-preemptees"),
    ],
)
def test_another_spelling_is_read_and_told_because_kai_would_not_see_it(
    name: str, flag: str
) -> None:
    found, (told,) = of_args(f'{name}: "3"')
    assert found == KaiSettings(max_consolidation_victims=3)
    assert (
        f'warning: $.spec.args.{name}: found "{name}", which Fairlead reads and KAI does not'
        in told
    )
    assert f"[peer-differs]\n    fix: write {flag}" in told


@pytest.mark.parametrize(
    "args",
    [
        'useSchedulingSignatures: "true", use-scheduling-signatures: "false"',
        'use-scheduling-signatures: "false", useSchedulingSignatures: "true"',
    ],
)
def test_where_two_spellings_differ_that_of_kai_counts(args: str) -> None:
    found, told = of_args(args)
    assert found == KaiSettings(signatures=False)
    assert ["[peer-differs]" in told[0], "[contradiction]" in told[1]] == [True, True]


def test_two_spellings_that_agree_are_no_contradiction() -> None:
    _, told = of_args('useSchedulingSignatures: "f", use-scheduling-signatures: "false"')
    assert [("[peer-differs]" in each) for each in told] == [True]


@pytest.mark.parametrize(
    ("flag", "text", "code", "words"),
    [
        ("max-consolidation-preemptees", "-2", "out-of-range", "found -2, expected -1 or more"),
        ("max-consolidation-preemptees", "many", "wrong-type", 'found "many", expected a whole'),
        ("max-consolidation-preemptees", "1.5", "wrong-type", 'found "1.5", expected a whole'),
        ("max-consolidation-preemptees", "010", "wrong-type", 'found "010", expected a whole'),
        ("max-consolidation-preemptees", "", "wrong-type", 'found "", expected a whole'),
        ("allow-consolidating-reclaim", "no", "bad-choice", "expected one of: true, false"),
        ("use-scheduling-signatures", "off", "bad-choice", "expected one of: true, false"),
        ("default-staleness-grace-period", "60", "bad-duration", "expected a duration"),
    ],
)
def test_a_value_that_makes_no_sense_is_an_error_and_the_default_stands_in(
    flag: str, text: str, code: str, words: str
) -> None:
    found, (told,) = of_args(f'{flag}: "{text}"')
    assert found == KaiSettings()
    assert f"error: $.spec.args.{flag}:" in told
    assert words in told
    assert f"[{code}]\n    fix: write " in told


@pytest.mark.parametrize("text", ["false", "8"])
def test_a_value_that_is_no_text_is_an_error_as_for_kai(text: str) -> None:
    found, (told,) = of_args(f"use-scheduling-signatures: {text}")
    assert found == KaiSettings()
    assert "[wrong-type]\n    fix: put it in quotes" in told


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max-consolidation-preemptee", "max-consolidation-preemptees"),
        ("maxNumberConsolidationPreemptees", "max-consolidation-preemptees"),
        ("use-scheduler-signatures", "use-scheduling-signatures"),
        ("staleness-grace-period", "default-staleness-grace-period"),
    ],
)
def test_a_near_miss_is_told_and_sets_nothing(name: str, meant: str) -> None:
    found, (told,) = of_args(f'{name}: "1"')
    assert found == KaiSettings()
    assert f"warning: $.spec.args.{name}:" in told
    assert f'[unknown-field]\n    fix: did you mean "{meant}"?' in told


@pytest.mark.parametrize("name", OTHER_FLAGS)
def test_the_other_flags_of_kai_are_passed_over(name: str) -> None:
    assert name not in FLAGS
    assert of_args(f'{name}: "1"') == (KaiSettings(), [])
