"""Small scenarios of any kind, as the documents of their files, and runs that are watched."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from hypothesis import strategies as st

from fairlead.sim.engine.events import SimulationEvent
from fairlead.sim.scenario.read.read_scenario import SimulationFile, read_scenario
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.variant.prepare import Prepared, prepare

Document: TypeAlias = dict[str, Any]
POLICIES = ("kai", "kueue", "elastic-quota")
START_MS = 1_767_571_200_000  # 2026-01-05T00:00:00Z, where scenarios begin
MOST_SECONDS = 200

_seconds = st.integers(0, 40)


def _few(amount: str) -> st.SearchStrategy[str]:
    """A short while, or none at all more often than not."""
    return st.sampled_from(["0s", "0s", amount])


@st.composite
def _jobs(draw: st.DrawFn, queues: list[str]) -> Document:
    pods = draw(st.integers(1, 3))
    job: Document = {
        "at": f"{draw(_seconds)}s",
        "queue": draw(st.sampled_from(queues)),
        "requests": {"gpu": draw(st.integers(1, 3))},
        "run": f"{draw(st.integers(1, 40))}s",
        "pods": pods,
        "minPods": draw(st.integers(1, pods)),
        "priority": draw(st.integers(0, 2)),
    }
    if draw(st.integers(0, 4)) == 0:
        job["preemptible"] = False
    checkpoint = draw(st.sampled_from([None, None, "0s", "7s"]))
    return job if checkpoint is None else {**job, "checkpoint": checkpoint}


@st.composite
def documents(draw: st.DrawFn, *, plain_pods: bool = False, steady: bool = False) -> Document:
    """A few nodes, two departments and a team of none, and up to nine jobs.

    With *plain_pods* pods need no time to start or to stop; *steady* clusters lose no node.
    """
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    nodes = [{"name": f"n{at}", "capacity": {"gpu": size}} for at, size in enumerate(sizes)]
    leaves = ["a1", "a2", "b1"]
    owned = st.integers(0, max(1, sum(sizes) // 3))
    queues: list[Document] = [{"name": "a", "weight": draw(st.integers(1, 3))}]
    queues += [
        {"name": name, "guaranteed": {"gpu": draw(owned)}, "weight": draw(st.integers(1, 3))}
        for name in leaves
    ]
    for queue in queues[1:3]:
        queue["parent"] = "a"
    changes = [] if steady else draw(_losses(len(sizes)))
    spec: Document = {
        "duration": f"{MOST_SECONDS}s",
        "cluster": {"nodes": nodes, "changes": changes},
        "queues": queues,
        "cycle": {"atMostEvery": draw(st.sampled_from(["1s", "1s", "5s"])), "lookAgain": "20s"},
        "work": [{"name": "j", "jobs": draw(st.lists(_jobs(leaves), min_size=1, max_size=9))}],
    }
    if not plain_pods:
        parts = {"grace": _few("3s"), "startUp": _few("2s"), "restart": _few("4s")}
        spec["pods"] = {name: draw(part) for name, part in parts.items()}
    if draw(st.booleans()):
        spec["usage"] = {"k": 2, "window": "60s", "halfLife": "20s", "fetchInterval": "2s"}
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Scenario",
        "metadata": {"name": "random"},
        "spec": spec,
    }


@st.composite
def _losses(draw: st.DrawFn, nodes: int) -> list[Document]:
    """What is lost for a while: some of the nodes, none of them twice."""
    lost = draw(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2))
    return [
        {"at": f"{draw(_seconds)}s", "lose": [f"n{node}"], "for": f"{draw(st.integers(1, 30))}s"}
        for node in lost
    ]


def result_of(document: Document, policy: str) -> SimulationFile:
    """Read a document, through a file as any other scenario, to be run under one rule set."""
    spec = {**document["spec"], "policies": [policy]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.yaml"
        file.write_bytes(msgspec.json.encode({**document, "spec": spec}))
        return read_scenario(str(file))


def read(document: Document, policy: str) -> Scenario:
    """Read a document in which nothing is wrong."""
    result = result_of(document, policy)
    assert result.scenario is not None, "\n".join(map(str, result.findings))
    return result.scenario


def run(
    document: Document,
    policy: str,
    watch: Callable[[Prepared, SimulationEvent], None] | None = None,
) -> list[SimulationEvent]:
    """Run a scenario under one rule set; *watch* is shown everything as it happens."""
    scenario = read(document, policy)
    prepared = prepare(scenario, scenario.by_name[policy])
    seen: list[SimulationEvent] = []

    def listen(event: SimulationEvent) -> None:
        seen.append(event)
        if watch is not None:
            watch(prepared, event)

    prepared.simulation(listen).run()
    return seen
