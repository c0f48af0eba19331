"""Past use under KAI's rules: which object counts, and which k can win the cluster back."""

import io
from fractions import Fraction

import pytest

from fairlead.manifest.load import LoadResult, load
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import PrometheusSource, StoreSource

SHARD = """
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {{name: default}}
spec: {spec}
"""
CONFIG = """
---
apiVersion: kai.scheduler/v1
kind: Config
metadata: {{name: {name}}}
spec: {{prometheus: {{externalPrometheusUrl: "http://of-config"}}}}
"""
OWN = """
---
apiVersion: fairlead/v1
kind: Settings
spec: {{usage: {usage}}}
"""
QUEUE = """
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec:
  parentQueue: "{parent}"
  priority: {priority}
  resources:
    gpu: {{quota: 0, limit: -1, overQuotaWeight: {weight}}}
    cpu: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    memory: {{quota: -1, limit: -1, overQuotaWeight: 1}}
"""
NODE = """
---
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "64", memory: 256Gi, nvidia.com/gpu: "{gpus}"}}}}
"""


def queue(name: str, weight: object = 1, parent: str = "", priority: int = 100) -> str:
    return QUEUE.format(name=name, weight=weight, parent=parent, priority=priority)


def load_text(*texts: str) -> LoadResult:
    return load(["-"], stdin=io.BytesIO("".join(texts).encode()))


def settings_of(*texts: str) -> KaiSettings:
    assembled = load_text(queue("a"), *texts).assembled
    assert assembled is not None
    assert isinstance(assembled.settings, KaiSettings)
    return assembled.settings


def told(result: LoadResult) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in result.findings)


def address_of(settings: KaiSettings) -> str:
    assert settings.usage is not None
    assert isinstance(settings.usage.source, PrometheusSource)
    return settings.usage.source.url


def test_a_config_alone_asks_for_no_past_use() -> None:
    assert settings_of(CONFIG.format(name="kai-config")) == KaiSettings()


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ("{usageDBConfig: {clientType: prometheus}}", "http://of-config"),
        ("{usageDBConfig: {connectionString: 'http://of-shard'}}", "http://of-shard"),
        ("{usageDBConfig: {connectionStringEnvVar: PROM}}", ""),
    ],
)
def test_the_config_has_the_address_of_a_shard_that_names_none(config: str, address: str) -> None:
    found = settings_of(SHARD.format(spec=config), CONFIG.format(name="kai-config"))
    assert address_of(found) == address


def test_a_second_config_is_refused() -> None:
    result = load_text(queue("a"), CONFIG.format(name="a"), CONFIG.format(name="b"))
    assert told(result) == ["error duplicate-object $"]


def test_our_own_settings_take_the_place_of_the_shards_and_that_is_told() -> None:
    shard = SHARD.format(spec="{kValue: 4, usageDBConfig: {connectionString: 'http://of-shard'}}")
    own = OWN.format(usage="{store: {path: past.db}}")
    found = settings_of(shard, own)
    assert found.usage is not None
    assert found.usage.source == StoreSource(path="past.db")
    assert found.k == 4  # which our own settings do not name
    assert told(load_text(queue("a"), shard, own)) == ["warning contradiction $.spec.usage"]


def test_a_k_of_our_own_settings_counts() -> None:
    found = settings_of(SHARD.format(spec="{kValue: 4}"), OWN.format(usage="{k: 0.5}"))
    assert found.k == Fraction(1, 2)
    assert settings_of(OWN.format(usage="{}")).k == 1


def test_a_second_settings_object_is_refused() -> None:
    own = OWN.format(usage="{}")
    assert told(load_text(queue("a"), own, own)) == ["error duplicate-object $"]


TWO = (queue("a"), queue("b"))
UNEVEN = (queue("a", 1), queue("b", 3), queue("idle", 0))
NESTED = (queue("a"), queue("b", 1, "a"), queue("c", 1, "a"))
LEVELS = (queue("a", 1, priority=100), queue("b", 1, priority=200))

# least k = (1 - 1/(2G))/w - 1
ADVICE = [
    # two equal queues: (1 - 1/32)/0.5 - 1 = 0.9375
    (TWO, 16, "0.9375", False),
    (TWO, 16, "0.937", True),
    # (1 - 1/4)/0.5 - 1 = 0.5
    (TWO, 2, "0.5", False),
    (TWO, 2, "0.49", True),
    # a quarter of the weights: (1 - 1/16)/0.25 - 1 = 2.75
    (UNEVEN, 8, "2.75", False),
    (UNEVEN, 8, "2.7", True),
    # siblings count at every level
    (NESTED, 16, "0.9", True),
    # no others of the same priority, so each has all the weights: (1 - 1/32)/1 - 1 < 0
    (LEVELS, 16, "0.01", False),
    # nothing to win back
    (TWO, 0, "0.1", False),
]


@pytest.mark.parametrize(("queues", "gpus", "k", "is_told"), ADVICE)
def test_advice_is_given_where_a_queue_can_never_win_the_cluster_back(
    queues: tuple[str, ...], gpus: int, k: str, is_told: bool
) -> None:
    node = NODE.format(gpus=gpus)
    by_shard = SHARD.format(spec=f"{{kValue: {k}, usageDBConfig: {{}}}}")
    by_own = OWN.format(usage=f"{{k: {k}}}")
    for text, path in ((by_shard, "$.spec.kValue"), (by_own, "$.spec.usage.k")):
        found = [each for each in told(load_text(*queues, node, text)) if "ill-matched" in each]
        assert found == ([f"advice ill-matched {path}"] if is_told else [])


def test_the_advice_says_who_and_how_much() -> None:
    shard = SHARD.format(spec="{kValue: 0.5, usageDBConfig: {}}")
    result = load_text(*UNEVEN, NODE.format(gpus=8), shard)
    (finding,) = [each for each in result.findings if each.code == "ill-matched"]
    assert '"a", which has 0.25 of its siblings\' weights' in finding.message
    assert "all 8 GPUs" in finding.message
    assert finding.fix.startswith("write 2.75 or more")


def test_without_past_use_no_k_is_advised_on() -> None:
    shard = SHARD.format(spec="{kValue: 0.1}")
    assert told(load_text(*TWO, NODE.format(gpus=16), shard)) == []


@pytest.mark.parametrize("gpus", [16, 0])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        (OWN.format(usage="{k: 1.0e-13}"), "$.spec.usage.k"),
        (SHARD.format(spec="{kValue: 1.0e-13, usageDBConfig: {}}"), "$.spec.kValue"),
    ],
)
def test_a_k_that_looks_like_0_is_told_for_what_it_is(text: str, path: str, gpus: int) -> None:
    result = load_text(*TWO, NODE.format(gpus=gpus), text)
    assert told(result) == [f"warning no-effect {path}"]
    (finding,) = result.findings
    assert "found k = 1e-13, which counts and moves no share" in finding.message


def test_a_k_of_a_billionth_has_the_usual_advice() -> None:
    result = load_text(*TWO, NODE.format(gpus=16), OWN.format(usage="{k: 1.0e-9}"))
    assert told(result) == ["advice ill-matched $.spec.usage.k"]
    (finding,) = result.findings
    assert "found k = 1e-9, with which" in finding.message
