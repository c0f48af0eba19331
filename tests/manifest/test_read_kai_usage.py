"""``usageDBConfig`` of a shard: the peer's fields, what it puts up with, and what nobody can."""

import pytest

from fairlead.manifest.kai.reading.shard import read_kai_config
from fairlead.manifest.kai.reading.usage import read_usage
from fairlead.usage.settings import PrometheusSource, UsageSettings
from fairlead.usage.window import Cron, Sliding, Tumbling
from tests.manifest.yaml_text import cursor_of, remarks

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def read(config: str) -> tuple[UsageSettings, list[str]]:
    cursor, findings = cursor_of(f"usageDBConfig: {config}")
    found = read_usage(cursor)
    cursor.finish()
    assert found is not None
    return found, remarks(findings)


def params(text: str) -> tuple[UsageSettings, list[str]]:
    return read(f"{{usageParams: {text}}}")


def test_without_a_configuration_there_is_none() -> None:
    cursor, findings = cursor_of("{kValue: 2}")
    assert (read_usage(cursor), remarks(findings)) == (None, [])


WINDOWS = {
    "{}": Sliding(7 * DAY_MS),
    "{windowSize: 36h}": Sliding(36 * HOUR_MS),
    "{windowSize: 1w3d}": Sliding(10 * DAY_MS),
    "{windowType: tumbling, windowSize: 30d, tumblingWindowStartTime: '1970-01-02T00:00:00Z'}": (
        Tumbling(30 * DAY_MS, DAY_MS)
    ),
    "{windowType: cron, cronString: '0 0 * * 1'}": Cron("0 0 * * 1", "UTC"),
    "{windowType: cron, cronString: '@monthly', windowSize: 1d}": Cron("@monthly", "UTC"),
    "{windowType: sliding, cronString: '0 0 * * 1'}": Sliding(7 * DAY_MS),
    "{windowType: sliding, cronString: '0 0 * * 1 2027'}": Sliding(7 * DAY_MS),
    # six fields: the last is the year; seven: the first is the second besides
    "{windowType: cron, cronString: '30 8 1 * * *'}": Cron("30 8 1 * *", "UTC"),
    "{windowType: cron, cronString: '0 30 8 1 * * *'}": Cron("30 8 1 * *", "UTC"),
    "{windowType: cron, cronString: '00 0 0 ? * MON ?'}": Cron("0 0 * * MON", "UTC"),
    "{windowType: cron, cronString: '0 0 1 * ?'}": Cron("0 0 1 * *", "UTC"),
}


@pytest.mark.parametrize("text", WINDOWS)
def test_every_window_is_read(text: str) -> None:
    found, told = params(text)
    assert (found.rules.window, told) == (WINDOWS[text], [])


START = "$.usageDBConfig.usageParams.tumblingWindowStartTime"
TUMBLING = {
    "{windowType: tumbling}": (0, [f"warning peer-differs {START}"]),
    "{windowType: tumbling, tumblingWindowStartTime: null}": (0, [f"warning peer-differs {START}"]),
    "{windowType: tumbling, tumblingWindowStartTime: '1970-01-01T00:00:00Z'}": (0, []),
    "{windowType: tumbling, tumblingWindowStartTime: '2099-01-01T00:00:00Z'}": (
        129 * 365 * DAY_MS + 32 * DAY_MS,  # from 1970 on, with 32 leap years
        [f"warning peer-differs {START}"],
    ),
    "{windowType: tumbling, tumblingWindowStartTime: monday}": (
        0,
        [f"error bad-timestamp {START}"],
    ),
}


@pytest.mark.parametrize("text", TUMBLING)
def test_a_tumbling_window_without_a_start_begins_in_1970_and_that_is_told(text: str) -> None:
    found, told = params(text)
    start_ms, expected = TUMBLING[text]
    assert (found.rules.window, told) == (Tumbling(7 * DAY_MS, start_ms), expected)


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("0 0 * * 1 2027", "years"),
        ("0 0 0 * * 1", "years"),  # meant with seconds first: to KAI a Monday is the year 1
        ("0 0 0 * * 1 2027", "years"),
        ("30 0 0 * * 1 *", "seconds"),
        ("* 0 0 * * 1 *", "seconds"),
    ],
)
def test_seconds_and_years_of_a_cron_are_refused_with_the_reason(
    expression: str, what: str
) -> None:
    text = f"usageDBConfig: {{usageParams: {{windowType: cron, cronString: '{expression}'}}}}"
    cursor, findings = cursor_of(text)
    read_usage(cursor)
    assert remarks(findings) == ["error bad-cron $.usageDBConfig.usageParams.cronString"]
    (finding,) = findings
    assert f'found "{expression}", which names {what} to KAI' in finding.message


EXTRA = "$.usageDBConfig.usageParams.extraParams"
EXTRA_DURATIONS = {
    # Go's units end with hours, and KAI passes over what Go cannot read
    "1h30m": (90 * MINUTE_MS, []),
    "soon": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "''": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "'30'": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "1d": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "1w": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "1y": (MINUTE_MS, [f"warning bad-duration {EXTRA}.queryResolution"]),
    "0s": (MINUTE_MS, [f"error out-of-range {EXTRA}.queryResolution"]),
    "[1m]": (MINUTE_MS, [f"error wrong-type {EXTRA}.queryResolution"]),
}


@pytest.mark.parametrize("text", EXTRA_DURATIONS)
def test_the_default_stands_for_an_extra_duration_that_kai_cannot_read(text: str) -> None:
    found, told = params(f"{{extraParams: {{queryResolution: {text}}}}}")
    assert (found.rules.resolution_ms, told) == EXTRA_DURATIONS[text]


def test_an_extra_duration_that_kai_cannot_read_hides_the_one_where_kai_does_not_look() -> None:
    found, told = read(
        "{extraParams: {usageQueryTimeout: 20s, queryResolution: 2m}, "
        "usageParams: {extraParams: {usageQueryTimeout: long}}}"
    )
    assert isinstance(found.source, PrometheusSource)
    assert (found.source.query_timeout_ms, found.rules.resolution_ms) == (10_000, 2 * MINUTE_MS)
    assert told == [
        "warning bad-duration $.usageDBConfig.usageParams.extraParams.usageQueryTimeout",
        "warning peer-differs $.usageDBConfig.extraParams",
    ]


def test_kai_sums_samples_of_all_use_and_stale_numbers_do_not_count() -> None:
    rules = params("{extraParams: {queryResolution: 30s}}")[0].rules
    assert (rules.way, rules.charge, rules.on_stale) == ("sampled", "all", "drop")
    assert (rules.resolution_ms, rules.staleness_ms) == (30_000, 5 * MINUTE_MS)


@pytest.mark.parametrize("text", ["0s", "-1h", "1ns"])
def test_a_half_life_of_zero_or_less_is_none_with_a_warning(text: str) -> None:
    found, told = params(f"{{halfLifePeriod: {text}}}")
    assert found.rules.half_life_ms is None
    assert told == ["warning out-of-range $.usageDBConfig.usageParams.halfLifePeriod"]


def test_a_window_with_no_room_for_a_sample_is_told_and_taken() -> None:
    found, told = params("{windowSize: 59s}")
    assert found.rules.window == Sliding(59_000)
    assert told == ["warning ill-matched $.usageDBConfig.usageParams.windowSize"]
    assert params("{windowSize: 60s}")[1] == []


REFUSED = {
    "{usageParams: {windowType: rolling}}": "bad-choice $.usageDBConfig.usageParams.windowType",
    "{usageParams: {windowType: cron}}": "missing-field $.usageDBConfig.usageParams.cronString",
    "{usageParams: {windowType: cron, cronString: weekly}}": (
        "bad-cron $.usageDBConfig.usageParams.cronString"
    ),
    "{usageParams: {windowType: cron, cronString: [weekly]}}": (
        "wrong-type $.usageDBConfig.usageParams.cronString"
    ),
    "{usageParams: {windowType: cron, cronString: '0 0 0 * * 1 * *'}}": (
        "bad-cron $.usageDBConfig.usageParams.cronString"
    ),
    "{usageParams: {windowType: cron, cronString: '61 * * * *'}}": (
        "bad-cron $.usageDBConfig.usageParams.cronString"
    ),
    "{usageParams: {windowType: cron, cronString: '0 0 30 2 *'}}": (
        "bad-cron $.usageDBConfig.usageParams.cronString"
    ),
    "{connectionString: 'prometheus:9090'}": "bad-url $.usageDBConfig.connectionString",
    "{connectionString: prometheus.monitoring}": "bad-url $.usageDBConfig.connectionString",
    "{connectionString: 'http://'}": "bad-url $.usageDBConfig.connectionString",
    "{connectionString: 'http://a:port'}": "bad-url $.usageDBConfig.connectionString",
    "{connectionString: 'ftp://a'}": "bad-url $.usageDBConfig.connectionString",
    "{connectionString: 'http://[::1'}": "bad-url $.usageDBConfig.connectionString",
    "{clientType: influx}": "bad-choice $.usageDBConfig.clientType",
}


@pytest.mark.parametrize("config", REFUSED)
def test_what_nobody_can_go_on_with_is_an_error(config: str) -> None:
    found, told = read(config)
    assert told == [f"error {REFUSED[config]}"]
    assert found.rules.window == Sliding(7 * DAY_MS)  # the default stands in


@pytest.mark.parametrize("url", ["http://p", "https://p.example:9090/prefix", "http://[::1]:9090"])
def test_an_address_is_taken_as_it_is(url: str) -> None:
    found, told = read(f"{{connectionString: '{url}'}}")
    assert isinstance(found.source, PrometheusSource)
    assert (found.source.url, told) == (url, [])


ADVICE = {
    # half-life, window: longer than it is advice, as long is not
    "{halfLifePeriod: 7d}": [],
    "{halfLifePeriod: 169h}": ["halfLifePeriod"],
    "{halfLifePeriod: 169h, windowType: cron, cronString: '@daily'}": [],
    # 10 samples of a minute are 10 minutes
    "{halfLifePeriod: 10m}": [],
    "{halfLifePeriod: 599s}": ["extraParams.queryResolution"],
    "{halfLifePeriod: 2m, windowSize: 1m}": ["extraParams.queryResolution", "halfLifePeriod"],
    "{windowSize: 1m}": [],
    "{halfLifePeriod: 59s}": ["halfLifePeriod"],
    "{windowSize: 59s, extraParams: {queryResolution: 1s}}": ["windowSize"],
}


@pytest.mark.parametrize("text", ADVICE)
def test_what_is_legal_and_hardly_meant_is_advice(text: str) -> None:
    paths = [f"advice ill-matched $.usageDBConfig.usageParams.{path}" for path in ADVICE[text]]
    assert params(text)[1] == paths


CONNECTIONS = {
    "{connectionString: 'http://ann:secret@p'}": "warning exposed-secret {}connectionString",
    "{connectionString: 'http://p', connectionStringEnvVar: P}": (
        "warning contradiction {}connectionStringEnvVar"
    ),
}


@pytest.mark.parametrize("config", CONNECTIONS)
def test_a_doubtful_address_is_told_and_used(config: str) -> None:
    found, told = read(config)
    assert isinstance(found.source, PrometheusSource)
    assert found.source.url
    assert told == [CONNECTIONS[config].format("$.usageDBConfig.")]


CONFIGS = {
    "{}": "",
    "{prometheus: {enabled: false}}": "",
    "{prometheus: {enabled: true}}": (
        "http://usage-prometheus.kai-scheduler.svc.cluster.local:9090"
    ),
    "{namespace: kai, prometheus: {enabled: true}}": (
        "http://usage-prometheus.kai.svc.cluster.local:9090"
    ),
    "{prometheus: {enabled: true, externalPrometheusUrl: 'http://p:9090'}}": "http://p:9090",
    "{prometheus: {externalPrometheusUrl: 'http://p:9090'}}": "http://p:9090",
    "{global: {any: thing}, binder: {}, prometheus: {storageSize: 20Gi, retentionPeriod: 2w}}": "",
}


@pytest.mark.parametrize("spec", CONFIGS)
def test_a_config_names_a_prometheus(spec: str) -> None:
    cursor, findings = cursor_of(f"metadata: {{name: kai-config}}\nspec: {spec}")
    assert (read_kai_config(cursor).prometheus_url, remarks(findings)) == (CONFIGS[spec], [])


def test_a_config_with_an_address_without_scheme_is_refused() -> None:
    spec = "{prometheus: {enabled: true, externalPrometheusUrl: 'p:9090'}}"
    cursor, findings = cursor_of(f"metadata: {{name: kai-config}}\nspec: {spec}")
    assert read_kai_config(cursor).prometheus_url == ""
    assert remarks(findings) == ["error bad-url $.spec.prometheus.externalPrometheusUrl"]
