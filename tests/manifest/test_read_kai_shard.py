"""KAI's SchedulingShard: defaults, both spellings of everything, and what is refused."""

from fractions import Fraction

import pytest

from fairlead.manifest.kai.objects import KaiShardObject
from fairlead.manifest.kai.reading.shard import MULTIPLIERS, read_kai_shard
from fairlead.policy.kai.settings import ACTIONS, KaiSettings
from fairlead.usage.settings import PrometheusSource, UsageRules, UsageSettings
from fairlead.usage.window import Cron
from tests.manifest.yaml_text import cursor_of

HOUR_MS = 3_600_000
USUAL = UsageSettings(rules=UsageRules(way="sampled"), source=PrometheusSource())


def read(text: str) -> tuple[KaiShardObject | None, list[str]]:
    cursor, findings = cursor_of(text)
    return read_kai_shard(cursor), [str(each) for each in findings]


def settings(spec: str) -> tuple[KaiSettings, list[str]]:
    shard, found = read(f"metadata: {{name: default}}\nspec: {spec}")
    assert shard is not None
    return shard.settings, found


def metrics_of(found: KaiSettings) -> tuple[tuple[str, str], ...]:
    assert found.usage is not None
    assert isinstance(found.usage.source, PrometheusSource)
    return found.usage.source.metrics


def test_an_empty_shard_has_kais_defaults() -> None:
    assert settings("{}") == (KaiSettings(), [])
    found, remarks = settings("{usageDBConfig: {clientType: prometheus}}")
    assert (found.usage, remarks) == (USUAL, [])


def test_a_shard_is_read_with_all_its_fields() -> None:
    shard, found = read("""
        apiVersion: kai.scheduler/v1
        kind: SchedulingShard
        metadata: {name: pool-a}
        spec:
          args:
            leader-elect: "true"
            relcaimerSaturationMultiplier: "1.5"
            max-consolidation-preemptees: "5"
            allow-consolidating-reclaim: "false"
            use-scheduling-signatures: "false"
            default-staleness-grace-period: 2m
          placementStrategy: {gpu: spread, cpu: binpack}
          partitionLabelValue: a
          queueDepthPerAction: {reclaim: 5, allocate: 20}
          minRuntime: {preemptMinRuntime: 10m, reclaimMinRuntime: 1d}
          kValue: 0.1
          usageDBConfig:
            clientType: prometheus
            connectionStringEnvVar: PROMETHEUS
            usageParams:
              halfLifePeriod: 168h
              windowSize: 2w
              windowType: cron
              cronString: "0 0 * * 1"
              tumblingWindowStartTime: "1970-01-01T01:00:00Z"
              fetchInterval: 30s
              stalenessPeriod: 10m
              waitTimeout: 5s
              extraParams:
                gpuAllocationMetric: my_gpus
                cpuCapacityMetric: my_cores
                usageQueryTimeout: 20s
                queryResolution: 5m
          plugins:
            gpupack: {enabled: false, arguments: {any: thing}}
            minruntime: {arguments: {reclaimResolveMethod: queue}}
          actions: {preempt: {enabled: false}, reclaim: {priority: 900}}
          scenarioSearchBudgets: {}
        status: {conditions: []}
    """)
    assert found == []
    assert shard is not None
    assert shard.name == "pool-a"
    assert shard.settings == KaiSettings(
        k=Fraction(1, 10),
        usage=UsageSettings(
            rules=UsageRules(
                window=Cron("0 0 * * 1"),
                half_life_ms=168 * HOUR_MS,
                way="sampled",
                resolution_ms=300_000,
                charge="all",
                staleness_ms=600_000,
                on_stale="drop",
            ),
            source=PrometheusSource(
                url_variable="PROMETHEUS",
                metrics=(("cpuCapacityMetric", "my_cores"), ("gpuAllocationMetric", "my_gpus")),
                query_timeout_ms=20_000,
                fetch_interval_ms=30_000,
                wait_timeout_ms=5_000,
            ),
        ),
        gpu_placement="spread",
        # by priority: reclaim 900, allocate 500, stale gangs 100; spreading ends consolidation
        actions=("reclaim", "allocate", "stalegangeviction"),
        queue_depth=(("allocate", 20), ("reclaim", 5)),
        node_pool="a",
        preempt_min_runtime_ms=HOUR_MS // 6,
        reclaim_min_runtime_ms=24 * HOUR_MS,
        reclaim_resolve_method="queue",
        stale_grace_ms=120_000,
        reclaimer_multiplier=Fraction(3, 2),
        consolidating_reclaim=False,
        max_consolidation_victims=5,
        signatures=False,
    )


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("relcaimerSaturationMultiplier", []),
        ("reclaimerSaturationMultiplier", ["peer-differs"]),
        ("reclaimerUtilizationMultiplier", ["peer-differs"]),
    ],
)
@pytest.mark.parametrize(
    "where",
    [
        'plugins: {proportion: {arguments: {%s: "1.25"}}}',
        "plugins: {proportion: {arguments: {%s: 1.25}}}",
        'args: {%s: "1.25"}',
    ],
)
def test_the_multiplier_is_read_under_every_name_and_in_either_place(
    name: str, codes: list[str], where: str
) -> None:
    found, remarks = settings("{" + where % name + "}")
    assert found.reclaimer_multiplier == Fraction(5, 4)
    assert [code for each in remarks for code in codes if code in each] == codes
    assert len(remarks) == len(codes)


def test_two_multipliers_that_differ_are_told_and_the_one_that_kai_reads_counts() -> None:
    arguments = "{reclaimerUtilizationMultiplier: 3, relcaimerSaturationMultiplier: 2}"
    found, remarks = settings(f"{{plugins: {{proportion: {{arguments: {arguments}}}}}}}")
    assert found.reclaimer_multiplier == 2
    assert any("[contradiction]" in each for each in remarks)


@pytest.mark.parametrize(
    "text",
    [
        "spec: {pluginArguments: {proportion: {%s}}}",
        "pluginArguments: {proportion: {%s}}",
    ],
)
@pytest.mark.parametrize("name", MULTIPLIERS)
@pytest.mark.parametrize(
    ("value", "multiplier", "codes"),
    [
        ('"1.2"', Fraction(6, 5), ["peer-differs"]),
        ("1.2", Fraction(6, 5), ["peer-differs"]),
        ('"0.9"', Fraction(1), ["out-of-range", "peer-differs"]),
    ],
)
def test_the_multiplier_is_read_where_kais_page_on_fairness_has_it(
    text: str, name: str, value: str, multiplier: Fraction, codes: list[str]
) -> None:
    """The page has `pluginArguments` and no object around it, so both levels may be meant."""
    arguments = text % f"{name}: {value}"
    shard, remarks = read(f"metadata: {{name: default}}\n{arguments}")
    assert shard is not None
    assert shard.settings.reclaimer_multiplier == multiplier
    assert all(f"pluginArguments.proportion.{name}: " in each for each in remarks)
    assert [each.split("[")[1].split("]")[0] for each in remarks] == codes


def test_the_multiplier_where_kai_reads_it_wins_over_that_of_its_page() -> None:
    found, remarks = settings(
        "{pluginArguments: {proportion: {reclaimerUtilizationMultiplier: 3}}, "
        "plugins: {proportion: {arguments: {relcaimerSaturationMultiplier: 2}}}}"
    )
    assert found.reclaimer_multiplier == 2
    assert [each.split("[")[1].split("]")[0] for each in remarks] == [
        "peer-differs",
        "contradiction",
    ]


def test_other_plugin_arguments_of_the_page_are_reported() -> None:
    _, remarks = settings("{pluginArguments: {proportion: {kValue: 2}, binpack: {a: b}}}")
    assert len(remarks) == 2
    assert all("[unknown-field]" in each for each in remarks)


@pytest.mark.parametrize("place", ["usageParams: {extraParams: %s}", "extraParams: %s"])
def test_extra_parameters_are_read_where_kai_reads_them_and_where_it_documents_them(
    place: str,
) -> None:
    config = "{" + place % "{gpuCapacityMetric: my_gpus, queryResolution: 2m}" + "}"
    found, remarks = settings(f"{{usageDBConfig: {config}}}")
    assert metrics_of(found) == (("gpuCapacityMetric", "my_gpus"),)
    assert found.usage is not None
    assert found.usage.rules.resolution_ms == 120_000
    assert [("[peer-differs]" in each) for each in remarks] == [True] * place.startswith("extra")


def test_where_both_places_have_a_parameter_the_one_that_kai_reads_counts() -> None:
    config = "{extraParams: {gpuCapacityMetric: a, cpuCapacityMetric: b}, "
    config += "usageParams: {extraParams: {gpuCapacityMetric: c}}}"
    found, _ = settings(f"{{usageDBConfig: {config}}}")
    assert metrics_of(found) == (("cpuCapacityMetric", "b"), ("gpuCapacityMetric", "c"))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("{kValue: 0}", "$.spec.kValue"),
        ("{kValue: -3}", "$.spec.kValue"),
        (
            '{plugins: {proportion: {arguments: {kValue: "-1"}}}}',
            "$.spec.plugins.proportion.arguments.kValue",
        ),
    ],
)
def test_a_k_that_is_not_above_zero_is_zero_with_a_warning(spec: str, path: str) -> None:
    found, remarks = settings(spec)
    assert found.k == 0
    assert [f"warning: {path}:" in each for each in remarks] == [True]


def test_the_plugins_arguments_win_over_the_shards_own_fields() -> None:
    found, remarks = settings(
        "{kValue: 2, minRuntime: {preemptMinRuntime: 1h}, plugins: {"
        'proportion: {arguments: {kValue: "3.5"}}, '
        'minruntime: {arguments: {defaultPreemptMinRuntime: "5s"}}}}'
    )
    assert (found.k, found.preempt_min_runtime_ms, remarks) == (Fraction(7, 2), 5000, [])


@pytest.mark.parametrize(
    ("spec", "path", "severity", "code"),
    [
        (
            "{args: {relcaimerSaturationMultiplier: '0.9'}}",
            "$.spec.args.relcaimerSaturationMultiplier",
            "error",
            "out-of-range",
        ),
        (
            "{args: {relcaimerSaturationMultiplier: much}}",
            "$.spec.args.relcaimerSaturationMultiplier",
            "error",
            "bad-quantity",
        ),
        ("{placementStrategy: {gpu: pack}}", "$.spec.placementStrategy.gpu", "error", "bad-choice"),
        (
            "{usageDBConfig: {usageParams: {windowSize: 0s}}}",
            "$.spec.usageDBConfig.usageParams.windowSize",
            "error",
            "out-of-range",
        ),
        (
            "{usageDBConfig: {usageParams: {windowType: cron}}}",
            "$.spec.usageDBConfig.usageParams.cronString",
            "error",
            "missing-field",
        ),
        (
            "{minRuntime: {reclaimMinRuntime: -5s}}",
            "$.spec.minRuntime.reclaimMinRuntime",
            "warning",
            "out-of-range",
        ),
        (
            "{plugins: {minruntime: {arguments: {reclaimResolveMethod: up}}}}",
            "$.spec.plugins.minruntime.arguments.reclaimResolveMethod",
            "warning",
            "bad-choice",
        ),
        (
            "{plugins: {proportion: {enabled: false}}}",
            "$.spec.plugins.proportion.enabled",
            "warning",
            "no-effect",
        ),
        ("{actions: {preemt: {}}}", "$.spec.actions.preemt", "warning", "unknown-field"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(spec: str, path: str, severity: str, code: str) -> None:
    found, remarks = settings(spec)
    assert len(remarks) == 1
    assert f"{severity}: {path}:" in remarks[0]
    assert f"[{code}]" in remarks[0]
    assert (found.reclaimer_multiplier, found.actions) == (
        Fraction(1),
        ACTIONS,
    )  # the defaults stand in


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_that_is_switched_off_does_not_run(action: str) -> None:
    found, remarks = settings(f"{{actions: {{{action}: {{enabled: false}}}}}}")
    assert remarks == []
    assert found.actions == tuple(each for each in ACTIONS if each != action)


@pytest.mark.parametrize(
    ("spec", "quoted"),
    [
        ("{kValue: -0.0000001}", "found -0.0000001, expected more than 0"),
        ("{args: {relcaimerSaturationMultiplier: 900m}}", "found 0.9, expected 1 or more"),
        ("{minRuntime: {preemptMinRuntime: -90m}}", 'found "-90m", which is taken as 0s'),
        ("{usageDBConfig: {usageParams: {waitTimeout: -0.5h}}}", 'found "-0.5h", expected more'),
    ],
)
def test_a_number_out_of_range_is_quoted(spec: str, quoted: str) -> None:
    (told,) = settings(spec)[1]
    assert quoted in told
