"""Past use in our own Settings: every field, and nonsense refused with the reason."""

import io
import re
from fractions import Fraction

import pytest

from fairlead.manifest.kai.reading.own_usage import OwnUsage
from fairlead.manifest.kinds import read_settings
from fairlead.manifest.load import load
from fairlead.usage.settings import (
    Credentials,
    PrometheusSource,
    StoreSource,
    UsageRules,
    UsageSettings,
)
from fairlead.usage.window import Cron, Sliding, Tumbling
from tests.manifest.yaml_text import cursor_of, remarks
from tests.shared_folder import ROOT

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
PAGE = (ROOT / "docs" / "reference" / "manifests.md").read_text(encoding="utf-8")


def read(usage: str) -> tuple[OwnUsage, list[str]]:
    cursor, findings = cursor_of(f"spec: {{usage: {usage}}}")
    found = read_settings(cursor).sections["usage"]
    assert found is not None
    return found, remarks(findings)


def test_without_the_section_nothing_is_said() -> None:
    cursor, findings = cursor_of("spec: {}")
    found = read_settings(cursor)
    assert (found.sections["usage"], found.written, remarks(findings)) == (None, (), [])


def test_an_empty_section_asks_for_past_use_of_a_week_from_a_place_named_elsewhere() -> None:
    assert read("{}") == (OwnUsage(k=None, settings=UsageSettings()), [])


def test_everything_is_read_of_a_store() -> None:
    found, told = read(
        "{k: 2.5, window: {type: tumbling, length: 30d, start: '1970-01-01T01:00:00Z'}, "
        "halfLife: 2d, sum: sampled, resolution: 5m, charge: over-quota, staleness: 1h, "
        "onStale: decay, store: {path: past.db, keepRaw: 30d}}"
    )
    assert told == []
    assert found.k == Fraction(5, 2)
    assert found.settings == UsageSettings(
        rules=UsageRules(
            window=Tumbling(30 * DAY_MS, HOUR_MS),
            half_life_ms=2 * DAY_MS,
            way="sampled",
            resolution_ms=5 * MINUTE_MS,
            charge="over-quota",
            staleness_ms=HOUR_MS,
            on_stale="decay",
        ),
        source=StoreSource(path="past.db", keep_raw_ms=30 * DAY_MS),
    )


def test_everything_is_read_of_a_prometheus() -> None:
    found, told = read(
        "{window: {type: cron, cron: '0 6 * * 1', timeZone: Europe/Berlin}, charge: over-quota, "
        "prometheus: {url: 'https://p:9090/p?tenant=a', queryTimeout: 20s, "
        "fetchInterval: 2m, waitTimeout: 3m, metrics: {gpuAllocationMetric: mine}, "
        "guarantees: {gpu: due_gpus, cpu: due_cores}, user: ann, passwordFile: pw, caFile: ca.pem}}"
    )
    assert told == []
    assert found.settings.rules == UsageRules(
        window=Cron("0 6 * * 1", "Europe/Berlin"), way="sampled", charge="over-quota"
    )
    assert found.settings.source == PrometheusSource(
        url="https://p:9090/p?tenant=a",
        metrics=(("gpuAllocationMetric", "mine"),),
        guarantee_metrics=(("cpu", "due_cores"), ("gpu", "due_gpus")),
        query_timeout_ms=20_000,
        fetch_interval_ms=2 * MINUTE_MS,
        wait_timeout_ms=3 * MINUTE_MS,
        credentials=Credentials(user="ann", password_file="pw", ca_file="ca.pem"),
    )


REFUSED = {
    "{k: -0.1}": "out-of-range k",
    "{halfLife: 0s}": "out-of-range halfLife",
    "{halfLife: -48h}": "out-of-range halfLife",
    "{window: {length: 0s}}": "out-of-range window.length",
    "{sum: sampled, window: {length: 59s}}": "contradiction window.length",
    "{sum: sampled, window: {type: tumbling, length: 1h}, resolution: 61m}": (
        "contradiction window.length"
    ),
    "{resolution: 0s}": "out-of-range resolution",
    "{staleness: -1s}": "out-of-range staleness",
    "{window: {type: rolling}}": "bad-choice window.type",
    "{window: {type: cron}}": "missing-field window.cron",
    "{window: {type: cron, cron: sometimes}}": "bad-cron window.cron",
    "{window: {type: cron, cron: '@daily', timeZone: Mars/Base}}": (
        "bad-time-zone window.timeZone"
    ),
    "{window: {type: cron, cron: 5}}": "wrong-type window.cron",
    "{window: {type: cron, cron: '99 0 * * *'}}": "bad-cron window.cron",
    "{window: {type: cron, cron: '0 0 * * 1 *'}}": "bad-cron window.cron",
    "{resolution: soon}": "bad-duration resolution",
    "{prometheus: {url: 'http://p', queryTimeout: soon}}": "bad-duration prometheus.queryTimeout",
    "{charge: some}": "bad-choice charge",
    "{onStale: forget}": "bad-choice onStale",
    "{sum: about}": "bad-choice sum",
    "{store: {}}": "missing-field store.path",
    "{store: {path: p, keepRaw: 0s}}": "out-of-range store.keepRaw",
    "{prometheus: {url: 'p:9090'}}": "bad-url prometheus.url",
    "{store: {path: p}, prometheus: {url: 'http://p'}}": "contradiction prometheus",
    "{sum: exact, prometheus: {url: 'http://p'}}": "contradiction sum",
    "{prometheus: {url: 'http://p', user: a, tokenFile: t}}": "contradiction prometheus.tokenFile",
    "{prometheus: {url: 'http://p', passwordFile: a, tokenFile: t}}": (
        "contradiction prometheus.tokenFile"
    ),
    "{prometheus: {}}": "missing-field prometheus.url",
    "{prometheus: {caFile: ca.pem}}": "missing-field prometheus.url",
    "{prometheus: 5}": "wrong-type prometheus",
    "{prometheus: {url: ''}}": "missing-field prometheus.url",
    "{prometheus: {url: 5}}": "wrong-type prometheus.url",
    "{prometheus: {url: 'http://p/a b'}}": "bad-url prometheus.url",
    "{prometheus: {url: 'http://p', urlVariable: P}}": "contradiction prometheus.urlVariable",
    "{prometheus: {urlVariable: ''}}": "missing-field prometheus.urlVariable",
    "{prometheus: {url: 'http://p', tokenFile: ''}}": "missing-field prometheus.tokenFile",
    "{prometheus: {url: 'http://p', caFile: ''}}": "missing-field prometheus.caFile",
    "{prometheus: {url: 'http://p', user: a}}": "missing-field prometheus.passwordFile",
    "{prometheus: {url: 'http://p', passwordFile: a}}": "missing-field prometheus.user",
    "{prometheus: {url: 'http://a@p', tokenFile: t}}": "contradiction prometheus.url",
}


@pytest.mark.parametrize("usage", REFUSED)
def test_nonsense_is_refused_at_its_place(usage: str) -> None:
    code, _, path = REFUSED[usage].partition(" ")
    assert read(usage)[1] == [f"error {code} $.spec.usage.{path}"]


def test_the_reason_is_told() -> None:
    cursor, findings = cursor_of("spec: {usage: {k: -1, sum: sampled, window: {length: 30s}}}")
    read_settings(cursor)
    messages = " ".join(finding.message for finding in findings)
    assert (
        "found -1, expected 0 or more: below 0, a queue that used much would get more" in messages
    )
    assert "shorter than the 1m between two samples: it may hold none" in messages


DURATIONS = {
    "{halfLife: 1ns}": (
        'found "1ns", expected at least 1ms, the shortest duration that Fairlead counts',
        "remove it, so that past usage does not fade within the window",
    ),
    "{staleness: 999us}": (
        'found "999us", expected at least 1ms, the shortest duration that Fairlead counts',
        "remove it, or write the usual 5m",
    ),
    "{staleness: -1h}": (
        'found "-1h", expected more than 0',
        "remove it, or write the usual 5m",
    ),
    "{staleness: -1d}": (
        'found the text "-1d", expected a duration without a sign: days, weeks and years have none',
        "write 1d, or another duration above 0",
    ),
    "{prometheus: {url: 'http://p', queryTimeout: 0s}}": (
        'found "0s", expected more than 0',
        "remove it, or write the usual 10s",
    ),
}


@pytest.mark.parametrize("usage", DURATIONS)
def test_a_duration_that_cannot_be_is_told_once_with_a_cure_that_helps(usage: str) -> None:
    cursor, findings = cursor_of(f"spec: {{usage: {usage}}}")
    read_settings(cursor)
    assert [(each.message, each.fix) for each in findings] == [DURATIONS[usage]]


def test_the_name_of_a_variable_is_read() -> None:
    found, told = read("{prometheus: {urlVariable: PROM, tokenFile: t}}")
    assert isinstance(found.settings.source, PrometheusSource)
    assert (found.settings.source.url_variable, told) == ("PROM", [])
    assert read("{prometheus: null}")[0].settings.source is None


def test_a_password_in_the_address_is_used_told_and_not_shown() -> None:
    cursor, findings = cursor_of("spec: {usage: {prometheus: {url: 'http://ann:secret@p:9090'}}}")
    found = read_settings(cursor).sections["usage"]
    assert found is not None
    assert isinstance(found.settings.source, PrometheusSource)
    assert found.settings.source.url == "http://ann:secret@p:9090"
    assert remarks(findings) == ["warning exposed-secret $.spec.usage.prometheus.url"]
    assert "passwordFile" in next(iter(findings)).fix


NO_ADDRESS = {
    "http://admin:s3/cret@prom:9090": (
        'found "http://...@prom:9090", which is not an address: its host or port is not valid'
    ),
    "https://admin:s3cret@prom:99999": (
        'found "https://...@prom:99999", which is not an address: its host or port is not valid'
    ),
    "admin:s3cret@prom:9090": (
        'found "...@prom:9090", expected an address that begins with http:// or https://'
    ),
    "ftp://admin:s3cret@prom": (
        'found "ftp://...@prom", expected an address that begins with http:// or https://'
    ),
    "http:/admin:s3cret@prom:9090": (
        'found "http:/...@prom:9090", expected an address with a host'
    ),
    "http://admin:s3 cret@prom": 'found "http://...@prom", expected an address without spaces',
}


@pytest.mark.parametrize(("address", "message"), NO_ADDRESS.items(), ids=NO_ADDRESS.keys())
def test_a_password_in_an_address_that_is_none_is_not_shown(address: str, message: str) -> None:
    cursor, findings = cursor_of(f"spec: {{usage: {{prometheus: {{url: '{address}'}}}}}}")
    read_settings(cursor)
    (finding,) = findings
    assert (finding.code, finding.message) == ("bad-url", message)


KEEP_RAW = "advice ill-matched $.spec.usage.store.keepRaw"
TOLD = {
    "{k: 0}": ["warning no-effect $.spec.usage.k"],
    "{window: {type: sliding, cron: '@daily', start: '2026-01-01T00:00:00Z'}}": [
        "warning no-effect $.spec.usage.window.cron",
        "warning no-effect $.spec.usage.window.start",
    ],
    "{window: {type: cron, cron: '@daily', length: 1d}}": [
        "warning no-effect $.spec.usage.window.length"
    ],
    "{halfLife: 8d}": ["advice ill-matched $.spec.usage.halfLife"],
    "{halfLife: 5m}": [],  # the exact sum has no samples
    "{halfLife: 5m, sum: sampled}": ["advice ill-matched $.spec.usage.resolution"],
    # a minute is the least that makes sense
    "{halfLife: 1ms}": ["advice ill-matched $.spec.usage.halfLife"],
    "{halfLife: 59s, sum: sampled}": ["advice ill-matched $.spec.usage.halfLife"],
    "{halfLife: 1m}": [],
    "{window: {type: tumbling, length: 1h}, resolution: 61m}": [],  # which is of samples
    "{window: {length: 1ms}, resolution: 1ms}": ["advice ill-matched $.spec.usage.window.length"],
    "{window: {length: 59s}}": ["advice ill-matched $.spec.usage.window.length"],
    "{window: {length: 60s}}": [],
    "{window: {type: tumbling, start: '2099-01-01T00:00:00Z'}}": [
        "advice ill-matched $.spec.usage.window.start"
    ],
    "{window: {type: tumbling, start: '2050-01-01T00:00:00Z'}}": [
        "advice ill-matched $.spec.usage.window.start"
    ],
    "{window: {type: tumbling, start: '2049-12-31T23:59:59Z'}}": [],
    "{haflLife: 5m}": ["warning unknown-field $.spec.usage.haflLife"],
    # keepRaw is 2w unless told; a window as long as that holds no day that is rolled up
    "{window: {length: 14d}, store: {path: p}}": [],
    "{window: {length: 337h}, store: {path: p}}": [KEEP_RAW],
    "{window: {length: 337h}}": [],  # without a store there is nothing to keep
    "{store: {path: p, keepRaw: 167h}}": [KEEP_RAW],
    "{window: {type: tumbling, length: 30d}, store: {path: p, keepRaw: 29d}}": [KEEP_RAW],
    # from the first of a month to the next are 31 days at most, from Monday to Monday 7
    "{window: {type: cron, cron: '@monthly'}, store: {path: p}}": [KEEP_RAW],
    "{window: {type: cron, cron: '@monthly'}, store: {path: p, keepRaw: 743h}}": [KEEP_RAW],
    "{window: {type: cron, cron: '@monthly'}, store: {path: p, keepRaw: 744h}}": [],
    "{window: {type: cron, cron: '0 0 * * 1'}, store: {path: p, keepRaw: 7d}}": [],
    # Friday to Monday
    "{window: {type: cron, cron: '0 8 * * 1-5'}, store: {path: p, keepRaw: 71h}}": [KEEP_RAW],
}


@pytest.mark.parametrize("usage", TOLD)
def test_what_is_doubtful_is_told(usage: str) -> None:
    assert read(usage)[1] == TOLD[usage]


@pytest.mark.parametrize(
    ("half_life", "is_named"), [("halfLife: 239h, ", True), ("halfLife: 10d, ", False), ("", False)]
)
def test_days_that_are_long_beside_the_half_life_are_told_too(
    half_life: str, is_named: bool
) -> None:
    """Ten days are 240 hours."""
    text = f"{half_life}window: {{length: 30d}}, store: {{path: p, keepRaw: 1h}}"
    cursor, findings = cursor_of(f"spec: {{usage: {{{text}}}}}")
    read_settings(cursor)
    (finding,) = findings
    assert "found changes kept for 1h in a window of 720h" in finding.message
    assert ("with a half-life of 239h" in finding.message) is is_named
    assert ("half-life" in finding.message) is is_named
    assert finding.fix.startswith("write 720h or more")


def test_other_rule_sets_say_that_past_use_has_no_effect() -> None:
    text = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: vision}
spec: {min: {cpu: 4}}
---
apiVersion: fairlead/v1
kind: Settings
spec: {usage: {store: {path: past.db}}}
"""
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    (finding,) = result.findings
    assert (finding.severity, finding.code, finding.path) == (
        "warning",
        "no-effect",
        "$.spec.usage",
    )
    assert "past usage" in finding.message


def test_the_page_names_every_field() -> None:
    section = re.split(r"^### ", PAGE, flags=re.MULTILINE)
    (page,) = [part for part in section if part.startswith("Settings for past use")]
    for name in (
        *("k", "window.type", "window.length", "window.start", "window.cron", "window.timeZone"),
        *("halfLife", "sum", "resolution", "charge", "staleness", "onStale"),
        *("store.path", "store.keepRaw", "prometheus.url", "prometheus.urlVariable"),
        *("prometheus.queryTimeout", "prometheus.fetchInterval", "prometheus.waitTimeout"),
        *("prometheus.user", "prometheus.tokenFile", "prometheus.caFile"),
    ):
        assert f"`{name}`" in page


def test_the_example_of_the_page_is_sound() -> None:
    after = PAGE.partition("### Settings for past use")[2]
    example = after.partition("```yaml\n")[2].partition("```")[0]
    cursor, findings = cursor_of(example)
    found = read_settings(cursor).sections["usage"]
    assert found is not None
    assert (found.k, remarks(findings)) == (Fraction(3), [])
    assert found.settings.rules.window == Sliding(14 * DAY_MS)
