"""The body that KAI's share simulator takes, with its own defaults."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from fairlead.manifest.core.objects import NodeObject, Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiQueueObject, KaiShardObject
from fairlead.manifest.kai.reading.queue import (
    is_share_simulation,
    read_share_simulation,
)
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.text.values import Value


def read(body: dict[str, object]) -> tuple[list[Object], list[str]]:
    findings = Findings()
    (document,) = read_bytes(json.dumps(body).encode(), "body.json", findings)
    return [*read_share_simulation(document, findings)], [str(each) for each in findings]


def body(*queues: dict[str, object], **more: object) -> dict[str, object]:
    total = {"GPU": 100, "CPU": 16000, "Memory": 32000000}
    return {"totalResource": total, "queues": list(queues), **more}


def test_the_total_is_one_node() -> None:
    objects, found = read(body())
    assert found == []
    (node,) = objects
    assert isinstance(node, NodeObject)
    assert node.name == "totalResource"
    # devices in thousandths, millicores, bytes
    assert node.allocatable == {"nvidia.com/gpu": 100_000, "cpu": 16_000, "memory": 32_000_000}


def test_a_queue_has_the_simulators_defaults() -> None:
    """Weight 1, no limit, 100,000 asked for; cpu and memory are guaranteed unless listed."""
    objects, found = read(body({"uid": "q1"}))
    assert found == []
    queue = objects[1]
    assert isinstance(queue, KaiQueueObject)
    assert (queue.name, queue.parent, queue.priority) == ("q1", "", 0)
    assert queue.guaranteed == {"cpu": None, "memory": None, "gpu": 0}
    assert queue.ceiling == {"cpu": None, "memory": None, "gpu": None}
    assert queue.weights == dict.fromkeys(("cpu", "memory", "gpu"), Decimal(1))
    assert queue.simulated is not None
    assert queue.simulated.requested == {
        "cpu": 100_000,
        "memory": 100_000,
        "nvidia.com/gpu": 100_000_000,
    }
    assert queue.usage_e9 is None


def test_a_queue_is_read_with_keys_in_any_case() -> None:
    share = {"Deserved": 10, "REQUEST": 2.5, "overquotaweight": 3, "MaxAllowed": 20}
    queue = {"UID": "q1", "Name": "vision", "Priority": 5, "ResourceShare": {"GPU": share}}
    objects, found = read({"TotalResource": {"gpu": 1}, "QUEUES": [queue]})
    assert found == []
    read_queue = objects[1]
    assert isinstance(read_queue, KaiQueueObject)
    assert (read_queue.name, read_queue.display_name, read_queue.priority) == ("q1", "vision", 5)
    assert read_queue.guaranteed["gpu"] == 10_000
    assert read_queue.simulated is not None
    assert read_queue.simulated.requested["nvidia.com/gpu"] == 2500
    assert read_queue.weights["gpu"] == Decimal(3)
    assert read_queue.ceiling["gpu"] == 20_000


def test_a_listed_cpu_is_guaranteed_nothing_by_default() -> None:
    objects, _ = read(body({"uid": "q", "resourceShare": {"cpu": {"request": 1}}}))
    assert isinstance(objects[1], KaiQueueObject)
    assert objects[1].guaranteed == {"cpu": 0, "memory": None, "gpu": 0}


def test_past_use_comes_with_the_simulators_k() -> None:
    used: dict[str, object] = {"uid": "q", "resourceShare": {"gpu": {"usage": 0.25}}}
    objects, found = read(body(used))
    assert found == []
    queue, shard = objects[1], objects[2]
    assert isinstance(queue, KaiQueueObject)
    assert queue.usage_e9 == {"cpu": 0, "memory": 0, "gpu": 250_000_000}
    assert isinstance(shard, KaiShardObject)
    assert shard.settings.k == 0
    objects, _ = read(body(used, kValue=1.5))
    assert isinstance(objects[2], KaiShardObject)
    assert objects[2].settings.k == Fraction(3, 2)


@pytest.mark.parametrize(
    ("queue", "path", "severity", "code"),
    [
        ({}, "$.queues[0].uid", "error", "missing-field"),
        ({"uid": "a", "parentQueue": "b"}, "$.queues[0].parentQueue", "warning", "no-effect"),
        ({"uid": "a", "weight": 1}, "$.queues[0].weight", "warning", "unknown-field"),
        (
            {"uid": "a", "resourceShare": {"gpu": {"deserved": -2}}},
            "$.queues[0].resourceShare.gpu.deserved",
            "error",
            "out-of-range",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(
    queue: dict[str, object], path: str, severity: str, code: str
) -> None:
    _, found = read(body(queue))
    assert len(found) == 1
    assert f"{severity}: {path}:" in found[0]
    assert f"[{code}]" in found[0]


def test_a_total_must_be_a_number() -> None:
    _, found = read({"totalResource": {"GPU": -1}, "queues": []})
    assert [("error: $.totalResource.gpu:" in each) for each in found] == [True]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"totalResource": {}, "queues": []}, True),
        ({"TOTALRESOURCE": {}, "Queues": []}, True),
        ({"totalResource": {}}, False),
        ({"apiVersion": "v1", "totalResource": {}, "queues": []}, False),
        ([], False),
        (None, False),
    ],
)
def test_the_body_is_known_by_its_keys(value: Value, expected: bool) -> None:
    assert is_share_simulation(value) is expected
