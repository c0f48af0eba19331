"""What pods of other schedulers take of their nodes, and what comes back when they go."""

import pytest

from fairlead.errors import StateError
from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    ForeignPodRemoved,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
)
from fairlead.model.node import ForeignPod
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from tests.model.foreign import foreign_pod
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.worlds import node, state_with
from tests.text_table import rows

# Nodes have 8 cores and 8 GPUs each; n1 and n2 are known, n9 is not. One step a row: a pod is
# there now with so many cores and GPUs, or is gone (on "-"). Then, of cores and GPUs:
# what foreign pods hold on n1, what of that they release, and the capacity of the cluster.
HISTORIES = {
    "two pods on a node are added up": """
        pod  on  asks   leaving  held   released  capacity
        a    n1  2,1    no       2,1    0,0       14,15
        b    n1  1,4    no       3,5    0,0       13,11
    """,
    "who is deleted holds its place until it is gone": """
        pod  on  asks   leaving  held   released  capacity
        a    n1  2,1    no       2,1    0,0       14,15
        b    n1  1,4    no       3,5    0,0       13,11
        a    n1  2,1    yes      3,5    2,1       13,11
        a    -   -      -        1,4    0,0       15,12
    """,
    "a pod that is told again counts once": """
        pod  on  asks   leaving  held   released  capacity
        a    n1  2,1    no       2,1    0,0       14,15
        a    n1  2,1    no       2,1    0,0       14,15
        a    n1  3,1    no       3,1    0,0       13,15
    """,
    "a pod elsewhere is off its old node": """
        pod  on  asks   leaving  held   released  capacity
        a    n1  2,1    yes      2,1    2,1       14,15
        a    n2  2,1    yes      0,0    0,0       14,15
    """,
    "on a node that is not known it takes nothing of the cluster": """
        pod  on  asks   leaving  held   released  capacity
        a    n9  2,1    no       0,0    0,0       16,16
        a    n1  2,1    no       2,1    0,0       14,15
        a    n9  2,1    no       0,0    0,0       16,16
        a    -   -      -        0,0    0,0       16,16
    """,
    "they may hold more than there is": """
        pod  on  asks   leaving  held   released  capacity
        a    n1  9,0    no       9,0    0,0       7,16
        b    n1  9,0    yes      18,0   9,0       -2,16
        a    -   -      -        9,0    9,0       7,16
    """,
}


def step(row: dict[str, str]) -> Event:
    if row["on"] == "-":
        return ForeignPodRemoved(PodId(row["pod"]))
    asks = tuple(int(each) * 1000 for each in row["asks"].split(","))
    is_leaving = row["leaving"] == "yes"
    return ForeignPodChanged(foreign_pod(row["pod"], row["on"], asks, leaving=is_leaving))


def shown(amounts: tuple[int, ...] | list[int]) -> str:
    return ",".join(str(amount // 1000) for amount in amounts)


@pytest.mark.parametrize("table", HISTORIES.values(), ids=HISTORIES.keys())
def test_what_is_held_released_and_left_after_each_step(table: str) -> None:
    state = state_with(node("n1"), node("n2"))
    for row in rows(table):
        state.apply(step(row))
        check_invariants(state)
        occupied = state.books.occupied("n1")
        assert shown(occupied.held) == row["held"]
        assert shown(occupied.leaving) == row["released"]
        assert shown(state.capacity) == row["capacity"]


@pytest.mark.parametrize("table", HISTORIES.values(), ids=HISTORIES.keys())
def test_a_trial_undoes_it_at_every_step(table: str) -> None:
    """Each step is made on trial first, with all that follow it."""
    state = state_with(node("n1"), node("n2"))
    steps = list(map(step, rows(table)))
    for at, event in enumerate(steps):
        before = facts(state)
        with state.trial():
            for each in steps[at:]:
                state.apply(each)
        assert facts(state) == before
        state.apply(event)


def test_a_pod_may_be_known_before_its_node_and_outlive_it() -> None:
    """It takes 2, then 3, of 8 GPUs whenever the node is there and ready."""
    state = state_with()
    ready, broken = node("n1"), node("n1", ready=False)
    steps: list[tuple[Event, int]] = [
        (ForeignPodChanged(foreign_pod("a", "n1", (0, 2000))), 0),
        (NodeAdded(ready), 8000 - 2000),
        (NodeChanged(broken), 0),
        (ForeignPodChanged(foreign_pod("a", "n1", (0, 3000))), 0),
        (NodeChanged(ready), 8000 - 3000),
        (NodeRemoved("n1"), 0),
        (NodeAdded(ready), 8000 - 3000),
        (ForeignPodRemoved(PodId("a")), 8000),
    ]
    for event, gpus in steps:
        state.apply(event)
        check_invariants(state)
        assert state.capacity[1] == gpus


def test_of_pods_that_are_asked_about_each_node_has_its_own() -> None:
    state = state_with(node("n1"), node("n2"))
    state.apply(ForeignPodChanged(asked("a", "n1")))
    state.apply(ForeignPodChanged(asked("b", "n1")))
    state.apply(ForeignPodChanged(foreign_pod("plain", "n1", (0, 0))))
    assert names(state, "n1") == ["a", "b"]
    assert state.books.asked_about("n1") is state.books.asked_about("n1")
    state.apply(ForeignPodChanged(asked("a", "n2")))
    assert (names(state, "n1"), names(state, "n2")) == (["b"], ["a"])
    state.apply(ForeignPodChanged(foreign_pod("b", "n1", (0, 0))))  # of no interest any more
    state.apply(ForeignPodRemoved(PodId("a")))
    assert state.books.nodes_asked_about() == []
    check_invariants(state)


def test_a_fact_that_is_known_already_wakes_nobody() -> None:
    state = state_with(node("n1"))
    state.apply(ForeignPodChanged(foreign_pod("a", "n1", (1000, 0))))
    moment, occupied = state.books.changes.moment, state.books.occupied("n1")
    state.apply(ForeignPodChanged(foreign_pod("a", "n1", (1000, 0))))
    assert state.books.changes.moment == moment
    assert state.books.occupied("n1") is occupied


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (ForeignPodRemoved(PodId("b")), "foreign pod b is not known"),
        (
            ForeignPodChanged(foreign_pod("a", "n1", (1,))),
            "foreign pod a needs one request per resource, 2",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(event: Event, message: str) -> None:
    state = state_with(node("n1"))
    state.apply(ForeignPodChanged(foreign_pod("a", "n1", (1000, 0))))
    before = facts(state)
    with pytest.raises(StateError, match=f"^{message}$"):
        state.apply(event)
    assert facts(state) == before


def asked(name: str, on: str) -> ForeignPod:
    return foreign_pod(name, on, (0, 0), asked_about=True)


def names(state: ClusterState, on: str) -> list[str]:
    return [pod.name for pod in state.books.asked_about(on)]
