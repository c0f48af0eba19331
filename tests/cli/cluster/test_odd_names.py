r"""Names with line breaks and escape codes: shown as ``\n`` and ``\u001b``, never obeyed.

Kubernetes refuses such names and validate warns, but a file can hold them.
"""

from pathlib import Path

import pytest

from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.run_cli import of_shard, run_cli

QUEUE, SHOWN_QUEUE = r'"a\u001b[31m\u202e"', r"a\u001b[31m\u202e"
SHOWN_JOB = r"j\nk"

POD = rf"""
apiVersion: v1
kind: Pod
metadata:
  name: "j\nk"
  namespace: team
  labels: {{kai.scheduler/queue: {QUEUE}}}
spec:
  schedulerName: kai-scheduler
  containers: [{{name: main, resources: {{requests: {{nvidia.com/gpu: 3}}}}}}]
"""


@pytest.fixture
def world(tmp_path: Path) -> str:
    node = NODE.replace("name: n1", r'name: "n\u0085"')
    return write(tmp_path, "c.yaml", node, kai_queue(QUEUE, quota=4), POD)


def test_a_table_keeps_its_rows(world: str) -> None:
    ran = run_cli("plan", "-f", world)
    why = f"within the quota of {SHOWN_QUEUE}: gpu: allocated 0 + request 3 <= quota 4"
    head, row, blank, _ = ran.answer.splitlines()
    assert (head.split()[0], blank) == ("DECISION", "")
    assert row.split(maxsplit=5) == [
        "start",
        f"team/pod/{SHOWN_JOB}",
        SHOWN_QUEUE,
        "1/1",
        r"n\u0085",
        why,
    ]


def test_queues_show_them(world: str) -> None:
    ran = run_cli("queues", "-f", world)
    assert f"{SHOWN_QUEUE} gpu 1 4 - 0 3 3 0".split() in [
        each.split() for each in ran.out.split("\n")
    ]


def test_an_explanation_shows_them(world: str) -> None:
    ran = run_cli("explain", "team/j\nk", "-f", world)
    assert ran.answer.startswith(f"team/pod/{SHOWN_JOB} starts its pod.\n")
    assert all(line.isprintable() for line in ran.out.split("\n"))


def test_an_error_shows_them(world: str) -> None:
    ran = run_cli("explain", "team/j\nkk", "-f", world)
    assert ran.err.splitlines()[-1].endswith(rf'did you mean "team/pod/{SHOWN_JOB}"?')


def test_documents_hold_them_as_they_are(world: str) -> None:
    document = of_shard(run_cli("plan", "-f", world, "-o", "json").out)
    (decision,) = document["cycles"][0]["decisions"]
    assert (decision["workload"], decision["queue"]) == ("team/pod/j\nk", "a\x1b[31m\u202e")
