"""How ElasticQuotas are scheduled stands in our own Settings, because they have no field for it."""

import io
import re
from textwrap import dedent, indent

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.elastic_quota.read_options import quirk_field
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import read_settings
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.text.values import REFUSED, Value
from fairlead.policy.contract import PolicyName
from fairlead.policy.elastic_quota.settings import (
    AS_THE_PLUGIN,
    FAITHFUL,
    ElasticQuotaSettings,
    PluginQuirks,
)
from tests.manifest.yaml_text import cursor_of, remarks
from tests.shared_folder import ROOT

HEAD = "apiVersion: fairlead/v1\nkind: Settings\n"
PAGE = (ROOT / "docs" / "reference" / "manifests.md").read_text(encoding="utf-8")
DEFAULT = ElasticQuotaSettings()
QUIRKS = PluginQuirks.__struct_fields__
QUOTA = """
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: vision}
spec: {min: {cpu: 4}}
"""
KAI_QUEUE = """
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {resources: {gpu: {quota: 2, limit: -1, overQuotaWeight: 1}}}
"""


def settings_text(section: str) -> str:
    return f"---\n{HEAD}spec:\n  elasticQuota:\n{indent(dedent(section), '    ')}\n"


def read(section: str) -> tuple[ElasticQuotaSettings, list[str]]:
    cursor, findings = cursor_of(settings_text(section))
    return read_settings(cursor).sections["elasticQuota"].settings, remarks(findings)


def load_text(*texts: str, policy: PolicyName | None = None) -> LoadResult:
    return load(["-"], policy=policy, stdin=io.BytesIO("".join(texts).encode()))


def told(result: LoadResult) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in result.findings)


def settings_of(result: LoadResult) -> ElasticQuotaSettings:
    assert result.assembled is not None
    assert isinstance(result.assembled.settings, ElasticQuotaSettings)
    return result.assembled.settings


READ = {
    "": DEFAULT,
    "faithful: false": DEFAULT,
    "faithful: true": FAITHFUL,
    "{faithful: true, crossNodePreemption: false, protectMin: false}": FAITHFUL,
    "{faithful: true, pluginQuirks: {poolAll: true}}": FAITHFUL,
    "{faithful: true, nodeScoring: MostAllocated}": msgspec.structs.replace(
        FAITHFUL, scoring="MostAllocated"
    ),
    "crossNodePreemption: false": ElasticQuotaSettings(cross_node_preemption=False),
    "crossNodePreemption: true": DEFAULT,
    "protectMin: true": ElasticQuotaSettings(protect_min=True),
    "nodeScoring: LeastAllocated": DEFAULT,
    "nodeScoring: MostAllocated": ElasticQuotaSettings(scoring="MostAllocated"),
    "pluginQuirks: {maxCoreZero: true, pdbUndercount: true}": ElasticQuotaSettings(
        quirks=PluginQuirks(max_core_zero=True, pdb_undercount=True)
    ),
    "{protectMin: true, pluginQuirks: {belowMin: false, poolAll: true}}": ElasticQuotaSettings(
        protect_min=True, quirks=PluginQuirks(pool_all=True)
    ),
}


@pytest.mark.parametrize("section", READ)
def test_what_is_written_is_what_is_set(section: str) -> None:
    assert read(section) == (READ[section], [])


@pytest.mark.parametrize("name", QUIRKS)
def test_each_quirk_is_a_switch_of_its_own(name: str) -> None:
    found, remarked = read(f"pluginQuirks: {{{quirk_field(name)}: true}}")
    assert remarked == []
    assert [each for each in QUIRKS if getattr(found.quirks, each)] == [name]


def test_all_quirks_and_one_node_at_a_time_are_the_plugin() -> None:
    quirks = ", ".join(f"{quirk_field(name)}: true" for name in QUIRKS)
    found, remarked = read(f"{{crossNodePreemption: false, pluginQuirks: {{{quirks}}}}}")
    assert (found, remarked) == (FAITHFUL, [])
    assert found.quirks == AS_THE_PLUGIN


CONTRADICTIONS = {
    "{faithful: true, crossNodePreemption: true}": (
        "crossNodePreemption",
        "remove crossNodePreemption, or remove faithful",
    ),
    "{faithful: true, protectMin: true}": ("protectMin", "remove protectMin, or remove faithful"),
    "{faithful: true, pluginQuirks: {doubleRemove: false}}": (
        "pluginQuirks.doubleRemove",
        "remove faithful, and write the quirks that are to stay",
    ),
    "{protectMin: true, pluginQuirks: {belowMin: true}}": (
        "protectMin",
        "remove protectMin, or belowMin from pluginQuirks",
    ),
}


@pytest.mark.parametrize("section", CONTRADICTIONS)
def test_what_cannot_both_be_wanted_is_refused_with_a_cure(section: str) -> None:
    place, cure = CONTRADICTIONS[section]
    result = load_text(QUOTA, settings_text(section))
    assert result.assembled is None
    (finding,) = result.findings
    assert (finding.severity, finding.code) == ("error", "contradiction")
    assert (finding.path, finding.fix) == (f"$.spec.elasticQuota.{place}", cure)


WRONG = {
    "a word for a truth": ("protectMin: always", "error wrong-type", "protectMin"),
    "a text for a truth": ('faithful: "true"', "error wrong-type", "faithful"),
    "a scoring that nobody knows": ("nodeScoring: Spread", "error bad-choice", "nodeScoring"),
    "a quirk that is no truth": (
        "pluginQuirks: {poolAll: 1}",
        "error wrong-type",
        "pluginQuirks.poolAll",
    ),
    "a quirk that nobody knows": (
        "pluginQuirks: {poolsAll: true}",
        "warning unknown-field",
        "pluginQuirks.poolsAll",
    ),
    "quirks as a list": ("pluginQuirks: [poolAll]", "error wrong-type", "pluginQuirks"),
    "an option that nobody knows": (
        "crossNodes: true",
        "warning unknown-field",
        "crossNodes",
    ),
}


@pytest.mark.parametrize(("section", "code", "place"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_at_its_place_and_is_as_by_default(
    section: str, code: str, place: str
) -> None:
    assert read(section) == (DEFAULT, [f"{code} $.spec.elasticQuota.{place}"])


def test_settings_reach_whoever_loads() -> None:
    settings = settings_text("protectMin: true")
    for texts in ((QUOTA, settings), (settings, QUOTA)):
        result = load_text(*texts)
        assert told(result) == []
        assert settings_of(result) == ElasticQuotaSettings(protect_min=True)
        assert result.read["Settings.fairlead"] == 1
    assert settings_of(load_text(QUOTA)) == DEFAULT


def test_a_second_settings_object_is_refused() -> None:
    settings = settings_text("protectMin: true")
    result = load_text(QUOTA, settings, settings)
    (finding,) = result.findings
    assert (finding.severity, finding.code, finding.path) == ("error", "duplicate-object", "$")
    assert finding.message.endswith("the first is at <stdin>:8")


def test_only_the_section_of_the_rule_set_in_use_counts() -> None:
    both = settings_text("protectMin: true") + "  kueue: {preventPreemptionLoops: true}\n"
    result = load_text(QUOTA, both)
    assert told(result) == ["warning no-effect $.spec.kueue"]
    assert settings_of(result) == ElasticQuotaSettings(protect_min=True)
    assert told(load_text(KAI_QUEUE, both)) == [
        "warning no-effect $.spec.elasticQuota",
        "warning no-effect $.spec.kueue",
    ]


def test_settings_speak_for_no_rule_set() -> None:
    settings = settings_text("protectMin: true")
    assert told(load_text(settings)) == ["error no-queues $"]
    assert told(load_text(settings, policy="elastic-quota")) == []


POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: vision}
spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
"""


def test_a_max_that_leaves_out_what_is_used_is_told_as_the_settings_have_it() -> None:
    quota = QUOTA.replace("{min: {cpu: 4}}", "{min: {cpu: 4}, max: {memory: 1Gi}}")
    assert told(load_text(quota, POD)) == ["warning peer-differs $.spec.max"]
    for section in ("faithful: true", "pluginQuirks: {maxCoreZero: true}"):
        result = load_text(quota, POD, settings_text(section))
        assert told(result) == ["warning unusable $.spec.max"]


def test_the_reference_lists_every_option_and_its_example_is_read() -> None:
    section = PAGE.partition("\n## Settings\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `spec\.elasticQuota\.([\w.]+)`", section, re.MULTILINE)
    quirks = [f"pluginQuirks.{quirk_field(name)}" for name in QUIRKS]
    options = ["faithful", "crossNodePreemption", "protectMin", "nodeScoring", "schedulerNames"]
    assert sorted(listed) == sorted([*options, *quirks])
    examples = re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (example,) = [each for each in examples if "elasticQuota:" in each]
    result = load_text(QUOTA, "---\n", example)
    assert told(result) == []
    assert settings_of(result) != DEFAULT


junk: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from(["", "true", "LeastAllocated", "MostAllocated"]),
    st.text(max_size=4),
    st.just(REFUSED),
    st.sampled_from([[], {}, [None], [{}], {"name": "x"}]),
)
options = st.sampled_from(
    ["faithful", "crossNodePreemption", "protectMin", "nodeScoring", "schedulerNames", "x"]
)
quirks = st.dictionaries(st.sampled_from([*map(quirk_field, QUIRKS), "x"]), junk, max_size=3)
sections = st.builds(
    lambda fields, quirks: {**fields, "pluginQuirks": quirks},
    st.dictionaries(options, junk, max_size=5),
    quirks | junk,
)


@given(section=sections | junk)
def test_junk_ends_in_findings_or_in_settings_that_make_sense(section: Value) -> None:
    findings = Findings()
    (document,) = read_bytes(HEAD.encode(), "test.yaml", findings)
    value = {**document.value, "spec": {"elasticQuota": section}}
    cursor = Cursor.of(Document(source=document.source, value=value), findings)
    found = read_settings(cursor).sections["elasticQuota"].settings
    assert found.scoring in ("LeastAllocated", "MostAllocated")
    assert {type(getattr(found.quirks, name)) for name in QUIRKS} == {bool}
    if found.quirks == AS_THE_PLUGIN and not findings.has_errors:
        assert not found.protect_min
