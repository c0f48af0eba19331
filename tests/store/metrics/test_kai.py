"""KAI's metrics: every number is what the state says, in the unit that KAI uses."""

from pathlib import Path

import pytest

from fairlead.errors import FairleadError
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import QueueName
from fairlead.model.events import UsageChanged
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.manifest.reading import load_or_raise
from tests.store.scraped import by_label, scraped
from tests.text_table import rows

RUNNING = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: now, namespace: team}
spec: {queue: a, minMember: 1, priorityClassName: train}
---
apiVersion: v1
kind: Pod
metadata: {name: now-0, namespace: team, annotations: {pod-group-name: now}}
spec:
  schedulerName: kai-scheduler
  nodeName: n1
  containers:
    - {name: main, resources: {requests: {nvidia.com/gpu: 2, cpu: 1500m, memory: 3G}}}
status: {phase: Running}
"""
NAMED = kai_queue("b", quota=4, weight=3).replace("spec:\n", "spec:\n  displayName: Team B\n")

# 10 GPUs. a is guaranteed 2 and b 4; the other 4 go 1:3 by weight, so 2 + 1 and 4 + 3.
CLUSTER = (NODE, kai_queue("a", quota=2), NAMED, RUNNING, pod_group("ja", "a", 9))


def cluster(folder: Path, *more: str) -> Assembled:
    file = write(folder, "c.yaml", *CLUSTER, pod_group("jb", "b", 9), *more)
    return load_or_raise([file])


def text_of(assembled: Assembled) -> str:
    return exposition(state_families(assembled.state, assembled.settings, None)).decode()


EXPECTED = """
    name                                 a       b
    kai_queue_info                       1       1
    kai_queue_deserved_gpus              2       4
    kai_queue_quota_cpu_cores            -1      -1
    kai_queue_quota_memory_bytes         -1      -1
    kai_queue_allocated_gpus             2       0
    kai_queue_allocated_cpu_cores        1.5     0
    kai_queue_allocated_memory_bytes     3e9     0
    kai_queue_fair_share_gpu             3       7
    kai_queue_fair_share_cpu_cores       1.5     0
    kai_queue_fair_share_memory_gb       3       0
    fairlead_queue_requested_gpus        11      9
    fairlead_queue_requested_cpu_cores   1.5     0
    fairlead_queue_requested_memory_bytes 3e9    0
"""


def test_every_number_is_the_states_in_kais_unit(tmp_path: Path) -> None:
    text = text_of(cluster(tmp_path))
    for row in rows(EXPECTED):
        found = by_label(text, row["name"], "queue_metadata_name")
        assert found == {"a": float(row["a"]), "b": float(row["b"])}, row["name"]


def test_the_capacity_is_what_the_nodes_have(tmp_path: Path) -> None:
    told = scraped(text_of(cluster(tmp_path)))
    assert told["fairlead_capacity_gpus"] == {(): 10}
    assert told["fairlead_capacity_cpu_cores"] == {(): 64}
    assert told["fairlead_capacity_memory_bytes"] == {(): 256 * 2**30}


def test_the_queue_controller_and_the_scheduler_name_queues_as_in_kai(tmp_path: Path) -> None:
    told = scraped(text_of(cluster(tmp_path)))
    (of_object,) = [dict(each) for each in told["kai_queue_info"] if "Team B" in str(each)]
    (for_people,) = [
        dict(each) for each in told["kai_queue_fair_share_gpu"] if "Team B" in str(each)
    ]
    same = {"queue_metadata_name": "b", "queue_display_name": "Team B"}
    assert of_object == {"queue_name": "b", **same}
    assert for_people == {"queue_name": "Team B", **same}
    assert by_label(text_of(cluster(tmp_path)), "kai_queue_fair_share_gpu", "queue_name") == {
        "a": 3,
        "Team B": 7,
    }


def test_without_history_nothing_is_told_of_it(tmp_path: Path) -> None:
    told = scraped(text_of(cluster(tmp_path)))
    assert [name for name in told if "usage" in name or "history" in name] == []


def test_history_is_told_with_what_it_changes(tmp_path: Path) -> None:
    assembled = cluster(tmp_path)
    # k is 1 and the weights 1/4 and 3/4. b used 0.75 of the GPUs, a nothing:
    # a 1/4 + (1/4 - 0) = 1/2, b 3/4 + (3/4 - 3/4) = 3/4; of the 4 GPUs 2:3, so 1.6 and 2.4,
    # and the whole one that rounding leaves goes to a, which lost 0.6 by it.
    gpu = assembled.state.axes.index("gpu")
    assert gpu is not None
    used = [0, 0, 0]
    used[gpu] = 750_000_000
    assembled.state.apply(UsageChanged({QueueName("b"): tuple(used)}))
    text = text_of(assembled)

    def told(name: str) -> dict[str, float]:
        return by_label(text, name, "queue_metadata_name")

    assert told("kai_queue_gpu_usage") == {"a": 0, "b": 0.75}
    assert told("kai_queue_cpu_usage") == {"a": 0, "b": 0}
    assert told("kai_queue_fair_share_gpu") == {"a": 4, "b": 6}
    assert told("fairlead_queue_fair_share_without_history_gpus") == {"a": 3, "b": 7}
    assert told("fairlead_queue_fair_share_without_history_memory_bytes") == {"a": 3e9, "b": 0}


def test_an_inner_queue_holds_what_its_children_hold(tmp_path: Path) -> None:
    queues = (kai_queue("top", quota=5), kai_queue("a", quota=2, parent="top"))
    text = text_of(load_or_raise([write(tmp_path, "c.yaml", NODE, *queues, RUNNING)]))
    allocated = by_label(text, "kai_queue_allocated_gpus", "queue_name")
    assert allocated == {"top": 2, "a": 2}


def test_without_nodes_and_capacity_there_is_nothing_to_divide(tmp_path: Path) -> None:
    assembled = load_or_raise([write(tmp_path, "c.yaml", *CLUSTER[1:3])])
    with pytest.raises(FairleadError, match="--capacity"):
        text_of(assembled)
    stated = state_families(assembled.state, assembled.settings, (1000, 10, 8000))
    told = scraped(exposition(stated).decode())
    assert told["fairlead_capacity_gpus"] == {(): 8}
