"""Jobs are skipped because one like them failed, and none that could have had a place."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import ForeignPodChanged, Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.node import Node
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm, Toleration
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    GpuShare,
    PodConstraints,
    PodId,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.policy.kai.jobs.alike import FailedAttempts
from fairlead.policy.kai.jobs.gang import Gang
from tests.model.foreign import foreign_pod
from tests.model.worlds import queue, state_with
from tests.scale_examples import scale_examples
from tests.text_table import rows

HOST = "kubernetes.io/hostname"
FIRST, SECOND = WorkloadName("first"), WorkloadName("second")
OTHER = WorkloadName("other")


def app_is(value: str) -> LabelSelector:
    return LabelSelector(
        requirements=(LabelRequirement(key="app", operator="In", values=(value,)),)
    )


APART = PodTerm(topology_key=HOST, selector=app_is("web"), namespaces=("default",))


def pods_of(*requests: tuple[int, int], name: str = "pod", **facts: object) -> tuple[PodSet, ...]:
    """Return a set of one pod for each of *requests*, in the order in which they start."""
    return tuple(
        replace(PodSet(name=f"{name}{at}", count=1, min_count=0, requests=each), **facts)
        for at, each in enumerate(requests)
    )


def job(name: WorkloadName, *sets: PodSet, minimum: int = 0) -> Workload:
    return Workload(
        name=name,
        queue=QueueName("q"),
        namespace="default",
        pod_sets=PodSets(sets),
        min_count=minimum or sum(each.count for each in sets),
        priority=50,
    )


def next_pods(state: ClusterState, name: WorkloadName) -> tuple[PodId, ...]:
    return Gang(state.workloads[name]).next_pods(state.runs.get(name))


def is_skipped(state: ClusterState, *, across_queues: bool = False, faithful: bool = False) -> bool:
    """Return whether the second job is skipped after the first one failed."""
    failed = FailedAttempts(state, across_queues=across_queues, faithful=faithful)
    assert failed.refused_like(SECOND, next_pods(state, SECOND)) is None
    failed.note_failure(FIRST, next_pods(state, FIRST))
    found = failed.refused_like(SECOND, next_pods(state, SECOND))
    assert found in {None, FIRST}
    return found is not None


def answers(state: ClusterState, *, across_queues: bool = False) -> str:
    """Return who skips the second job after the first one failed: we, KAI, both or nobody."""
    ours, peers = (
        is_skipped(state, across_queues=across_queues, faithful=faithful)
        for faithful in (False, True)
    )
    return {(0, 0): "nobody", (1, 0): "we", (0, 1): "KAI", (1, 1): "both"}[ours, peers]


ASKED = PodSet(name="main", count=1, min_count=0, requests=(1000, 2000))


def where(**constraints: object) -> Callable[[Workload], Workload]:
    return with_pods(constraints=replace(PodConstraints(), **constraints))


def with_pods(**facts: object) -> Callable[[Workload], Workload]:
    return lambda first: replace(first, pod_sets=PodSets((replace(first.pod_sets[0], **facts),)))


def with_facts(**facts: object) -> Callable[[Workload], Workload]:
    return lambda first: replace(first, **facts)


@pytest.mark.parametrize(
    ("difference", "who"),
    [
        pytest.param(with_facts(), "both", id="nothing"),
        pytest.param(with_facts(created_ms=9), "both", id="age"),
        pytest.param(with_facts(priority=75), "KAI", id="priority"),
        pytest.param(with_facts(queue=QueueName("r")), "nobody", id="queue"),
        pytest.param(with_facts(preemptible=False), "KAI", id="preemptible"),
        pytest.param(with_facts(namespace="other"), "both", id="namespace"),
        pytest.param(with_pods(labels=(("app", "web"),)), "both", id="labels"),
        pytest.param(with_pods(gpu_share=GpuShare(thousandths=500)), "KAI", id="share of a GPU"),
        pytest.param(where(node_selector=(("pool", "a"),)), "nobody", id="node selector"),
        pytest.param(where(node_terms=()), "nobody", id="node affinity"),
        pytest.param(where(tolerations=(Toleration(key="a"),)), "nobody", id="tolerations"),
        pytest.param(where(host_ports=(("TCP", 80),)), "nobody", id="host ports"),
        pytest.param(where(pod_affinity=(APART,)), "nobody", id="pod affinity"),
        pytest.param(where(pod_anti_affinity=(APART,)), "nobody", id="pod anti-affinity"),
        pytest.param(where(unsupported=("a",)), "nobody", id="what nobody here knows"),
    ],
)
def test_a_difference_that_matters_makes_jobs_unlike(
    difference: Callable[[Workload], Workload], who: str
) -> None:
    second = replace(difference(job(FIRST, ASKED)), name=SECOND)
    state = state_with(queue("q"), queue("r"), job(FIRST, ASKED), second)
    assert answers(state) == who


@pytest.mark.parametrize(
    ("difference", "who"),
    [
        (with_facts(namespace="other"), "KAI"),
        (with_pods(labels=(("app", "web"),)), "KAI"),
        (with_pods(labels=(("job-name", "train-17"),)), "both"),
    ],
)
@pytest.mark.parametrize("who_looks", ["a job", "a pod of another scheduler"])
def test_namespace_and_labels_matter_where_some_pod_looks_at_them(
    difference: Callable[[Workload], Workload], who: str, who_looks: str
) -> None:
    second = replace(difference(job(FIRST, ASKED)), name=SECOND)
    state = state_with(queue("q"), job(FIRST, ASKED), second)
    if who_looks == "a job":
        shy = replace(ASKED, constraints=PodConstraints(pod_anti_affinity=(APART,)))
        other = state_with(queue("q"), job(WorkloadName("shy"), shy), *state.workloads.values())
    else:
        node = Node(name="n", allocatable=(1, 1))
        other = state_with(queue("q"), node, *state.workloads.values())
        foreign = foreign_pod("f", "n", (0, 0), asked_about=True)
        other.apply(ForeignPodChanged(replace(foreign, pod_anti_affinity=(APART,))))
    assert answers(other) == who


def test_labels_matter_to_a_pod_that_may_be_the_one_it_wants_to_be_near() -> None:
    near = replace(ASKED, constraints=PodConstraints(pod_affinity=(APART,)))
    web = replace(near, labels=(("app", "web"),))
    assert answers(state_with(queue("q"), job(FIRST, near), job(SECOND, near))) == "both"
    assert answers(state_with(queue("q"), job(FIRST, near), job(SECOND, web))) == "KAI"


# What pool the pods of a gang must go to, in the order in which they start.
POOLS = """
    failed  asks  skipped-by
    ab      ab    both
    ab      ba    KAI
    ab      aa    nobody
    ab      abb   nobody
    a       ab    nobody
    a       aa    we
"""


@pytest.mark.parametrize("row", rows(POOLS), ids=lambda row: f"{row['failed']} {row['asks']}")
def test_pods_of_a_gang_with_other_constraints_are_told_apart(row: dict[str, str]) -> None:
    def gang(name: WorkloadName, pools: str) -> Workload:
        return job(
            name,
            *[
                replace(
                    ASKED,
                    name=f"pod{at}",
                    constraints=PodConstraints(node_selector=(("pool", pool),)),
                )
                for at, pool in enumerate(pools)
            ],
        )

    state = state_with(queue("q"), gang(FIRST, row["failed"]), gang(SECOND, row["asks"]))
    assert answers(state) == row["skipped-by"]


def test_only_kai_takes_jobs_of_two_queues_for_alike_in_consolidation() -> None:
    """A queue has a limit of its own, by which the first may have failed."""
    second = replace(job(SECOND, ASKED), queue=QueueName("r"))
    state = state_with(queue("q"), queue("r"), job(FIRST, ASKED), second)
    assert answers(state, across_queues=True) == "KAI"


def asked(text: str) -> tuple[PodSet, ...]:
    """Read cpu:gpu of each pod, such as ``1:2,1:1``."""
    pairs = [tuple(map(int, each.split(":"))) for each in text.split(",")]
    return pods_of(*[(cpu * 1000, gpu * 1000) for cpu, gpu in pairs])


# What the pods of a gang ask for, each as cpu:gpu, in the order in which they start.
ASKS = """
    failed       asks         skipped-by
    1:2          1:2          both
    1:2          1:3          both
    1:2          2:2          both
    1:2          1:1          nobody
    2:2          1:3          KAI
    1:1          1:1,1:1      we
    1:1,1:1      1:1          nobody
    1:1          1:2,1:1      we
    1:2          1:1,1:2      nobody
    1:1,1:4      1:2,1:3      nobody
    1:1,1:4      1:4,1:1      KAI
    1:2,1:1      1:2,1:3      both
    2:1,2:1      1:2,3:1      KAI
"""


@pytest.mark.parametrize("row", rows(ASKS), ids=lambda row: f"{row['failed']} {row['asks']}")
def test_a_job_that_requests_no_less_is_skipped(row: dict[str, str]) -> None:
    """KAI holds all pods by size against each other, and only if there are as many of them."""
    state = state_with(
        queue("q"), job(FIRST, *asked(row["failed"])), job(SECOND, *asked(row["asks"]))
    )
    assert answers(state) == row["skipped-by"]


@pytest.mark.parametrize(
    ("minimums", "who"), [((4, 4), "both"), ((4, 1), "KAI"), ((1, 4), "both"), ((2, 3), "both")]
)
def test_only_kai_takes_all_pods_of_a_job_for_what_it_needs_at_once(
    minimums: tuple[int, int], who: str
) -> None:
    four = replace(ASKED, count=4)
    first, second = (
        job(name, four, minimum=n) for name, n in zip((FIRST, SECOND), minimums, strict=True)
    )
    assert answers(state_with(queue("q"), first, second)) == who


def start(state: ClusterState, name: WorkloadName, *pods: PodId) -> None:
    places = tuple(Placement(pod, None) for pod in pods)
    state.apply(WorkloadStarted(workload=name, placements=places, at_ms=0))


@pytest.mark.parametrize("holder", [FIRST, SECOND])
def test_in_consolidation_others_may_move_what_a_job_cannot_move_itself(
    holder: WorkloadName,
) -> None:
    """Both want one pod, and the holder has one already, which only the other could move."""
    counts = {FIRST: 1, SECOND: 1, holder: 2}
    jobs = [job(name, replace(ASKED, count=n), minimum=1) for name, n in counts.items()]
    state = state_with(queue("q"), *jobs)
    assert is_skipped(state, across_queues=True)
    start(state, holder, numbered_pod("main", 0))
    assert not is_skipped(state, across_queues=True)
    assert is_skipped(state)  # in reclaim and preempt neither could
    assert is_skipped(state, across_queues=True, faithful=True)  # KAI does not ask
    state.apply(WorkloadLeaving(workload=holder, pods=(numbered_pod("main", 0),)))
    assert is_skipped(state, across_queues=True)


def test_a_success_lets_all_jobs_try_again_except_in_kai() -> None:
    state = state_with(queue("q"), job(FIRST, ASKED), job(SECOND, ASKED))
    for faithful, expected in ((False, None), (True, FIRST)):
        failed = FailedAttempts(state, faithful=faithful)
        failed.note_failure(FIRST, next_pods(state, FIRST))
        failed.note_success()
        assert failed.refused_like(SECOND, next_pods(state, SECOND)) == expected


def test_after_a_success_nothing_is_known_that_was_known_before() -> None:
    sizes = {FIRST: "1:2", OTHER: "2:1", SECOND: "1:2"}
    state = state_with(queue("q"), *[job(name, *asked(text)) for name, text in sizes.items()])
    failed = FailedAttempts(state)
    failed.note_failure(FIRST, next_pods(state, FIRST))
    failed.note_success()
    failed.note_failure(OTHER, next_pods(state, OTHER))
    assert failed.refused_like(SECOND, next_pods(state, SECOND)) is None


def speaks_for(asks: Sequence[str], *, faithful: bool) -> WorkloadName | None:
    """Let all but the last fail, and return who speaks for the last; jobs are named by number."""
    jobs = [job(WorkloadName(str(at)), *asked(each)) for at, each in enumerate(asks)]
    state = state_with(queue("q"), *jobs)
    failed = FailedAttempts(state, faithful=faithful)
    for each in jobs[:-1]:
        failed.note_failure(each.name, each.pods())
    return failed.refused_like(jobs[-1].name, jobs[-1].pods())


@pytest.mark.parametrize(
    ("asks", "ours", "peers"),
    [
        (["1:4", "1:2", "1:3", "1:3"], "1", "1"),  # the least of them
        (["1:2", "1:2", "1:2"], "1", "1"),  # the latest of those that asked for as little
        (["1:2", "2:1", "2:1"], "1", "0"),  # neither is less: ours remembers its equal
        (["1:2", "2:1", "2:1", "2:1"], "2", "0"),  # the latest of them
        (["1:2", "2:1", "3:1"], None, "0"),  # but of others only the least
        (["2:2", "1:1", "1:2"], "1", "1"),
    ],
)
def test_of_many_that_failed_the_least_speaks(
    asks: list[str], ours: str | None, peers: str | None
) -> None:
    assert speaks_for(asks, faithful=False) == ours
    assert speaks_for(asks, faithful=True) == peers


def test_for_kai_pods_that_have_a_place_are_no_part_of_a_job() -> None:
    first, second = job(FIRST, replace(ASKED, count=3), minimum=1), job(SECOND, ASKED)
    state = state_with(queue("q"), first, second)
    assert not is_skipped(state, faithful=True)  # three against one
    start(state, FIRST, numbered_pod("main", 0), numbered_pod("main", 1))
    assert is_skipped(state, faithful=True)  # one against one
    state.apply(WorkloadLeaving(workload=FIRST, pods=(numbered_pod("main", 1),)))
    assert not is_skipped(state, faithful=True)  # one that leaves is not there any more


def test_for_kai_gated_pods_are_a_part_of_a_job_but_ask_for_nothing() -> None:
    gated = replace(ASKED, name="gated", requests=(9000, 9000), gated=True)
    large = replace(ASKED, name="large", requests=(9000, 9000))
    for first, second, skipped in (
        ((ASKED, gated), (ASKED, gated), True),
        ((ASKED, gated), (ASKED,), False),
        ((ASKED, gated), (ASKED, large), True),
        ((ASKED, large), (ASKED, gated), False),
    ):
        state = state_with(
            queue("q"), job(FIRST, *first, minimum=1), job(SECOND, *second, minimum=1)
        )
        assert is_skipped(state, faithful=True) == skipped


def test_for_kai_pods_of_other_sub_groups_are_other_pods_whatever_their_names() -> None:
    def split(name: WorkloadName, groups: str) -> Workload:
        sets = [
            replace(ASKED, name=f"{each}{at}", sub_group=each) for at, each in enumerate(groups)
        ]
        return job(name, *sets)

    for first, second, skipped in (("ab", "cd", True), ("aab", "cdd", True), ("ab", "cc", False)):
        state = state_with(queue("q"), split(FIRST, first), split(SECOND, second))
        assert is_skipped(state, faithful=True) == skipped


# Laws.

few_constraints = st.builds(
    PodConstraints,
    node_selector=st.sampled_from([(), (), ((HOST, "n0"),)]),
    host_ports=st.sampled_from([(), (), (("TCP", 80),)]),
    pod_anti_affinity=st.sampled_from([(), (), (APART,)]),
    pod_affinity=st.sampled_from([(), (), (), (APART,)]),
)


@st.composite
def single_pods(draw: st.DrawFn, name: str) -> Workload:
    share = draw(st.sampled_from([None, None, GpuShare(thousandths=500)]))
    gpu = 500 if share else draw(st.sampled_from([0, 1000, 2000]))
    asked = PodSet(
        name="main",
        count=1,
        min_count=0,
        requests=(draw(st.sampled_from([500, 1000, 2000])), gpu),
        gpu_share=share,
        constraints=draw(few_constraints),
        labels=draw(st.sampled_from([(), (("app", "web"),), (("job-name", name),)])),
    )
    return replace(
        job(WorkloadName(name), asked),
        namespace=draw(st.sampled_from(["default", "default", "other"])),
        priority=draw(st.sampled_from([50, 50, 75])),
    )


def finder_of(state: ClusterState) -> NodeFinder:
    index = NodeIndex(state, spread_gpus=False, spread_cpus=False)
    return NodeFinder(state, index, DeviceRule(spread=False, wait_to_pack=False))


@st.composite
def shared_nodes(draw: st.DrawFn) -> tuple[ClusterState, list[WorkloadName]]:
    """Two small nodes, some pods on them wherever they fit, and some that wait."""
    nodes = [
        Node(name=name, allocatable=(3000, 2000), labels={HOST: name}) for name in ("n0", "n1")
    ]
    count = draw(st.integers(2, 8))
    state = state_with(queue("q"), *nodes, *[draw(single_pods(f"j{at}")) for at in range(count)])
    finder = finder_of(state)
    pod, waiting = numbered_pod("main", 0), []
    for name in list(state.workloads):
        spot = finder.find(state.workloads[name], 0) if draw(st.booleans()) else None
        if spot is None:
            waiting.append(name)
        else:
            place = (Placement(pod, spot.node, spot.share),)
            state.apply(WorkloadStarted(workload=name, placements=place, at_ms=0))
    return state, waiting


@settings(max_examples=scale_examples(200))
@given(world=shared_nodes())
def test_a_skipped_job_would_have_found_no_node(
    world: tuple[ClusterState, list[WorkloadName]],
) -> None:
    state, waiting = world
    finder = finder_of(state)
    failed = FailedAttempts(state)
    for name in waiting:
        like = failed.refused_like(name, (numbered_pod("main", 0),))
        found = finder.find(state.workloads[name], 0)
        assert like is None or found is None, f"{name} after {like}"
        if found is None:
            failed.note_failure(name, (numbered_pod("main", 0),))


@settings(max_examples=scale_examples(100))
@given(world=shared_nodes(), faithful=st.booleans(), across_queues=st.booleans())
def test_the_twin_of_one_that_failed_is_always_skipped(
    world: tuple[ClusterState, list[WorkloadName]], faithful: bool, across_queues: bool
) -> None:
    state, waiting = world
    failed = FailedAttempts(state, across_queues=across_queues, faithful=faithful)
    for name in waiting:
        failed.note_failure(name, (numbered_pod("main", 0),))
    for name in waiting:
        assert failed.refused_like(name, (numbered_pod("main", 0),)) is not None


gangs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3)


@settings(max_examples=scale_examples(150))
@given(asks=st.lists(gangs, min_size=2, max_size=6))
def test_kais_answer_is_that_of_its_rule_written_plainly(asks: list[list[tuple[int, int]]]) -> None:
    """One representative for as many pods; who has no pod that is smaller is not easier."""
    jobs = [job(WorkloadName(str(at)), *pods_of(*each)) for at, each in enumerate(asks)]
    state = state_with(queue("q"), *jobs)
    failed = FailedAttempts(state, faithful=True)
    kept: dict[int, int] = {}
    for at, each in enumerate(asks):
        mine = sorted(each)
        theirs = sorted(asks[kept[len(each)]]) if len(each) in kept else None
        is_easier = theirs is None or any(
            a[0] <= b[0] and a[1] <= b[1] and a != b for a, b in zip(mine, theirs, strict=True)
        )
        got = failed.refused_like(jobs[at].name, jobs[at].pods())
        assert got == (None if is_easier else str(kept[len(each)]))
        failed.note_failure(jobs[at].name, jobs[at].pods())
        if theirs is None or all(
            a[0] <= b[0] and a[1] <= b[1] for a, b in zip(mine, theirs, strict=True)
        ):
            kept[len(each)] = at
