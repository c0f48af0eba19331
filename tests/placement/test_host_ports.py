"""A host port is held by who runs, until it has left, and by who has a reservation."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    Placement,
    WorkloadAdded,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSet, PodSets, Workload, numbered_pod
from fairlead.placement.host_ports import Port, port_room
from tests.model.foreign import foreign_pod
from tests.model.worlds import node, state_with
from tests.text_table import rows

POD = numbered_pod("main", 0)


def ports(text: str) -> tuple[Port, ...]:
    """Read ``TCP:80,UDP:53``; ``-`` is none."""
    pairs = [each.split(":") for each in text.split(",") if each != "-"]
    return tuple((protocol, int(number)) for protocol, number in pairs)


def opening(name: str, text: str) -> Workload:
    pod_set = PodSet(
        name="main",
        count=1,
        min_count=1,
        requests=(0, 0),
        constraints=PodConstraints(host_ports=ports(text)),
    )
    return Workload(
        name=WorkloadName(name), queue=QueueName("q"), pod_sets=PodSets((pod_set,)), min_count=1
    )


def place(state: ClusterState, name: str, on: str, phase: str) -> None:
    workload, places = WorkloadName(name), (Placement(POD, on),)
    if phase == "reserved":
        state.apply(WorkloadReserved(workload=workload, placements=places, at_ms=0))
        return
    state.apply(WorkloadStarted(workload=workload, placements=places, at_ms=0))
    if phase == "leaving":
        state.apply(WorkloadLeaving(workload=workload, pods=(POD,)))
    if phase in ("displaced", "moved"):
        state.apply(WorkloadDisplaced(workload=workload, pods=(POD,)))
    if phase == "moved":
        elsewhere = (Placement(POD, "n3"),)
        state.apply(WorkloadReserved(workload=workload, placements=elsewhere, at_ms=0))
    if phase == "gone":
        state.apply(WorkloadStopped(workload=workload, pods=(POD,)))


# What each pod on two nodes opens, and whether its phase lets go of it.
PODS = """
    pod      node  phase      opens
    web      n1    running    TCP:80,TCP:443
    old      n1    leaving    TCP:22,UDP:53
    next     n1    reserved   UDP:53
    done     n1    gone       TCP:21
    away     n1    displaced  TCP:25
    mover    n1    moved      TCP:26
    plain    n1    running    -
    other    n2    running    TCP:8080
"""
ROOM = """
    node  asks             room
    n1    -                free
    n1    TCP:8080         free
    n1    TCP:80           taken
    n1    UDP:80           free
    n1    SCTP:80          free
    n1    TCP:22           later
    n1    TCP:21           free
    n1    UDP:53           taken
    n1    TCP:22,TCP:8080  later
    n1    TCP:22,TCP:443   taken
    n2    TCP:80           free
    n2    TCP:8080         taken
    n1    TCP:25           later
    n1    TCP:26           later
    n3    TCP:26           taken
    n3    TCP:25           free
    n3    TCP:80           free
"""


@pytest.mark.parametrize("row", rows(ROOM), ids=lambda row: " ".join(row.values()))
def test_who_is_on_the_node_holds_the_port(row: dict[str, str]) -> None:
    state = state_with(node("n1"), node("n2"), node("n3"))
    for each in rows(PODS):
        state.apply(WorkloadAdded(opening(each["pod"], each["opens"])))
        place(state, each["pod"], each["node"], each["phase"])
    assert port_room(state, row["node"], ports(row["asks"])) == row["room"]


def test_pods_of_one_set_keep_each_other_off_a_node() -> None:
    alike = opening("w", "TCP:80")
    state = state_with(node("n1"), alike)
    assert port_room(state, "n1", alike.pod_sets[0].constraints.host_ports) == "free"
    place(state, "w", "n1", "running")
    assert port_room(state, "n1", alike.pod_sets[0].constraints.host_ports) == "taken"


def test_what_a_trial_opened_is_free_after_it() -> None:
    state = state_with(node("n1"), opening("w", "TCP:80"))
    with state.trial():
        place(state, "w", "n1", "running")
        assert port_room(state, "n1", (("TCP", 80),)) == "taken"
    assert port_room(state, "n1", (("TCP", 80),)) == "free"


@pytest.mark.parametrize(
    ("asks", "room"),
    [("TCP:80", "taken"), ("TCP:22", "later"), ("TCP:22,TCP:80", "taken"), ("UDP:80", "free")],
)
def test_pods_of_other_schedulers_hold_their_ports(asks: str, room: str) -> None:
    state = state_with(node("n1"), node("n2"))
    assert port_room(state, "n1", ports(asks)) == "free"
    for name, opened, is_leaving in (("old", "TCP:22", True), ("web", "TCP:80", False)):
        pod = foreign_pod(name, "n1", (0, 0), leaving=is_leaving, asked_about=True)
        state.apply(ForeignPodChanged(replace(pod, host_ports=ports(opened))))
    assert port_room(state, "n1", ports(asks)) == room
    assert port_room(state, "n2", ports(asks)) == "free"
