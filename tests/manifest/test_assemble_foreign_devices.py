"""A device of which a pod that is not ours has a part, or which is kept for one, is taken."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.manifest.kai.notation import GPU
from fairlead.model.state import ClusterState
from fairlead.placement.node_room import GpuResources, NodeRoom, node_room
from tests.manifest.kai_world import NODE, assemble, queue, stream
from tests.text_table import rows

HOLDER_NAMESPACES = {"keeps": "kai-resource-reservation", "kept": "runai-reservation"}


def holder(who: str, name: str, share: str, groups: Sequence[str]) -> str:
    """Write a pod on n1: ours, one of another scheduler, or one that keeps a device."""
    scheduler = "kai-scheduler" if who == "ours" else "another"
    namespace = HOLDER_NAMESPACES.get(who, "ns")
    part, _, devices = share.partition("x")
    is_whole = part.isdigit() and int(part) < 100
    labels = [f"runai-gpu-group/{group}: {group}" for group in groups]
    if who == "ours":
        labels.append("kai.scheduler/queue: a")
    annotations = ""
    if part != "-" and not is_whole:
        key = "gpu-fraction" if "." in part else "gpu-memory"
        annotations = f'{key}: "{part}", gpu-fraction-num-devices: "{devices or 1}"'
    requests = f"{{cpu: 1, {GPU}: {part}}}" if is_whole else "{cpu: 1}"
    return (
        f"{{kind: Pod, metadata: {{name: {name}, namespace: {namespace}, "
        f"labels: {{{', '.join(labels)}}}, annotations: {{{annotations}}}}}, "
        f"spec: {{schedulerName: {scheduler}, nodeName: n1, "
        f"containers: [{{name: c, resources: {{requests: {requests}}}}}]}}}}"
    )


def room_of(state: ClusterState) -> NodeRoom:
    gpu = state.resources.index(GPU)
    node, books = state.nodes["n1"], state.books
    offered, released = books.offered(node), books.occupied("n1").leaving
    return node_room(node, offered, released, books.use("n1"), GpuResources((gpu,), gpu))


def assembled_with(pods: Sequence[str]) -> tuple[ClusterState, list[Finding]]:
    assembled, found = assemble(stream(queue("a"), NODE, *pods))
    assert assembled is not None
    return assembled.state, found


# Of 4 devices of 40,000 MiB each: how many are occupied, and how many are left whole.
STORIES = {
    "a part of another scheduler makes a device taken": """
        who    name  share   ids
        other  o1    0.5     g1
        ---
        occupied 1 whole 3
    """,
    "parts of one device are one device, of two ids two": """
        who    name  share   ids
        other  o1    0.5     g1
        other  o2    0.25    g1
        other  o3    0.25    g2
        ---
        occupied 2 whole 2
    """,
    "without ids they are packed: 0.5 + 0.25 on one, 0.5 on the next": """
        who    name  share   ids
        other  o1    0.5     -
        other  o2    0.25    -
        other  o3    0.5     -
        ---
        occupied 2 whole 2
    """,
    "a part of each of several devices takes them all": """
        who    name  share   ids
        other  o1    0.1x3   -
        ---
        occupied 3 whole 1
    """,
    "memory is a part of the node's own devices: 30,000 + 10,000 of 40,000": """
        who    name  share   ids
        other  o1    30000   -
        other  o2    10000   -
        other  o3    1000    -
        ---
        occupied 2 whole 2
    """,
    "whole devices count as they are asked for": """
        who    name  share   ids
        other  o1    2       -
        other  o2    0.5     -
        ---
        occupied 3 whole 1
    """,
    "a device that is kept for nobody of the input is taken": """
        who    name  share   ids
        keeps  k1    1       g1
        kept   k2    1       g2
        keeps  k3    1       -
        ---
        occupied 3 whole 1
    """,
    "two that keep the same device keep one": """
        who    name  share   ids
        keeps  k1    1       g1
        keeps  k2    1       g1
        ---
        occupied 1 whole 3
    """,
    "one that is kept for a stranger of the input is taken once": """
        who    name  share   ids
        keeps  k1    1       g1
        other  o1    0.5     g1
        ---
        occupied 1 whole 3
    """,
    "one that is kept for ours is charged to ours: 4 - 1 shared are left": """
        who    name  share   ids
        keeps  k1    1       g1
        ours   p1    0.5     g1
        ---
        occupied 0 whole 3
    """,
    "one without an id is kept for those without an id": """
        who    name  share   ids
        keeps  k1    1       -
        ours   p1    0.5     -
        ---
        occupied 0 whole 3
    """,
    "ours and others on devices of their own: 4 - 1 - 1": """
        who    name  share   ids
        ours   p1    0.5     g1
        other  o1    0.5     g2
        ---
        occupied 1 whole 2
    """,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_a_device_of_which_a_stranger_has_a_part_is_not_whole(story: str) -> None:
    table, _, expected = story.partition("---")
    pods = [
        holder(row["who"], row["name"], row["share"], [] if row["ids"] == "-" else [row["ids"]])
        for row in rows(table)
    ]
    state, found = assembled_with(pods)
    assert found == []
    gpu = state.resources.index(GPU)
    occupied, whole = state.books.occupied("n1").held[gpu], room_of(state).idle[gpu]
    assert f"occupied {occupied // 1000} whole {whole // 1000}" == expected.strip()


def test_a_stranger_on_a_device_of_ours_leaves_no_room_twice_now_or_later() -> None:
    """Of 4: ours holds 0.3 + 0.5 of one now; if ours leaves, the stranger still has a device."""
    state, (finding,) = assembled_with(
        [holder("ours", "p1", "0.3", ["g1"]), holder("other", "o1", "0.5", ["g1"])]
    )
    gpu = state.resources.index(GPU)
    room = room_of(state)
    assert [each.idle_e9 for each in room.devices] == [200_000_000]  # 1 - 0.3 - 0.5
    assert state.books.occupied("n1").held[gpu] == 1000
    assert room.idle[gpu] == 2000  # one less than there are, so that none is given out twice
    assert (finding.severity, finding.code) == ("warning", "overcommitted")
    assert finding.message == (
        'found a device of the node "n1" that pods of KAI\'s jobs share too; its part is held '
        "there, and one more device, so that none is given out twice"
    )


def test_a_stranger_that_waits_or_has_finished_holds_no_device() -> None:
    waits = holder("other", "o1", "0.5", ["g1"]).replace("nodeName: n1, ", "")
    done = holder("other", "o2", "0.5", ["g2"]).replace("{kind", "{status: {phase: Failed}, kind")
    state, _ = assembled_with([waits, done])
    assert state.books.occupied("n1").held[state.resources.index(GPU)] == 0


# Of 4 devices: how many are whole now, and once those have left that are being deleted (a "-").
LEAVING = {
    "a device is released with the only pod that has a part of it": """
        who     name  share   ids
        other-  o1    0.5     g1
        other   o2    0.5     g2
        ---
        now 2 later 3
    """,
    "it is held by one that stays, whatever its name": """
        who     name  share   ids
        other-  o1    0.5     g1
        other   o2    0.25    g1
        other-  o3    0.25    g1
        ---
        now 3 later 3
    """,
    "several parts go with the devices of their own": """
        who     name  share   ids
        other-  o1    0.1x3   -
        other   o2    0.1     -
        ---
        now 1 later 3
    """,
    "of two that keep the same device one stays": """
        who     name  share   ids
        keeps-  k1    1       g1
        keeps   k2    1       g1
        ---
        now 3 later 3
    """,
    "a device that is kept goes with who shares it": """
        who     name  share   ids
        keeps   k1    1       g1
        other-  o1    0.5     g1
        ---
        now 3 later 4
    """,
}


@pytest.mark.parametrize("story", LEAVING.values(), ids=LEAVING.keys())
def test_a_device_is_released_when_no_pod_that_stays_has_a_part(story: str) -> None:
    table, _, expected = story.partition("---")
    pods = [
        written(row["who"], row["name"], row["share"], [] if row["ids"] == "-" else [row["ids"]])
        for row in rows(table)
    ]
    state, found = assembled_with(pods)
    assert found == []
    room, gpu = room_of(state), state.resources.index(GPU)
    assert f"now {room.idle[gpu] // 1000} later {room.later[gpu] // 1000}" == expected.strip()


def written(who: str, name: str, share: str, groups: Sequence[str]) -> str:
    """Write a pod as `holder` does; after *who* a ``-`` means that it is being deleted."""
    text = holder(who.removesuffix("-"), name, share, groups)
    deleted = '{deletionTimestamp: "2026-01-01T00:00:00Z", name: '
    return text.replace("{name: ", deleted, 1) if who.endswith("-") else text


WHO = st.sampled_from(["ours", "other", "other-", "keeps", "keeps-"])
HOLDERS = st.lists(
    st.tuples(WHO, st.sampled_from(["0.1", "0.2", "0.3"]), st.sampled_from(["g1", "g2", "g3"])),
    max_size=8,
)


@given(HOLDERS, st.randoms(use_true_random=False))
def test_no_device_is_ever_there_twice(holders: list[tuple[str, str, str]], random: Random) -> None:
    """What is left whole, and what is left of shared devices, is no more than nobody holds."""
    pods = [
        written(who, f"p{at}", "1" if who.startswith("keeps") else share, [group])
        for at, (who, share, group) in enumerate(holders)
    ]
    state, _ = assembled_with(pods)
    room = room_of(state)
    gpu = state.resources.index(GPU)
    in_use = {group for _, _, group in holders}
    assert room.idle[gpu] // 1000 <= 4 - len(in_use)
    parts = [each for each in holders if not each[0].startswith("keeps")]
    staying = {group for who, _, group in parts if not who.endswith("-")}
    assert room.later[gpu] // 1000 <= 4 - len(staying)
    shared = sorted({group for who, _, group in holders if who == "ours"})
    for group, device in zip(shared, room.devices, strict=True):
        held = sum(int(share[2:]) for _, share, g in parts if g == group)
        assert device.idle_e9 <= max(0, 10 - held) * 10**8
    strangers_on_ours = {g for who, _, g in parts if who != "ours"} & set(shared)
    if not strangers_on_ours:  # then none is held back needlessly either
        assert room.idle[gpu] // 1000 == 4 - len(in_use)
    random.shuffle(pods)
    again, _ = assembled_with(pods)
    assert room_of(again) == room
