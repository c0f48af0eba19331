"""KAI's Queue: units, defaults, what is unlimited and what is refused."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.kai.objects import KaiQueueObject
from fairlead.manifest.kai.reading.queue import read_kai_queue
from tests.manifest.yaml_text import cursor_of

QUEUE = """
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata:
      name: vision
      creationTimestamp: "1970-01-01T00:00:02Z"
    spec:
      displayName: Vision team
      parentQueue: research
      priority: 7
      preemptMinRuntime: 1h30m
      reclaimMinRuntime: 1d
      resources:
        cpu: {quota: 8000, limit: -1, overQuotaWeight: 1}
        memory: {quota: 64000, limit: 128000.5, overQuotaWeight: 0.1}
        gpu: {quota: 2.5, limit: 4, overQuotaWeight: 3}
    status:
      childQueues: []
      requested: {cpu: "1"}
"""


def read(text: str) -> tuple[KaiQueueObject | None, list[str]]:
    cursor, findings = cursor_of(text)
    return read_kai_queue(cursor), [str(each) for each in findings]


def resources(text: str) -> tuple[KaiQueueObject, list[str]]:
    """Read a queue with these resources, in flow style."""
    queue, found = read(f"metadata: {{name: a}}\nspec: {{resources: {text}}}")
    assert queue is not None
    return queue, found


@pytest.mark.parametrize("field", ["preemptMinRuntime", "reclaimMinRuntime"])
def test_a_negative_minimum_run_time_is_told_as_written_and_protects_nobody(field: str) -> None:
    queue, found = read(f"metadata: {{name: a}}\nspec: {{{field}: -1.5h, resources: {{}}}}")
    assert queue is not None
    assert {queue.preempt_min_runtime_ms, queue.reclaim_min_runtime_ms} == {0, None}
    (told,) = found
    assert told == (
        f'test.yaml:2: warning: $.spec.{field}: found "-1.5h", which is taken as 0s '
        "[out-of-range]\n    fix: write 0s or more"
    )


def test_a_queue_is_read_in_base_units() -> None:
    queue, found = read(QUEUE)
    assert found == []
    assert queue is not None
    assert (queue.name, queue.display_name, queue.parent) == ("vision", "Vision team", "research")
    assert (queue.priority, queue.created_ms) == (7, 2000)
    assert queue.preempt_min_runtime_ms == 90 * 60_000
    assert queue.reclaim_min_runtime_ms == 24 * 3_600_000
    # 8000 millicores; 64000 MB of 10^6 bytes; 2.5 devices in thousandths
    assert queue.guaranteed == {"cpu": 8000, "memory": 64_000_000_000, "gpu": 2500}
    assert queue.ceiling == {"cpu": None, "memory": 128_000_500_000, "gpu": 4000}
    assert queue.weights == {"cpu": Decimal(1), "memory": Decimal("0.1"), "gpu": Decimal(3)}


def test_what_is_not_listed_is_zero() -> None:
    queue, found = resources("{gpu: {quota: 1}}")
    assert found == []
    assert queue.priority == 100
    assert (queue.parent, queue.preempt_min_runtime_ms) == ("", None)
    assert queue.guaranteed == {"cpu": 0, "memory": 0, "gpu": 1000}
    assert queue.ceiling == {"cpu": 0, "memory": 0, "gpu": 0}
    assert queue.weights == dict.fromkeys(("cpu", "memory", "gpu"), Decimal(0))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("metadata: {name: a}", "$.spec"),
        ("metadata: {name: a}\nspec: {parentQueue: b}", "$.spec.resources"),
        ("metadata: {name: a}\nspec: {resources: null}", "$.spec.resources"),
        ("spec: {resources: {}}", "$.metadata"),
    ],
)
def test_a_queue_must_have_a_name_and_resources(text: str, path: str) -> None:
    _, found = read(text)
    assert len(found) == 1
    assert f"error: {path}:" in found[0]
    assert "[missing-field]" in found[0]


@pytest.mark.parametrize(
    ("text", "guaranteed"),
    [
        ("{cpu: {quota: -1}}", {"cpu": None, "memory": 0, "gpu": 0}),
        ("{gpu: {quota: -1.0}}", {"cpu": 0, "memory": 0, "gpu": None}),
        ("{memory: {quota: -1}}", {"cpu": 0, "memory": None, "gpu": 0}),
        ("{memory: {quota: -0.25}}", {"cpu": 0, "memory": None, "gpu": 0}),
        ("{memory: {quota: -7}}", {"cpu": 0, "memory": None, "gpu": 0}),
    ],
)
def test_minus_one_is_unlimited_and_so_is_every_negative_memory(
    text: str, guaranteed: dict[str, int | None]
) -> None:
    queue, found = resources(text)
    assert found == []
    assert queue.guaranteed == guaranteed


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("{cpu: {quota: -2}}", "$.spec.resources.cpu.quota", "out-of-range"),
        ("{gpu: {limit: -0.5}}", "$.spec.resources.gpu.limit", "out-of-range"),
        ("{memory: {quota: 9223372036855}}", "$.spec.resources.memory.quota", "out-of-range"),
        ("{gpu: {overQuotaWeight: -1}}", "$.spec.resources.gpu.overQuotaWeight", "out-of-range"),
        ("{gpu: {quota: .nan}}", "$.spec.resources.gpu.quota", "bad-number"),
        ("{gpu: {quota: '4'}}", "$.spec.resources.gpu.quota", "wrong-type"),
        ("{gpu: 4}", "$.spec.resources.gpu", "wrong-type"),
    ],
)
def test_other_negatives_and_what_is_no_number_are_refused(text: str, path: str, code: str) -> None:
    _, found = resources(text)
    assert len(found) == 1
    assert f"error: {path}:" in found[0]
    assert f"[{code}]" in found[0]


@pytest.mark.parametrize(
    ("text", "axis", "kept", "shown"),
    [
        ("{gpu: {quota: 0.3339}}", "gpu", 333, "0.333"),
        ("{cpu: {quota: 100.75}}", "cpu", 100, "100"),
        ("{memory: {quota: 0.0000019}}", "memory", 1, "0.000001"),
    ],
)
def test_what_is_too_fine_is_cut_down_with_a_warning(
    text: str, axis: str, kept: int, shown: str
) -> None:
    queue, found = resources(text)
    assert queue.guaranteed[axis] == kept
    assert len(found) == 1
    assert "[rounded]" in found[0]
    assert f"taken as {shown}" in found[0]


def test_a_misspelt_field_is_told() -> None:
    _, found = resources("{gpu: {quata: 1}}")
    assert len(found) == 1
    assert "$.spec.resources.gpu.quata" in found[0]
    assert 'did you mean "quota"?' in found[0]


@given(st.decimals(min_value=0, max_value=10**18, allow_nan=False, places=9))
def test_no_quota_is_taken_for_more_than_was_given(value: Decimal) -> None:
    """Law: kept <= given < kept + one base unit, in exact arithmetic, however large."""
    queue, _ = resources(f"{{gpu: {{quota: {value:f}}}}}")
    kept = queue.guaranteed["gpu"]
    assert kept is not None
    assert kept <= Fraction(value) * 1000 < kept + 1
