"""Past use under KAI's rules: which object counts, and which k can win the cluster back."""

import io
from fractions import Fraction

import pytest

from fairlead.errors import Finding
from fairlead.manifest.load import LoadResult, load
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import PrometheusSource, StoreSource
from tests.sim.engine.time_shared import Sharing, share

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
POD = """
---
apiVersion: v1
kind: Pod
metadata: {{name: large, namespace: default, labels: {{kai.scheduler/queue: {queue}}}}}
spec:
  schedulerName: kai-scheduler
  containers: [{{name: main, image: work, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
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

THREE = (queue("a"), queue("b"), queue("c"))
FIVE = (*THREE, queue("d"), queue("e"))

# Queues, GPUs of the cluster, GPUs and queue of a job, k, and whether it is too small. With two
# siblings it takes (J - 1/2)/(ow) - 1, with more J/(ow) - 1. No GPU is quota: o is the cluster.
ADVICE = [
    # two equal queues: 15.5/8 - 1 = 0.9375
    (TWO, 16, (16, "b"), "0.9375", False),
    (TWO, 16, (16, "b"), "0.937", True),
    # two GPUs: 1.5/1 - 1 = 0.5
    (TWO, 2, (2, "b"), "0.5", False),
    (TWO, 2, (2, "b"), "0.49", True),
    # a quarter of the weights: 7.5/2 - 1 = 2.75; three quarters: 7.5/6 - 1 = 0.25
    (UNEVEN, 8, (8, "a"), "2.75", False),
    (UNEVEN, 8, (8, "a"), "2.7", True),
    (UNEVEN, 8, (8, "b"), "0.25", False),
    # siblings count at every level
    (NESTED, 16, (16, "b"), "0.93", True),
    # no others of the same priority, so each has all the weights
    (LEVELS, 16, (16, "a"), "0.01", False),
    # what each has without past use needs no k, and half a GPU is rounded up
    (TWO, 16, (8, "b"), "0.01", False),
    # three equal queues: 8/(16/3) - 1 = 0.5
    (THREE, 16, (8, "c"), "0.5", False),
    (THREE, 16, (8, "c"), "0.49", True),
    # five equal queues: 5/(20/5) - 1 = 0.25
    (FIVE, 20, (5, "c"), "0.25", False),
    (FIVE, 20, (5, "c"), "0.24", True),
    # no k makes more of it than the waiting ones have among themselves: 16/2 and 20/4
    (THREE, 16, (9, "c"), "1000", True),
    (FIVE, 20, (6, "c"), "1000", True),
    # nothing to win back
    (TWO, 0, (16, "b"), "0.1", False),
]


def job(gpus: int, queue: str) -> str:
    return POD.format(gpus=gpus, queue=queue)


@pytest.mark.parametrize(("queues", "gpus", "large", "k", "is_told"), ADVICE)
def test_advice_is_given_where_a_job_can_never_win_its_gpus_back(
    queues: tuple[str, ...], gpus: int, large: tuple[int, str], k: str, is_told: bool
) -> None:
    objects = (*queues, NODE.format(gpus=gpus), job(*large))
    by_shard = SHARD.format(spec=f"{{kValue: {k}, usageDBConfig: {{}}}}")
    by_own = OWN.format(usage=f"{{k: {k}}}")
    for text, path in ((by_shard, "$.spec.kValue"), (by_own, "$.spec.usage.k")):
        found = [each for each in told(load_text(*objects, text)) if "ill-matched" in each]
        assert found == ([f"advice ill-matched {path}"] if is_told else [])


def ill_matched(*texts: str) -> Finding:
    (finding,) = [each for each in load_text(*texts).findings if each.code == "ill-matched"]
    return finding


def test_the_advice_says_which_job_and_how_much() -> None:
    """(1 + 0.5)/4 of 8 GPUs are 3."""
    shard = SHARD.format(spec="{kValue: 0.5, usageDBConfig: {}}")
    finding = ill_matched(*UNEVEN, NODE.format(gpus=8), job(8, "a"), shard)
    assert '"a" is entitled to 3 GPUs at most while its siblings want more too' in finding.message
    assert '"default/pod/large" needs 8' in finding.message
    assert finding.fix.startswith("write 2.75 or more; with less than about 2.75 it can never")


def test_the_advice_says_what_no_k_can_do() -> None:
    finding = ill_matched(*THREE, NODE.format(gpus=16), job(16, "c"), OWN.format(usage="{k: 9}"))
    assert '"c" is entitled to 8 at most while its siblings wait too' in finding.message
    assert "no k changes that: k divides only what is beyond quotas" in finding.message
    assert finding.fix == "give the queue a larger quota or weight, or make the job smaller"


def small_job(queue: str, gpus: int = 1) -> str:
    return job(gpus, queue).replace("name: large", f"name: small-{queue}")


def test_siblings_with_small_jobs_do_not_wait_for_ever() -> None:
    """Jobs of 1 fit 20/5, so all others take part in what is used: 12/(20/5) - 1 = 2."""
    objects = (*FIVE, NODE.format(gpus=20), job(12, "c"), *map(small_job, "abde"))
    finding = ill_matched(*objects, OWN.format(usage="{k: 1.5}"))
    assert '"c" is entitled to 10 GPUs at most' in finding.message  # (1 + 1.5) 20/5
    assert finding.fix.startswith("write 2 or more")
    assert told(load_text(*objects, OWN.format(usage="{k: 2}"))) == []


# Beside c with its job of 16 of 20 GPUs: the jobs of its siblings, and what it is entitled to.
WAITING = [
    # a gets its turn with 1 GPU; then 5 is a quarter for b, which gets it; then d and e a third
    ({"a": 1, "b": 5, "d": 6, "e": 6}, None),
    # a gets its turn; of 20/4 none of the others has enough
    ({"a": 1, "b": 6, "d": 6, "e": 6}, "5"),
    # all wait but one, which holds the GPUs: 20/4
    ({"a": 6, "b": 6, "d": 6, "e": 6}, "5"),
    # a and b have jobs that fit; d and e have none that are known, and count as waiting: 20/3
    ({"a": 1, "b": 1}, "6.67"),
]


@pytest.mark.parametrize(("jobs", "entitled"), WAITING)
def test_a_queue_waits_with_those_whose_jobs_are_too_large_too(
    jobs: dict[str, int], entitled: str | None
) -> None:
    small = [small_job(queue, gpus) for queue, gpus in jobs.items()]
    objects = (*FIVE, NODE.format(gpus=20), job(16, "c"), *small)
    if entitled is None:
        assert told(load_text(*objects, OWN.format(usage="{k: 1000}"))) == []
        return
    message = ill_matched(*objects, OWN.format(usage="{k: 1000}")).message
    assert f"entitled to {entitled} at most while its siblings wait too: no k" in message


def test_amounts_are_not_looked_at_one_by_one_where_there_are_too_many() -> None:
    """The jobs of c and its siblings hold every amount: with k 0.1, c has 1.1/3 of all GPUs."""
    gpus = 3 * 10**12
    others = [small_job("a", 2), small_job("b", 3)]
    objects = (*THREE, NODE.format(gpus=gpus), job(gpus, "c"), *others)
    message = ill_matched(*objects, OWN.format(usage="{k: 0.1}")).message
    assert '"c" is entitled to 1.1e+12 GPUs at most' in message


def test_a_quota_is_no_matter_of_k() -> None:
    """With a quota of 8 of its own, b lacks 8 of the other 8: 7.5/4 - 1 = 0.875."""
    own = queue("b").replace("gpu: {quota: 0,", "gpu: {quota: 8,")
    objects = (queue("a"), own, NODE.format(gpus=16), job(16, "b"))
    assert ill_matched(*objects, OWN.format(usage="{k: 0.87}")).fix.startswith("write 0.88 or more")
    assert told(load_text(*objects, OWN.format(usage="{k: 0.875}"))) == []


def test_jobs_that_leave_gpus_idle_make_it_harder() -> None:
    """Jobs of 7 of 8 used 7/8 at most: (6.5 - 4)/(4 - 6.5/8) = 0.7843, and not 0.625."""
    rival = job(7, "a").replace("name: large", "name: rival")
    objects = (*TWO, NODE.format(gpus=8), job(7, "b"), rival)
    fix = ill_matched(*objects, OWN.format(usage="{k: 0.784}")).fix
    assert fix.startswith("write 0.79 or more; with less than about 0.784 it can never")
    assert told(load_text(*objects, OWN.format(usage="{k: 0.785}"))) == []
    # beside small jobs nothing is left idle
    small = [job(1, each).replace("name: large", f"name: small-{each}") for each in "ab"]
    assert told(load_text(*objects, *small, OWN.format(usage="{k: 0.625}"))) == []
    # of jobs of 3 two fit: 6/8, so (6.5 - 4)/(4 - 6.5/4) = 1.0526
    threes = (*TWO, NODE.format(gpus=8), job(7, "b"), rival.replace("gpu: 7", "gpu: 3"))
    assert told(load_text(*threes, OWN.format(usage="{k: 1.053}"))) == []
    assert ill_matched(*threes, OWN.format(usage="{k: 1.052}")).fix.startswith("write 1.06 or")


@pytest.mark.parametrize(("k", "turns"), [("0.784", [0]), ("0.785", [0, 1, 0, 1])])
def test_the_k_that_is_advised_is_where_queues_begin_to_take_turns(
    k: str, turns: list[int]
) -> None:
    """Two queues with jobs of 7 of 8 GPUs that never end."""
    came = share(
        Sharing(
            gpus=8,
            weights=(1, 1),
            deserved=(0, 0),
            job_gpus=(7, 7),
            backlog=(1, 1),
            k=Fraction(k),
            window=20,
            half_life=None,
            cycles=60,
        )
    )
    assert [queue for _, queue in came.starts] == turns


def test_a_department_divides_what_it_has_itself() -> None:
    """A and d have 8 GPUs each. Use counts against the whole cluster, so P is 1/2 in a.

    b is entitled to 8(1 + k)/2 / (1 + k/2): 5.33 with k = 1; 7.5 takes 3.5/(4 - 7.5/2) = 14.
    """
    objects = (*NESTED, queue("d"), NODE.format(gpus=16), job(8, "b"))
    finding = ill_matched(*objects, OWN.format(usage="{k: 1}"))
    assert '"b" is entitled to 5.33 GPUs' in finding.message
    assert finding.fix.startswith("write 14 or more")
    assert told(load_text(*objects, OWN.format(usage="{k: 14}"))) == []


def test_nothing_is_said_where_no_job_is_that_large() -> None:
    objects = (*TWO, NODE.format(gpus=16))
    assert told(load_text(*objects, OWN.format(usage="{k: 0.1}"))) == []
    assert told(load_text(*objects, job(4, "a"), OWN.format(usage="{k: 0.1}"))) == []


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
    own = OWN.format(usage="{k: 1.0e-9}")
    finding = ill_matched(*TWO, NODE.format(gpus=16), job(16, "b"), own)
    assert "found k = 1e-9, with which" in finding.message
