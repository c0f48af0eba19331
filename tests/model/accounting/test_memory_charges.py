"""What pods that ask for memory of GPUs are charged: by the place they have, once they have one."""

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.events import (
    Placement,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodId, PodSet, PodSets, Workload, numbered_pod
from tests.model.invariants import check_invariants
from tests.model.worlds import node, queue, state_with
from tests.text_table import rows

Q, W = QueueName("q"), WorkloadName("w")
FIRST, SECOND = numbered_pod("main", 0), numbered_pod("main", 1)


def job(*, gpu: int, share: GpuShare) -> Workload:
    pod_set = PodSet(name="main", count=2, min_count=1, requests=(500, gpu), gpu_share=share)
    return Workload(name=W, queue=Q, pod_sets=PodSets((pod_set,)), min_count=1)


def placement(pod: PodId, memory_mib: int, device_mib: int, devices: int = 1) -> Placement:
    part_e9 = memory_mib * WHOLE_DEVICE_E9 // device_mib
    return Placement(pod, "n1", DeviceShare(devices=tuple(range(devices)), part_e9=part_e9))


def allocated(state: ClusterState) -> int:
    """Return the thousandths of a GPU that the queue is charged."""
    check_invariants(state)
    return state.sums[Q].allocated[1]


# waits: thousandths that it asks for, by the smallest device; runs: by the one that it is on.
PARTS = """
    memory  device  devices  waits  runs  because
    10000   40000   1        1000   250   a.quarter
    10000   10000   1        1000   1000  the.smallest.one
    10000   40000   2        2000   500   2.x.0.25
    10000   30000   1        1000   330   0.333.is.0.33
    10000   80000   1        1000   130   0.125.is.0.13,half.up
    10000   80000   2        2000   260   2.x.0.13,rounded.before.it.is.multiplied
    1000    80000   1        100    10    0.0125.is.0.01
    100     80000   1        10     0     0.00125.is.nothing
    30000   40000   1        500    500   strangers.have.some.of.its.part
"""


@pytest.mark.parametrize("row", rows(PARTS), ids=lambda row: row["because"])
def test_a_part_of_a_device_is_charged_in_hundredths(row: dict[str, str]) -> None:
    memory, device, devices = (int(row[name]) for name in ("memory", "device", "devices"))
    share = GpuShare(devices=devices, memory_mib=memory)
    state = state_with(queue("q"), node("n1"), job(gpu=int(row["waits"]), share=share))
    assert state.requested(Q)[1] == 2 * int(row["waits"])
    places = (placement(FIRST, memory, device, devices),)
    state.apply(WorkloadStarted(workload=W, placements=places, at_ms=0))
    assert allocated(state) == int(row["runs"])
    assert state.requested(Q)[1] == int(row["runs"]) + int(row["waits"])


IN_MEMORY = GpuShare(memory_mib=10_000)


def running() -> ClusterState:
    """Return two pods that ask for a whole small device, on a quarter and a half of larger ones."""
    state = state_with(queue("p"), queue("q", "p"), node("n1"), job(gpu=1000, share=IN_MEMORY))
    places = (placement(FIRST, 10_000, 40_000), placement(SECOND, 10_000, 20_000))
    state.apply(WorkloadStarted(workload=W, placements=places, at_ms=0))
    return state


def test_pods_of_one_set_cost_what_their_own_devices_make_of_them() -> None:
    state = running()
    assert allocated(state) == 250 + 500
    assert state.sums[QueueName("p")].allocated[1] == 250 + 500
    assert [state.runs[W].charge(pod)[1] for pod in (FIRST, SECOND)] == [250, 500]


def test_who_stops_waits_for_a_whole_small_device_again() -> None:
    state = running()
    state.apply(WorkloadStopped(workload=W, pods=(FIRST,)))
    assert allocated(state) == 500
    assert state.requested(Q)[1] == 500 + 1000


def test_who_is_displaced_and_reserved_elsewhere_costs_what_it_does_there() -> None:
    state = running()
    state.apply(WorkloadDisplaced(workload=W, pods=(SECOND,)))
    assert allocated(state) == 250
    place = (placement(SECOND, 10_000, 10_000),)
    state.apply(WorkloadReserved(workload=W, placements=place, at_ms=0))
    assert allocated(state) == 250 + 1000


def test_who_is_leaving_is_charged_as_leaving_by_its_place() -> None:
    state = running()
    state.apply(WorkloadLeaving(workload=W, pods=(FIRST,)))
    assert allocated(state) == 500
    assert state.sums[Q].leaving[1] == 250


def test_a_request_that_changes_to_a_fraction_is_charged_as_it_is_written() -> None:
    state = running()
    state.apply(WorkloadChanged(job(gpu=300, share=GpuShare(thousandths=300))))
    assert allocated(state) == 300 + 300
    state.apply(WorkloadChanged(job(gpu=1000, share=IN_MEMORY)))
    assert allocated(state) == 250 + 500


def test_a_trial_leaves_no_charge_behind() -> None:
    state = running()
    with state.trial():
        state.apply(WorkloadStopped(workload=W, pods=(FIRST, SECOND)))
        assert allocated(state) == 0
    assert allocated(state) == 250 + 500


def test_without_a_place_on_devices_the_request_counts() -> None:
    """Quota may be granted before anybody knows where the pods will be."""
    state = state_with(queue("q"))
    state.apply(WorkloadAdded(job(gpu=1000, share=IN_MEMORY)))
    granted = (Placement(FIRST, None),)
    state.apply(WorkloadStarted(workload=W, placements=granted, at_ms=0))
    assert allocated(state) == 1000
