"""Which devices a pod gets that asks for part of some."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.device_share import WHOLE_DEVICE_E9
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare
from fairlead.placement.shared_devices import DeviceRule, choose_devices, fits_devices, part_e9
from tests.placement.device_tables import GPUS, room_of, share_of
from tests.text_table import rows

# Devices as held/leaving/reserved in thousandths. The pack or spread column is the rule; waits:
# whether it rather waits for a fuller device. gets: the devices, with * if it must wait.
CHOICES = {
    "an empty node opens its first device": """
        gpus  devices                      asks    rule    waits  gets
        1     -                            500     pack    no     0
        1     -                            500     spread  no     0
        2     -                            2x500   pack    no     0,1
    """,
    # 500 + 500 = 1000, and 500 + 501 > 1000
    "the second half joins the first, a little more than half does not": """
        gpus  devices                      asks    rule    waits  gets
        2     0=500/0/0                    500     pack    no     0
        2     0=500/0/0                    501     pack    no     1
        1     0=500/0/0                    501     pack    no     none
        1     0=1000/0/0                   1       pack    no     none
    """,
    "spreading opens another device first": """
        gpus  devices                      asks    rule    waits  gets
        2     0=500/0/0                    500     spread  no     1
        2     0=500/0/0,1=250/0/0          500     spread  no     1
        1     0=500/0/0                    500     spread  no     0
    """,
    # free: 0 has 500, 1 has 250, 2 has 750
    "packing takes the fullest device that has room, spreading the emptiest": """
        gpus  devices                      asks    rule    waits  gets
        3     0=500/0/0,1=750/0/0,2=250/0/0  250   pack    no     1
        3     0=500/0/0,1=750/0/0,2=250/0/0  300   pack    no     0
        3     0=500/0/0,1=750/0/0,2=250/0/0  600   pack    no     2
        3     0=500/0/0,1=750/0/0,2=250/0/0  250   spread  no     2
        3     0=500/0/0,1=500/0/0,2=500/0/0  250   pack    no     0
    """,
    "whole devices that others hold are not there": """
        gpus  devices                      asks    rule    waits  gets
        2     w=2/0/0                      500     pack    no     none
        2     w=1/0/0                      500     pack    no     0
        2     w=1/0/0                      2x500   pack    no     none
        2     w=1/0/0,0=500/0/0            500     pack    no     0
        2     w=1/0/0,0=500/0/0            600     pack    no     none
    """,
    "several devices: different ones, the fullest of those that have room": """
        gpus  devices                      asks    rule    waits  gets
        2     0=500/0/0                    2x500   pack    no     0,1
        2     0=500/0/0,1=750/0/0          2x250   pack    no     0,1
        2     0=500/0/0,1=750/0/0          2x300   pack    no     none
        4     2=500/0/0                    2x500   pack    no     0,2
        4     2=500/0/0                    2x500   spread  no     0,1
    """,
    # now 1000 - 1000 = 0; later 1000 - 1000 + 500 = 500
    "a device with one half leaving has room for a half later": """
        gpus  devices                      asks    rule    waits  gets
        1     0=1000/500/0                 500     pack    no     0*
        1     0=1000/500/0                 501     pack    no     none
        1     0=1000/500/500               500     pack    no     none
        1     w=1/1/0                      500     pack    no     0*
    """,
    # device 0: 250 now, 750 later; device 1 is idle
    "rather wait for the fuller device, or start on another": """
        gpus  devices                      asks    rule    waits  gets
        2     0=750/500/0                  500     pack    yes    0*
        2     0=750/500/0                  500     pack    no     1
        2     0=750/500/0                  250     pack    yes    0
        2     0=750/500/0                  500     spread  yes    1
        1     0=750/500/0                  500     pack    no     0*
    """,
    "a device that is only reserved has not been opened yet": """
        gpus  devices                      asks    rule    waits  gets
        2     0=0/0/500                    500     pack    yes    0*
        2     0=0/0/500                    500     pack    no     1
        1     0=0/0/500                    500     pack    no     0*
        1     0=0/0/500                    501     pack    no     none
    """,
    # all of device 0 is free later, as a whole device: one device, not two
    "a device that everybody is leaving is one device and not two": """
        gpus  devices                      asks    rule    waits  gets
        1     0=500/500/0                  500     pack    no     0
        1     0=500/500/0                  600     pack    no     0*
        1     0=500/500/0                  2x500   pack    no     none
        2     0=500/500/0                  2x500   pack    no     0,1
        2     0=500/500/0                  2x600   pack    no     0,1*
    """,
    "and is not there if it has been promised as a whole": """
        gpus  devices                      asks    rule    waits  gets
        1     0=500/500/0,w=0/0/1          500     pack    no     none
        2     0=900/900/0,1=100/100/0,w=0/0/1  500  pack   no     1
        2     0=900/900/0,1=100/100/0,w=0/0/1  2x50 pack   no     none
    """,
    "a node that lost devices has no room on those that are shared": """
        gpus  devices                      asks    rule    waits  gets
        1     0=500/0/0,1=500/0/0          250     pack    no     none
        0     0=500/0/0                    250     pack    no     none
        1     0=500/500/0,1=500/0/0        250     pack    no     1*
    """,
}


def cases() -> list[dict[str, str]]:
    return [{"about": about, **row} for about, table in CHOICES.items() for row in rows(table)]


@pytest.mark.parametrize("case", cases(), ids=lambda case: " ".join(case.values()))
def test_which_devices_a_share_gets(case: dict[str, str]) -> None:
    room, share = room_of(int(case["gpus"]), case["devices"]), share_of(case["asks"])
    if case["gets"] == "none":
        assert not fits_devices(room, share, GPUS)
        return
    assert fits_devices(room, share, GPUS)
    rule = DeviceRule(spread=case["rule"] == "spread", wait_to_pack=case["waits"] == "yes")
    found, now = choose_devices(room, share, GPUS, rule)
    written = ",".join(map(str, found.devices)) + ("" if now else "*")
    assert written == case["gets"]
    assert now <= fits_devices(room, share, GPUS, now=True)


# 10 MiB of 30 are 333,333,333 billionths, three of which are 999,999,999
MEMORY = """
    device_mib  others          asks   gets
    30          -               10Mi   0
    30          10Mi            10Mi   0
    30          10Mi,10Mi       10Mi   0
    30          10Mi,10Mi,10Mi  10Mi   none
    30          10Mi,10Mi       11Mi   none
    30          -               30Mi   0
    30          -               31Mi   none
    unknown     -               10Mi   none
    unknown     -               500    0
"""


@pytest.mark.parametrize("row", rows(MEMORY), ids=lambda row: " ".join(row.values()))
def test_memory_is_a_part_of_the_device(row: dict[str, str]) -> None:
    memory = None if row["device_mib"] == "unknown" else int(row["device_mib"])
    others = [share_of(each) for each in row["others"].split(",") if each != "-"]
    empty = room_of(1, "-", gpu_memory_mib=memory)
    used = sum(part_e9(each, empty.node) or 0 for each in others)
    room = room_of(1, "-", gpu_memory_mib=memory)
    if used:
        device = room_of(1, "0=1/0/0").devices[0]
        free = WHOLE_DEVICE_E9 - used
        room = room._replace(
            devices=(device._replace(idle_e9=free, later_e9=free),),
            idle=(8000, 0),
            later=(8000, 0),
        )
    assert fits_devices(room, share_of(row["asks"]), GPUS) == (row["gets"] != "none")


def test_without_a_resource_whose_devices_are_shared_no_share_fits() -> None:
    nothing_shared = GPUS._replace(shared=None)
    assert not fits_devices(room_of(1, "-"), share_of("500"), nothing_shared)


def device(memory_mib: int) -> Node:
    return Node(name="n", allocatable=(1000,), gpu_memory_mib=memory_mib)


@given(
    memory_mib=st.integers(1, 300_000),
    cuts=st.lists(st.integers(0, 300_000), max_size=20),
    more=st.integers(-1, 1),
)
def test_parts_of_whole_mib_fit_after_the_cut_to_billionths_exactly_if_their_mib_do(
    memory_mib: int, cuts: list[int], more: int
) -> None:
    """The parts fill the device exactly, or with one MiB missing or too much."""
    edges = sorted({cut % memory_mib for cut in cuts} | {0, memory_mib + more})
    sizes = [after - before for before, after in pairwise(edges)]
    parts = [part_e9(GpuShare(memory_mib=size), device(memory_mib)) or 0 for size in sizes]
    assert (sum(parts) <= WHOLE_DEVICE_E9) == (sum(sizes) <= memory_mib)
