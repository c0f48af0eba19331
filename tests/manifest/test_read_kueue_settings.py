"""Options of our own stand in an object of their own, and only add to what Kueue's objects say."""

import io
import re
from textwrap import dedent, indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import read_settings
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.text.values import REFUSED, Value
from fairlead.policy.contract import PolicyName
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.manifest.yaml_text import cursor_of, remarks
from tests.shared_folder import ROOT

HEAD = "apiVersion: fairlead/v1\nkind: Settings\n"
PAGE = (ROOT / "docs" / "reference" / "manifests.md").read_text(encoding="utf-8")

QUEUE = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
"""
CONFIGURATION = """
---
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
waitForPodsReady: {timeout: 5m, requeuingStrategy: {timestamp: Creation}}
"""
SETTINGS = f"---\n{HEAD}spec: {{kueue: {{preventPreemptionLoops: true, minRunTime: 10m}}}}\n"
KAI_QUEUE = """
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {resources: {gpu: {quota: 2, limit: -1, overQuotaWeight: 1}}}
"""


def read(kueue: str) -> tuple[KueueSettings, list[str]]:
    cursor, findings = cursor_of(f"{HEAD}spec:\n  kueue:\n{indent(dedent(kueue), '    ')}\n")
    return read_settings(cursor).sections["kueue"], remarks(findings)


def load_text(*texts: str, policy: PolicyName | None = None, strict: bool = False) -> LoadResult:
    content = "".join(texts).encode()
    return load(["-"], policy=policy, strict=strict, stdin=io.BytesIO(content))


def told(result: LoadResult) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in result.findings)


def settings_of(result: LoadResult) -> KueueSettings:
    assert result.assembled is not None
    assert isinstance(result.assembled.settings, KueueSettings)
    return result.assembled.settings


def test_every_option_is_read() -> None:
    settings, findings = read("""
        preventPreemptionLoops: true
        minRunTime: 1h30m
        preemptionDelay: 45s
        preemptionCooldown: 10m
        priorityOverride: true
        preemptSmallestFirst: true
        """)
    assert findings == []
    options = KueueOptions(
        no_preemption_loops=True,
        min_run_time_ms=90 * 60_000,
        preemption_delay_ms=45_000,
        preemption_cooldown_ms=10 * 60_000,
        priority_override=True,
        smallest_first=True,
    )
    assert settings == KueueSettings(options=options)


def test_who_gave_way_cools_down_unless_that_is_turned_off() -> None:
    assert read("{}")[0].options.preemption_cooldown_ms == 30 * 60_000
    assert read("preemptionCooldown: 0s") == (
        KueueSettings(options=KueueOptions(preemption_cooldown_ms=0)),
        [],
    )
    settings, findings = read("preemptionCooldown: -1m")
    assert settings.options.preemption_cooldown_ms == 0
    assert findings == ["warning out-of-range $.spec.kueue.preemptionCooldown"]


def test_to_be_faithful_is_kueue_as_it_is() -> None:
    assert read("faithful: true") == (KueueSettings(faithful=True), [])
    assert read(
        "{faithful: true, minRunTime: 0s, preemptionCooldown: 0s, priorityOverride: false}"
    ) == (
        KueueSettings(faithful=True),
        [],
    )
    settings = SETTINGS.partition("spec:")[0] + "spec: {kueue: {faithful: true}}\n"
    assert settings_of(load_text(QUEUE, CONFIGURATION, settings)) == KueueSettings(
        fair_sharing=True,
        strategies=("LessThanInitialShare",),
        requeued_by="Creation",
        faithful=True,
    )


@pytest.mark.parametrize(
    "option",
    [
        "preventPreemptionLoops: true",
        "minRunTime: 1m",
        "preemptionDelay: 1s",
        "preemptionCooldown: 30m",
        "priorityOverride: true",
        "preemptSmallestFirst: true",
    ],
)
def test_to_be_faithful_and_to_do_what_kueue_cannot_is_refused_with_a_cure(option: str) -> None:
    field = option.partition(":")[0]
    settings = SETTINGS.partition("spec:")[0] + f"spec: {{kueue: {{faithful: true, {option}}}}}\n"
    result = load_text(QUEUE, CONFIGURATION, settings)
    assert result.assembled is None
    (finding,) = result.findings
    assert (finding.severity, finding.code) == ("error", "contradiction")
    assert finding.path == f"$.spec.kueue.{field}"
    assert finding.fix == f"remove {field}, or remove faithful"


@pytest.mark.parametrize(
    "text", ["", "metadata: {name: any}\n", "spec:\n", "spec: {kueue: null}\n"]
)
def test_what_is_not_there_is_off(text: str) -> None:
    cursor, findings = cursor_of(HEAD + text)
    assert read_settings(cursor).sections["kueue"] == KueueSettings()
    assert remarks(findings) == []


WRONG = {
    "a word for a truth": ("preventPreemptionLoops: always", "error wrong-type"),
    "a text for a truth": ('priorityOverride: "true"', "error wrong-type"),
    "a number for a truth": ("faithful: 1", "error wrong-type"),
    "a number without its unit": ("minRunTime: 600", "error wrong-type"),
    "no duration at all": ("preemptionDelay: long", "error bad-duration"),
    "a negative protection": ("minRunTime: -10m", "warning out-of-range"),
    "a negative delay": ("preemptionDelay: -1s", "warning out-of-range"),
    "a delay finer than we count": ("preemptionDelay: 100us", "warning rounded"),
    "an option that nobody knows": ("minRuntime: 10m", "warning unknown-field"),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_at_its_place_and_is_off(text: str, expected: str) -> None:
    settings, findings = read(text)
    assert findings == [f"{expected} $.spec.kueue.{text.partition(':')[0]}"]
    assert settings == KueueSettings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec: {volcano: {}}", "warning unknown-field $.spec.volcano"),
        ("spec: {minRunTime: 1s}", "warning unknown-field $.spec.minRunTime"),
        ("spec: {kueue: true}", "error wrong-type $.spec.kueue"),
        ("spec: [kueue]", "error wrong-type $.spec"),
        ("kueue: {minRunTime: 1s}", "warning unknown-field $.kueue"),
    ],
)
def test_a_section_must_be_known_and_stand_in_its_place(text: str, expected: str) -> None:
    cursor, findings = cursor_of(HEAD + text)
    read_settings(cursor)
    assert remarks(findings) == [expected]


def test_options_are_added_to_what_the_configuration_says() -> None:
    for texts in ((QUEUE, CONFIGURATION, SETTINGS), (SETTINGS, CONFIGURATION, QUEUE)):
        result = load_text(*texts)
        assert told(result) == []
        assert settings_of(result) == KueueSettings(
            fair_sharing=True,
            strategies=("LessThanInitialShare",),
            requeued_by="Creation",
            options=KueueOptions(no_preemption_loops=True, min_run_time_ms=600_000),
        )
        assert result.read["Settings.fairlead"] == 1


def test_options_need_no_configuration() -> None:
    settings = settings_of(load_text(QUEUE, SETTINGS))
    assert settings == KueueSettings(
        options=KueueOptions(no_preemption_loops=True, min_run_time_ms=600_000)
    )


def test_settings_alone_choose_no_rule_set() -> None:
    assert told(load_text(SETTINGS)) == ["error no-queues $"]


def test_a_section_beside_queues_of_another_rule_set_has_no_effect() -> None:
    result = load_text(SETTINGS, KAI_QUEUE)
    assert told(result) == ["warning no-effect $.spec.kueue"]
    assert result.assembled is not None
    assert result.assembled.policy == "kai"
    assert result.read["Settings.fairlead"] == 1


def test_every_section_is_checked_whichever_rule_set_the_input_is_for() -> None:
    broken = SETTINGS.replace("minRunTime: 10m", "minRunTime: soon")
    assert told(load_text(broken, KAI_QUEUE)) == [
        "error bad-duration $.spec.kueue.minRunTime",
        "warning no-effect $.spec.kueue",
    ]


def test_where_no_queue_is_there_settings_do_not_speak_against_others() -> None:
    group = """
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang}
spec: {queue: vision, minMember: 1}
"""
    result = load_text(SETTINGS, group)
    assert result.assembled is not None
    assert result.assembled.policy == "kai"


def test_an_unknown_option_is_an_error_when_strict() -> None:
    result = load_text(QUEUE, SETTINGS.replace("minRunTime", "minRuntime"), strict=True)
    assert told(result) == ["error unknown-field $.spec.kueue.minRuntime"]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("{apiVersion: fairlead/v1, kind: Setting}", 'did you mean "Settings"?'),
        ("{apiVersion: v1, kind: Settings}", "write apiVersion: fairlead/v1"),
    ],
)
def test_a_slip_of_the_pen_is_pointed_out(text: str, fix: str) -> None:
    (finding,) = load_text(QUEUE, f"---\n{text}\n").findings
    assert (finding.code, finding.fix) == ("unknown-kind", fix)


def test_the_example_of_the_reference_names_every_option_that_the_page_lists() -> None:
    section = PAGE.partition("\n## Settings\n")[2].partition("\n## ")[0]
    examples = re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (example,) = [each for each in examples if "kueue:" in each]
    result = load_text(QUEUE, CONFIGURATION, "---\n", example)
    assert told(result) == []
    first, *listed = re.findall(r"^\| `spec\.kueue\.(\w+)`", section, re.MULTILINE)
    assert first == "faithful"  # which cannot stand beside the others
    assert re.findall(r"^    (\w+):", example, re.MULTILINE) == listed
    options = settings_of(result).options
    for name in KueueOptions.__struct_fields__:
        assert getattr(options, name), name


junk: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from(["", "1s", "-1s", "1w", "1e99h", "9" * 50 + "h", "true", "Always"]),
    st.text(max_size=4),
    st.just(REFUSED),
    st.sampled_from([[], {}, [None], [{}], {"name": "x"}]),
)
names = st.sampled_from(
    [
        "faithful",
        "preventPreemptionLoops",
        "minRunTime",
        "preemptionDelay",
        "preemptionCooldown",
        "priorityOverride",
        "preemptSmallestFirst",
        "x",
    ]
)


@given(kueue=st.dictionaries(names, junk, max_size=5) | junk)
def test_junk_ends_in_findings_or_in_options_that_make_sense(kueue: Value) -> None:
    findings = Findings()
    (document,) = read_bytes(HEAD.encode(), "test.yaml", findings)
    value = {**document.value, "spec": {"kueue": kueue}}
    cursor = Cursor.of(Document(source=document.source, value=value), findings)
    found = read_settings(cursor).sections["kueue"]
    options = found.options
    assert options.min_run_time_ms >= 0
    assert options.preemption_delay_ms >= 0
    assert options.preemption_cooldown_ms >= 0
    truths = (
        found.faithful,
        options.no_preemption_loops,
        options.priority_override,
        options.smallest_first,
    )
    assert set(map(type, truths)) == {bool}
    assert not found.faithful or findings.has_errors or options == KueueOptions()
