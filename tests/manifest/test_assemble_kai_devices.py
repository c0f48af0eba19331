"""Pods that run and share devices are on the devices that KAI's labels name, or are packed."""

from collections.abc import Sequence
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.objects import PodObject, full_name
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.devices.assigned_shares import device_shares
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodId
from tests.manifest.kai_world import (
    NODE,
    ONE_CORE,
    assemble,
    documents,
    pod,
    queue,
    sound,
    stream,
    told,
)


def sharer(row: str) -> str:
    """Write a pod on a node from a row: name, share of each device x devices, ids of devices."""
    name, text, *groups = row.split()
    share, _, devices = text.partition("x")
    key = "gpu-fraction" if "." in share else "gpu-memory"
    labels = [f"runai-gpu-group: {group}" for group in groups[:1]]
    if devices:
        labels = [f"runai-gpu-group/{group}: {group}" for group in groups]
    return pod(
        name,
        f"nodeName: n1, {ONE_CORE}",
        f"labels: {{{', '.join(['kai.scheduler/queue: a', *labels])}}}, "
        f'annotations: {{{key}: "{share}", gpu-fraction-num-devices: "{devices or 1}"}}',
    )


def placed_share(state: ClusterState, name: str) -> DeviceShare | None:
    return state.runs[WorkloadName(f"ns/pod/{name}")].pods[PodId(f"ns/{name}")].share


# Each: a pod, its part of each device (of 40,000 MiB) and ids; then the numbers of its devices.
STORIES = {
    "who has the same id shares a device, and ids are numbered in their order": """
        a  0.5     g2     -> 1
        b  0.5     g1     -> 0
        c  0.25    g2     -> 1
    """,
    "a pod on several devices has a label for each": """
        a  0.25x2  g1 g3  -> 0 2
        b  0.5     g2     -> 1
        c  0.75x2  g3 g1  -> 0 2
    """,
    "without labels they are packed, by name": """
        a  0.5            -> 0
        b  0.25           -> 0
        c  0.5            -> 1     only 0.25 is left of 0
        d  0.25           -> 0     the fuller of the two
        e  0.5            -> 1
        f  0.25           -> 2
    """,
    "those with labels go first": """
        a  0.5            -> 0
        b  0.5     g1     -> 0
        c  0.75           -> 1
    """,
    "too few labels are completed on other devices": """
        a  0.5x2   g1     -> 0 1
        b  0.5     g2     -> 1
        c  0.5x2          -> 0 2
    """,
    "memory is a part of the node's own devices": """
        a  10000   g1     -> 0     a quarter
        b  30000          -> 0
        c  1              -> 1
    """,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_pods_are_on_the_devices_that_their_labels_name_or_are_packed(story: str) -> None:
    rows = [row.partition("->") for row in story.strip().splitlines()]
    state = sound(stream(queue("a"), NODE, *(sharer(row) for row, _, _ in rows)))
    for row, _, expected in rows:
        share = placed_share(state, row.split()[0])
        assert share is not None
        numbers = [word for word in expected.split() if word.isdigit()][: len(share.devices)]
        assert [str(number) for number in share.devices] == numbers, row


@pytest.mark.parametrize(
    ("text", "part_e9"),
    [
        ("0.25", 250_000_000),
        ("10000", 250_000_000),  # of 40,000
        ("12345", 308_625_000),  # not rounded to hundredths, as its charge is
        ("13333", 333_325_000),
    ],
)
def test_the_part_is_exact_in_billionths(text: str, part_e9: int) -> None:
    state = sound(stream(queue("a"), NODE, sharer(f"x {text}")))
    assert placed_share(state, "x") == DeviceShare(devices=(0,), part_e9=part_e9)
    assert state.books.use("n1").devices == {0: [part_e9, 0, 0]}
    assert state.books.held("n1")[2] == 0  # its device counts instead


def test_a_leaving_pod_holds_its_device_and_one_that_waits_has_none() -> None:
    told_to_leave = 'name: x, deletionTimestamp: "2026-01-01T00:00:00Z",'
    leaving = sharer("x 0.5 g1").replace("name: x,", told_to_leave)
    waiting = sharer("w 0.5 g1").replace("nodeName: n1, ", "")
    state = sound(stream(queue("a"), NODE, leaving, waiting))
    assert state.books.use("n1").devices == {0: [500_000_000, 500_000_000, 0]}
    assert WorkloadName("ns/pod/w") not in state.runs


def test_where_nobody_knows_the_memory_a_part_is_as_it_is_charged() -> None:
    unknown = NODE.replace("n1", "n2").replace("40000", "many")
    text = stream(queue("a"), NODE, unknown, sharer("x 10000").replace("n1", "n2"))
    assembled, found = assemble(text)
    assert assembled is not None
    assert [each.code for each in found] == ["bad-quantity"]  # of the label, nothing else
    share = placed_share(assembled.state, "x")
    assert share == DeviceShare(devices=(0,), part_e9=250_000_000)  # of the smallest, 40,000
    elsewhere = sound(stream(queue("a"), NODE, sharer("x 10000").replace("n1", "lost")))
    assert placed_share(elsewhere, "x") == share


# More than there is

TWO_DEVICES = NODE.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 2")
# Each: pods, and what is told at which line: 4 is that of the node, then 6, 8 and 10 the pods'.
OVERFULL = {
    "a 0.5 g1 | b 0.5 g1": "",
    "a 0.5 g1 | b 0.75 g1 | c 0.25 g1": "8 $.metadata.labels.runai-gpu-group: found 1.5 of one",
    "a 0.5x2 g1 g2 | b 0.6x2 g1 g2": """
        8 $.metadata.labels["runai-gpu-group/g1"]: found 1.1 of one device
        8 $.metadata.labels["runai-gpu-group/g2"]: found 1.1 of one device
    """,
    "a 0.4 g1 | b 60000": "8 $.metadata.annotations.gpu-memory: found 1.5 of one device",
    "a 0.5 g1 | b 0.5 g2 | c 0.5 g3": '4 $.status.allocatable["nvidia.com/gpu"]: found pods that',
    "a 0.75 | b 0.75 | c 0.75": '4 $.status.allocatable["nvidia.com/gpu"]: found pods that',
}


@pytest.mark.parametrize(("pods", "expected"), OVERFULL.items())
def test_more_than_there_is_is_told_and_nothing_refused(pods: str, expected: str) -> None:
    rows = pods.split(" | ")
    assembled, found = assemble(stream(queue("a"), TWO_DEVICES, *map(sharer, rows)))
    assert assembled is not None
    assert len(assembled.state.runs) == len(rows)
    remarks = [f"{each.line} {each.path}: {each.message}" for each in found]
    lines = [line.strip() for line in expected.splitlines() if line.strip()]
    assert [text[: len(line)] for text, line in zip(remarks, lines, strict=True)] == lines
    assert {(each.severity, each.code) for each in found} <= {("warning", "overcommitted")}


def test_a_device_that_holds_too_much_is_told_in_full() -> None:
    (finding,) = told(stream(queue("a"), NODE, sharer("a 0.5 g1"), sharer("b 0.75 g1")))
    assert finding.message == (
        'found 1.25 of one device of the node "n1" held with this pod, expected at most 1; '
        "the device counts as full"
    )


def test_more_ids_than_devices_are_told_and_the_first_count() -> None:
    text = stream(queue("a"), NODE, sharer("x 0.5x2 g3 g1 g2"))
    assembled, (finding,) = assemble(text)
    assert assembled is not None
    assert placed_share(assembled.state, "x") == DeviceShare(devices=(0, 1), part_e9=500_000_000)
    assert (finding.severity, finding.code) == ("warning", "contradiction")
    assert finding.message == (
        "found 3 devices in the labels runai-gpu-group, expected 2, which it asks for; "
        "the first by id count"
    )


# Laws


class Holder(msgspec.Struct, frozen=True):
    """A pod as the laws draw it."""

    name: str
    hundredths: int
    devices: int
    groups: tuple[str, ...]


GROUPS = st.lists(st.sampled_from(["g1", "g2", "g3", "g4"]), max_size=3, unique=True)
HOLDERS = st.lists(
    st.builds(
        Holder,
        st.integers(0, 99).map("p{}".format),
        st.integers(1, 99),
        st.integers(1, 3),
        GROUPS.map(lambda found: tuple(sorted(found))),
    ),
    max_size=12,
    unique_by=lambda each: each.name,
)


def as_pod(holder: Holder) -> PodObject:
    (document,) = documents(pod(holder.name, f"nodeName: n1, {ONE_CORE}"))
    found = read_pod(Cursor.of(document, Findings()))
    assert found is not None
    return msgspec.structs.replace(
        found,
        labels={f"runai-gpu-group/{group}": group for group in holder.groups},
        gpu_share=GpuShare(devices=holder.devices, thousandths=10 * holder.hundredths),
        requests={"nvidia.com/gpu": 10 * holder.hundredths * holder.devices},
    )


def plainly(holders: Sequence[Holder]) -> dict[str, tuple[int, ...]]:
    """Look at every device for every pod, and take the fullest, then the first."""
    by_name = sorted(holders, key=lambda each: each.name)
    known = {each.name: each.groups[: each.devices] for each in by_name}
    ids = sorted({group for groups in known.values() for group in groups})
    held = [sum(p.hundredths for p in by_name if group in known[p.name]) for group in ids]
    chosen: dict[str, tuple[int, ...]] = {}
    for each in by_name:
        own = [ids.index(group) for group in known[each.name]]
        while len(own) < each.devices:
            room = [n for n, full in enumerate(held) if full + each.hundredths <= 100]
            best = min((n for n in room if n not in own), key=lambda n: (-held[n], n), default=None)
            if best is None:
                best = len(held)
                held.append(0)
            held[best] += each.hundredths
            own.append(best)
        chosen[each.name] = tuple(sorted(own))
    return chosen


@given(HOLDERS, st.randoms(use_true_random=False))
def test_devices_are_those_of_a_plain_search_whatever_the_order(
    holders: list[Holder], random: Random
) -> None:
    expected = plainly(holders)
    random.shuffle(holders)
    shares = device_shares(map(as_pod, holders), None, Findings())
    assert {name: share.devices for name, share in shares.items()} == {
        f"ns/{name}": devices for name, devices in expected.items()
    }
    for holder in holders:
        share = shares[full_name(as_pod(holder))]
        assert share.part_e9 == holder.hundredths * 10**7
        assert len(set(share.devices)) == holder.devices
