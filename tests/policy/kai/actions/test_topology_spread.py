"""Topology spread under KAI's rules: off if faithful, and counted anew when victims leave."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadAdded
from fairlead.model.plan import Evict, Reserve, Start, Wait
from fairlead.model.selector import LabelRequirement, LabelSelector, PodSpread
from fairlead.model.state import ClusterState
from fairlead.model.workload import ANYWHERE, PodConstraints, PodSets, Preferences, Workload
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.worlds import node, queue, started, state_with, workload
from tests.policy.kai.plan_laws import no_start_exceeds_a_skew
from tests.scale_examples import scale_examples
from tests.text_table import rows

WEB = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("web",)),))
OVER_ZONES = PodConstraints(spread=(PodSpread(topology_key="zone", max_skew=1, selector=WEB),))
NODES = [replace(node(f"n-{zone}"), labels={"zone": zone}) for zone in "ab"]  # 8 GPUs each


def web(job: Workload, where: PodConstraints = ANYWHERE) -> Workload:
    sets = [replace(each, labels=(("app", "web"),), constraints=where) for each in job.pod_sets]
    return replace(job, pod_sets=PodSets(sets))


# A job of 1 GPU whose pods are spread over zones a and b; so many of its kind run in each.
CASES = """
    a  b  ours  faithful
    2  1  n-b   n-a       # a: 2 + 1 - 1 > 1, b: 1 + 1 - 1; packing prefers a
    2  2  n-a   n-a       # a: 2 + 1 - 2
    1  2  n-a   n-b
"""


@pytest.mark.parametrize(
    "row",
    rows("\n".join(line.partition("#")[0] for line in CASES.splitlines())),
    ids=lambda row: " ".join(row.values()),
)
def test_the_less_crowded_zone_is_taken_unless_faithful(row: dict[str, str]) -> None:
    held = [(f"{zone}{at}", f"n-{zone}") for zone in "ab" for at in range(int(row[zone]))]
    others = [web(workload(name, "team", gpu=1000)) for name, _ in held]
    job = web(workload("job", "team", gpu=1000), OVER_ZONES)
    state = state_with(queue("team"), *NODES, *others, job)
    for name, on in held:
        state.apply(started(name, on))
    for faithful, expected in ((False, row["ours"]), (True, row["faithful"])):
        decisions = KaiPolicy(KaiSettings(faithful=faithful)).plan(state, 0).decisions
        (found,) = [each for each in decisions if each.workload == "job"]
        assert isinstance(found, Start)
        assert [each.node for each in found.placements] == [expected]


# The job may preempt `low` alone, on the only node of zone b with a GPU that could be free. A pod
# of its kind is on another node of zone b, and perhaps one in zone a, where nothing can be freed.
PREEMPTIONS = """
    spread  in-a  decisions
    no      no    Evict,Reserve
    yes     no    Wait            # b: 1 + 1 - 0 > 1, also without `low`
    yes     yes   Evict,Reserve   # b: 1 + 1 - 1
"""


def preemption_world(row: dict[str, str]) -> ClusterState:
    zones = {"a-full": "a", "b-full": "b", "b-low": "b"}
    nodes = [
        replace(node(name, gpu=1000, cpu=9000), labels={"zone": zone})
        for name, zone in zones.items()
    ]
    full_a = workload("full-a", "team", preemptible=False)
    full_b = web(workload("full-b", "team", preemptible=False))
    low = workload("low", "team")
    job = replace(workload("job", "team"), priority=10)
    job = web(job, OVER_ZONES if row["spread"] == "yes" else PodConstraints())
    owner = replace(queue("team"), guaranteed=(None, None))
    state = state_with(
        owner, *nodes, web(full_a) if row["in-a"] == "yes" else full_a, full_b, low, job
    )
    for name, on in (("full-a", "a-full"), ("full-b", "b-full"), ("low", "b-low")):
        state.apply(started(name, on))
    return state


@pytest.mark.parametrize("plain", [False, True], ids=["incremental", "plain"])
@pytest.mark.parametrize(
    "row",
    rows("\n".join(line.partition("#")[0] for line in PREEMPTIONS.splitlines())),
    ids=lambda row: " ".join(row.values()),
)
def test_no_job_gives_way_to_one_that_the_skew_would_still_block(
    row: dict[str, str], plain: bool
) -> None:
    decisions = KaiPolicy(KaiSettings(), plain=plain).plan(preemption_world(row), 0).decisions
    mine = [each for each in decisions if each.workload in ("job", "low")]
    found = [type(each).__name__ for each in mine if isinstance(each, Evict | Reserve | Wait)]
    assert sorted(set(found) - {"Wait"} or {"Wait"}) == row["decisions"].split(",")


def test_a_wait_says_which_zone_has_how_many() -> None:
    row = {"spread": "yes", "in-a": "no"}
    decisions = KaiPolicy(KaiSettings()).plan(preemption_world(row), 0).decisions
    (wait,) = [each for each in decisions if each.workload == WorkloadName("job")]
    assert isinstance(wait, Wait)
    assert [f"{t.count} of {t.of} {t.things} {t.what}" for t in wait.reason.tallies] == [
        "2 of 3 nodes would exceed maxSkew 1 of zone",
        "1 of 3 nodes lack nvidia.com/gpu",
        "1 of 2 zones would exceed maxSkew 1: b has 1 matching pod, fewest 0",
    ]


def test_a_gang_spreads_over_zones_because_it_prefers_to() -> None:
    """ln(2 + 2) = 1.39 for each pod: with 1 in a and 0 in b, b has 200 points and a none."""
    wishes = Preferences(spread=OVER_ZONES.spread)
    job = web(workload("job", "team", pods=4), PodConstraints(preferences=wishes))
    for faithful, expected in (
        (False, ["n-a", "n-b", "n-a", "n-b"]),
        (True, ["n-a"] * 4),
    ):
        state = state_with(queue("team"), *NODES, job)
        (start,) = KaiPolicy(KaiSettings(faithful=faithful)).plan(state, 0).decisions
        assert isinstance(start, Start)
        assert [each.node for each in start.placements] == expected


HOSTS = [("a1", 2), ("a2", 2), ("b1", 3), ("c1", 1)]  # with their GPUs; the letter is the zone
BY_HOST = PodSpread(topology_key="host", max_skew=1, selector=WEB)
THREE_ZONES = replace(OVER_ZONES.spread[0], min_domains=3)
crowds = st.lists(
    st.tuples(
        st.sampled_from(["a1", "a2", "b1", "c1", None, None, None]),  # its node
        st.booleans(),  # whether it is one of the pods that are counted
        st.integers(1, 3),  # priority
        st.sampled_from(
            [
                PodConstraints(),
                OVER_ZONES,
                PodConstraints(spread=(BY_HOST, *OVER_ZONES.spread)),
                PodConstraints(spread=(THREE_ZONES,)),
                PodConstraints(preferences=Preferences(spread=OVER_ZONES.spread)),
            ]
        ),
        st.integers(1, 3),  # pods of a gang
    ),
    min_size=3,
    max_size=9,
)


@settings(max_examples=scale_examples(60), deadline=None)
@given(crowds)
def test_every_pod_starts_within_its_skew_the_plain_way_and_the_fast_one(
    crowd: list[tuple[str | None, bool, int, PodConstraints, int]],
) -> None:
    nodes = [
        replace(node(name, gpu=1000 * gpus, cpu=64_000), labels={"zone": name[0], "host": name})
        for name, gpus in HOSTS
    ]
    owner = replace(queue("one"), guaranteed=(None, 5000))  # it may reclaim from the other
    state = state_with(owner, queue("two"), *nodes)
    room = dict(HOSTS)
    for at, (on, is_web, priority, where, count) in enumerate(crowd):
        job = workload(f"j{at}", "one" if at % 2 else "two", pods=1 if on else count)
        job = replace(web(job, where) if is_web else job, priority=priority)
        if on is None:
            state.apply(WorkloadAdded(job))
        elif room[on]:
            room[on] -= 1
            state.apply(WorkloadAdded(job))
            state.apply(started(job.name, on))
    plan = KaiPolicy(KaiSettings()).plan(state, 0)
    assert KaiPolicy(KaiSettings(), plain=True).plan(state, 0) == plan
    no_start_exceeds_a_skew(state, plan)
