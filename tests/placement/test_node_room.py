"""What is free on a node, now and later."""

import pytest

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.node import Node
from fairlead.placement.node_room import GpuResources, node_room
from tests.placement.device_tables import GPUS, THOUSANDTH_E9, room_of
from tests.text_table import rows

# idle = offered - held; later = idle + released + leaving - reserved; never below 0
AMOUNTS = """
    offered  released  held  leaving  reserved  idle  later
    8        0         0     0        0         8     8
    8        0         3     0        0         5     5
    8        0         3     2        0         5     7
    8        0         8     2        2         0     0
    8        0         0     0        5         8     3
    8        0         8     8        3         0     5
    8        0         9     0        0         0     0
    8        0         9     3        0         0     2
    8        0         2     0        7         6     0
    -1       0         0     0        0         0     0
    5        3         0     0        0         5     8
    5        3         4     1        2         1     3
    0        8         0     0        8         0     0
    -1       3         0     0        0         0     2
    -4       3         0     0        0         0     0
"""


@pytest.mark.parametrize("row", rows(AMOUNTS), ids=lambda row: " ".join(row.values()))
def test_room_now_and_later(row: dict[str, str]) -> None:
    held, leaving, reserved = ([int(row[name]), 0] for name in ("held", "leaving", "reserved"))
    use = NodeUse(pods={}, departing={}, held=held, leaving=leaving, reserved=reserved, devices={})
    node = Node(name="n", allocatable=(8, 0))
    released = (int(row["released"]), 0)
    room = node_room(node, (int(row["offered"]), 0), released, use, GPUS)
    assert (room.idle[0], room.later[0]) == (int(row["idle"]), int(row["later"]))
    assert room.devices == ()


# idle and later in whole devices; all_later: thousandths, with the free parts of shared devices.
# parts: of each device free now/later in thousandths.
DEVICES = """
    gpus  devices                idle  later  all_later  parts
    2     -                      2     2      2000       -
    2     w=1/0/0                1     1      1000       -
    2     0=500/0/0              1     1      1500       0=500/500
    2     0=500/0/0,w=1/0/0      0     0      500        0=500/500
    2     0=1000/0/0             1     1      1000       0=0/0
    2     0=500/500/0            1     2      2000       0=500/1000
    2     0=750/500/0            1     1      1750       0=250/750
    2     0=750/500/500          1     1      1250       0=250/250
    2     0=0/0/500              2     1      1500       0=0/500
    2     0=500/0/0,1=250/0/0    0     0      1250       0=500/500,1=750/750
    2     0=500/500/0,w=0/0/1    1     1      1000       0=500/1000
    2     w=2/1/0,0=0/0/250      0     0      750        0=0/750
    1     0=500/0/0,1=500/0/0    0     0      0          0=0/0,1=0/0
    1     0=500/0/0,1=500/500/0  0     0      500        0=0/500,1=0/1000
    2     0=1500/0/0             1     1      1000       0=0/0
"""


@pytest.mark.parametrize("row", rows(DEVICES), ids=lambda row: " ".join(row.values()))
def test_a_device_that_pods_share_is_not_there_for_others(row: dict[str, str]) -> None:
    room = room_of(int(row["gpus"]), row["devices"])
    assert room.idle == (8000, int(row["idle"]) * 1000)
    assert room.later == (8000, int(row["later"]) * 1000)
    assert room.gpu_later == int(row["all_later"])
    parts = [
        f"{each.number}={each.idle_e9 // THOUSANDTH_E9}/{each.later_e9 // THOUSANDTH_E9}"
        for each in room.devices
    ]
    assert (",".join(parts) or "-") == row["parts"]


def test_less_than_a_thousandth_free_is_not_nothing() -> None:
    """A small amount of memory of a large device may still fit there."""
    nearly_full = [10**9 - 1, 0, 0]
    use = NodeUse(
        pods={},
        departing={},
        held=[0, 0],
        leaving=[0, 0],
        reserved=[0, 0],
        devices={0: nearly_full},
    )
    node = Node(name="n", allocatable=(0, 1000))
    assert node_room(node, node.allocatable, (0, 0), use, GPUS).gpu_later == 1


def test_gpus_of_every_kind_count_together() -> None:
    kinds = GpuResources(kinds=(1, 2), shared=1)
    use = NodeUse(
        pods={}, departing={}, held=[0] * 3, leaving=[0] * 3, reserved=[0] * 3, devices={}
    )
    node = Node(name="n", allocatable=(500, 2000, 1000))
    assert node_room(node, node.allocatable, (0, 0, 0), use, kinds).gpu_later == 3000
    assert kinds.asked((500, 1000, 2000)) == 3000
