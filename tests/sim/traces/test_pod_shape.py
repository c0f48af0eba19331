import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.traces.jobs_of_trace import PodShape, pod_shape
from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY, MOST_PODS, Asks
from fairlead.sim.traces.trace_rules import MissingAmounts, TraceRules
from tests.text_table import number, rows

GIB = 2**30

CUTS = """
    gpus   at_most  pods_told  pods  gpus_each
    32000  8000     1          4     8000
    8000   8000     1          1     8000
    12000  8000     1          2     6000
    9000   8000     1          3     3000
    11000  8000     1          11    1000
    128000 8000     1          16    8000
    460    8000     1          1     460
    32000  -        1          1     32000
    32000  -        4          4     8000
    32000  -        3          4     8000
    32000  8000     8          8     4000
    1000   -        2          2     500
    2500   -        2          2     1250
"""
"""9 GPUs on 8: two pods would hold 4.5 each, three hold 3. 11 is prime. 32 over 3 nodes: 4 pods."""


@pytest.mark.parametrize("row", rows(CUTS), ids=lambda row: f"{row['gpus']}/{row['at_most']}")
def test_gpus_are_cut_into_equal_pods_of_whole_devices(row: dict[str, str]) -> None:
    at_most = number(row["at_most"])
    rules = TraceRules(pod_at_most={} if at_most is None else {GPU: at_most})
    shape = pod_shape(rules, ((GPU, int(row["gpus"])),), int(row["pods_told"]))
    assert isinstance(shape, PodShape)
    assert (shape.pods, shape.requests) == (int(row["pods"]), {GPU: int(row["gpus_each"])})


def test_other_amounts_are_divided_among_the_pods_and_rounded_up() -> None:
    """10 cpus over 4 pods are 2.5 each; 10 GiB + 1 byte are 2.5 GiB + 1 byte each."""
    rules = TraceRules(pod_at_most={GPU: 8000})
    shape = pod_shape(rules, ((GPU, 32_000), (CPU, 10_000), (MEMORY, 10 * GIB + 1)), 1)
    assert isinstance(shape, PodShape)
    assert shape.requests == {GPU: 8000, CPU: 2500, MEMORY: 5 * GIB // 2 + 1}


def test_any_resource_can_bound_a_pod() -> None:
    """56 processors with at most 16 a pod: 56 / 16 = 3.5, so 4 pods of 14."""
    shape = pod_shape(TraceRules(pod_at_most={CPU: 16_000}), ((CPU, 56_000),), 1)
    assert shape == PodShape(pods=4, requests={CPU: 14_000})


def test_processors_may_stand_for_gpus() -> None:
    rules = TraceRules(processors="gpu")
    shape = pod_shape(rules, ((CPU, 2000), (MEMORY, 7)), 1)
    assert shape == PodShape(pods=1, requests={GPU: 2000, MEMORY: 7})
    told_both = pod_shape(rules, ((CPU, 2000), (GPU, 1000)), 1)
    assert told_both == PodShape(pods=1, requests={GPU: 1000, CPU: 2000})


MISSING = MissingAmounts(
    per_gpu={CPU: 12_000, MEMORY: 100 * GIB},
    per_cpu={MEMORY: 4 * GIB},
    per_job={CPU: 500, MEMORY: GIB, "pods": 1},
)


@pytest.mark.parametrize(
    ("asks", "requests"),
    [
        # 2 GPUs: 2 * 12 cpus, 2 * 100 GiB
        (((GPU, 2000),), {GPU: 2000, CPU: 24_000, MEMORY: 200 * GIB, "pods": 1}),
        # what is told stays
        (((GPU, 2000), (CPU, 7000)), {GPU: 2000, CPU: 7000, MEMORY: 200 * GIB, "pods": 1}),
        # 0.001 of a GPU: 0.012 cpus, and 107,374,182.4 bytes rounded up
        (((GPU, 1),), {GPU: 1, CPU: 12, MEMORY: 107_374_183, "pods": 1}),
        (((GPU, 0), (CPU, 1500)), {CPU: 1500, MEMORY: 6 * GIB, "pods": 1}),
        ((), {CPU: 500, MEMORY: GIB, "pods": 1}),
        # told as none is not the same as not told
        (((GPU, 1000), (CPU, 0)), {GPU: 1000, MEMORY: 100 * GIB, "pods": 1}),
    ],
)
def test_what_a_trace_does_not_tell_comes_from_the_rules(
    asks: Asks, requests: dict[str, int]
) -> None:
    shape = pod_shape(TraceRules(missing=MISSING), asks, 1)
    assert shape == PodShape(pods=1, requests=requests)


@pytest.mark.parametrize("asks", [(), ((GPU, 0),), ((GPU, 0), (CPU, 0))])
def test_a_job_that_asks_for_nothing_gives_no_pods(asks: Asks) -> None:
    assert pod_shape(TraceRules(), asks, 1) == "request nothing that the trace has"


@pytest.mark.parametrize("resource", [CPU, GPU])
def test_a_job_of_more_pods_than_can_be_meant_gives_none(resource: str) -> None:
    rules = TraceRules(pod_at_most={resource: 1000})
    most = pod_shape(rules, ((resource, MOST_PODS * 1000),), 1)
    assert isinstance(most, PodShape)
    assert most.pods == MOST_PODS
    assert pod_shape(rules, ((resource, MOST_PODS * 1000 + 1000),), 1) == (
        "would need more than 100,000 pods"
    )


@given(
    gpus=st.integers(1, 600),
    per_pod=st.integers(1, 16),
    pods_told=st.integers(1, 12),
    cpu=st.integers(1, 10**6),
)
def test_cutting_into_pods_keeps_the_totals(
    gpus: int, per_pod: int, pods_told: int, cpu: int
) -> None:
    """And no smaller number of pods, from what the trace told upwards, would have done."""
    rules = TraceRules(pod_at_most={GPU: per_pod * 1000})
    shape = pod_shape(rules, ((GPU, gpus * 1000), (CPU, cpu)), pods_told)
    assert isinstance(shape, PodShape)
    assert cpu <= shape.pods * shape.requests[CPU] < cpu + shape.pods
    if pods_told <= gpus:
        assert shape.pods * shape.requests[GPU] == gpus * 1000
        assert shape.requests[GPU] % 1000 == 0
        assert shape.requests[GPU] <= per_pod * 1000
        fewer = range(pods_told, shape.pods)
        assert not any(gpus % count == 0 and gpus // count <= per_pod for count in fewer)
    else:
        assert shape.pods == pods_told
