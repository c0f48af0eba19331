"""Files of KAI's simulator run as they are, and what is wrong with one is told."""

from itertools import pairwise

import pytest

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import read_bytes
from fairlead.sim.scenario.kai.simulator_file import (
    HEAD,
    KaiSimulation,
    is_kai_simulation,
    read_kai_simulation,
    run_kai_simulation,
)

TWO_QUEUES = """
Cycles: 1024
windowSize: 256
HALFLIFEPERIOD: 128
KValue: null
Nodes: [{GPUs: 16, Count: 1}]
Queues:
  - {Name: department, Parent: "", Priority: null}
  - {Name: one, Parent: department}
  - {name: two, parent: department, weight: 1.0}
Jobs:
  one: {GPUs: 16, NumPods: 1, NumJobs: 3}
  two: {GPUs: 16, NumPods: 1, NumJobs: 3}
"""


def read(text: str) -> tuple[KaiSimulation, list[str]]:
    findings = Findings()
    [document] = read_bytes(text.encode(), "sim.yaml", findings)
    return read_kai_simulation(document, findings), [str(each) for each in findings]


def table(text: str) -> list[list[str]]:
    asked, findings = read(text)
    assert findings == []
    lines: list[str] = []
    run_kai_simulation(asked, lines.append)
    assert lines[0] == HEAD
    return [line.split(",") for line in lines[1:]]


def test_two_queues_take_turns_as_in_the_published_picture() -> None:
    rows = table(TWO_QUEUES)
    assert len(rows) == 1024 * 3
    assert rows[:3] == [
        ["0", "department", "16.000000", "16.000000"],
        ["0", "one", "16.000000", "8.000000"],
        ["0", "two", "0.000000", "8.000000"],
    ]
    holders = [
        next((row[1] for row in rows[at + 1 : at + 3] if row[2] == "16.000000"), None)
        for at in range(0, len(rows), 3)
    ]
    changes = [
        cycle
        for cycle, (before, after) in enumerate(pairwise(holders), 1)
        if after is not None and after != before
    ]
    lengths = [later - earlier for earlier, later in pairwise(changes[1:])]
    assert lengths == [241] * len(lengths)  # 240, and a cycle from the claim to the start
    assert len(lengths) >= 2


def test_what_is_not_said_is_as_for_kai() -> None:
    asked, findings = read("Nodes: []\nQueues: [{Name: a}]")
    assert findings == []
    assert (asked.cycles, asked.window_s, asked.half_life_s) == (100, 5, None)
    assert asked.k == 1
    assert asked.queues[0].priority == 100
    assert asked.queues[0].weight == 1


def test_a_file_is_known_by_its_fields() -> None:
    [ours] = read_bytes(TWO_QUEUES.encode(), "sim.yaml", Findings())
    [other] = read_bytes(b"apiVersion: v1\nkind: Pod\njobs: 1\nqueues: 2", "pod.yaml", Findings())
    assert is_kai_simulation(ours)
    assert not is_kai_simulation(other)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Queues: [{Name: a}, {Name: a}]", 'found a second queue "a", expected a name each'),
        ("Queues: [{Name: a, Parent: b}]", 'found the parent "b", which does not exist'),
        (
            "Queues: [{Name: a, Parent: b}, {Name: b, Parent: a}]",
            'found the parent "b", which is below this queue',
        ),
        ("Queues: [{Name: a}]\nJobs: {b: {GPUs: 1}}", 'found jobs of "b", which is no queue'),
        ("Queues: [{Parent: a}]", "Name"),
        (
            "Queues: [{Name: a}]\nJobs: {a: {NumPods: 1000000, NumJobs: 1000000}}",
            "found 1,000,000,000,000 pods of all jobs, expected at most 1,000,000",
        ),
        (
            "Queues: []\nNodes: [{Count: 1000000}, {Count: 1}]",
            "found 1,000,001 nodes, expected at most 1,000,000",
        ),
        ("Cycles: -1\nQueues: []", "Cycles"),
        ("Cycles: 3\nQueues: []\nKValue: -1", "found -1; KAI counts it as 0"),
        ("Cycles: 3\nQueues: []\nCyles: 3", "unknown field"),
    ],
)
def test_what_is_wrong_is_reported(text: str, told: str) -> None:
    _, findings = read(text)
    assert any(told in finding for finding in findings), findings


def test_jobs_of_no_pod_and_nodes_of_no_gpu_do_no_harm() -> None:
    rows = table("""
        Cycles: 2
        Nodes: [{GPUs: 0, Count: 2}, {GPUs: 4, Count: 1}]
        Queues: [{Name: a}, {Name: b, DeservedGPUs: 1.5}]
        Jobs: {a: {GPUs: 1, NumPods: 0, NumJobs: 5}, b: {GPUs: 1, NumPods: 2, NumJobs: 1}}
    """)
    assert rows[-1] == ["1", "b", "2.000000", "2.000000"]
