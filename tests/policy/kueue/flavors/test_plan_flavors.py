"""Who gets how much on which flavor: quota at any node, limits, pod sets, and what nodes allow."""

from typing import Any

import pytest

from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Start
from fairlead.model.queue import FlavorFungibility, ResourceGroup
from fairlead.model.selector import LabelRequirement, NodeTerm, Taint, Toleration
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    cluster,
    cycles,
    decided,
    finish,
    granted,
    held,
    plan,
    told,
    with_catalogue,
    with_constraints,
    with_rules,
)
from tests.policy.kueue.told_reason import told as told_reason


def backlog(queue: str, count: int) -> str:
    return "\n".join(f"{queue}{number} {queue} 1 {number}" for number in range(count))


def filled(queues: str, *jobs: str) -> dict[str, int]:
    """What each queue has once jobs of 1 came for it until no more fitted."""
    state = cluster(queues, "name queue asks created\n" + "\n".join(jobs))
    list(cycles(state, CLASSICAL))
    return held(state)


TREE = """
name parent quota borrow lend
ROOT -      1     -      -
D    ROOT   2     4      3
a1   D      5     -      3
a2   D      1     -      -
b    ROOT   8     -      -
"""


def test_a_queue_alone_reaches_what_the_tree_holds_for_it() -> None:
    """A1 retains 5 - 3 = 2, so D has 2 + 3 + 1 = 6 and retains 6 - 3 = 3.

    The root has 1 + 3 + 8 = 12. D may have 6 + 4 = 10, so a1 gets 2 + 10 = 12 and a2 gets 10. B
    gets all of the root, 12.
    """
    assert filled(TREE, backlog("a1", 15)) == {"a1": 12, "a2": 0, "b": 0}
    assert filled(TREE, backlog("a2", 15)) == {"a1": 0, "a2": 10, "b": 0}
    assert filled(TREE, backlog("b", 15)) == {"a1": 0, "a2": 0, "b": 12}


def test_together_they_use_all_that_there_is() -> None:
    """1 + 2 + 5 + 1 + 8 = 17, for which jobs come everywhere."""
    found = filled(TREE, backlog("a1", 17), backlog("a2", 17), backlog("b", 17))
    assert sum(found.values()) == 17


def test_nominal_quota_is_a_queues_own_whoever_comes_first() -> None:
    """B1 takes b's own 3, and a1 the 3 of a before b2 could borrow them, though a1 came last."""
    state = cluster(
        """
        name parent quota
        POOL -      0
        a    POOL   3
        b    POOL   3
        """,
        """
        name queue asks created
        a1   a     3    9
        b1   b     3    1
        b2   b     3    2
        """,
    )
    assert told(plan(state)) == ["start b1", "start a1", "wait b2: WaitingForQuota"]


@pytest.mark.parametrize(("limit", "gets"), [("0", 2), ("3", 5), ("-", 10)])
def test_a_borrowing_limit_bounds_what_comes_from_others(limit: str, gets: int) -> None:
    """2 of its own, and 3 of the 8 of others with a limit of 3."""
    queues = f"""
    name parent quota borrow
    POOL -      0     -
    a    POOL   2     {limit}
    b    POOL   8     -
    """
    assert filled(queues, backlog("a", 12)) == {"a": gets, "b": 0}


def test_who_asks_for_more_than_its_borrowing_limit_ever_allows_is_told_so() -> None:
    """2 + 3 < 6: however long it waits."""
    state = cluster(
        """
        name parent quota borrow
        POOL -      0     -
        a    POOL   2     3
        b    POOL   8     -
        """,
        "name queue asks\nw a 6",
    )
    assert told_reason(decided(plan(state), "w").reason) == [
        "ExceedsMaxQuota a",
        "any/gpu: request 6 > potential 5 at a",
    ]


@pytest.mark.parametrize(("limit", "gets"), [("0", 2), ("3", 5), ("8", 10), ("-", 10)])
def test_a_lending_limit_withholds_the_rest(limit: str, gets: int) -> None:
    """B has 8 and lends 3 at most: a gets its 2 and those 3."""
    queues = f"""
    name parent quota lend
    POOL -      0     -
    a    POOL   2     -
    b    POOL   8     {limit}
    """
    assert filled(queues, backlog("a", 12)) == {"a": gets, "b": 0}


def test_weights_bound_how_much_of_a_common_pool_each_gets() -> None:
    """Heads take turns in the order of shares: 12 by weights 0.5, 1 and 2.5 is 1.5, 3 and 7.5.

    Ones are whole, so it stops within one of that; who weighs 0 is last and gets nothing.
    """
    queues = """
    name parent quota weight within reclaim
    POOL -      12    1      -      -
    half POOL   0     0.5    Never  Any
    one  POOL   0     1      Never  Any
    two  POOL   0     2.5    Never  Any
    zero POOL   0     0      Never  Any
    """
    jobs = [backlog(name, 15) for name in ("half", "one", "two", "zero")]
    state = cluster(queues, "name queue asks created\n" + "\n".join(jobs))
    list(cycles(state, FAIR))
    assert held(state) == {"half": 1, "one": 3, "two": 8, "zero": 0}


def test_who_weighs_nothing_has_what_is_its_own_and_what_nobody_wants() -> None:
    queues = """
    name parent quota weight within reclaim
    POOL -      4     1      -      -
    zero POOL   2     0      Never  Any
    one  POOL   0     1      Never  Any
    """
    state = cluster(queues, "name queue asks created\n" + backlog("zero", 9))
    list(cycles(state, FAIR))
    assert held(state) == {"zero": 6, "one": 0}


RED_BLUE = "cpu:red,blue"
LOW_AND_TOP = """
name queue asks priority running
low  q     2    0        1
top  q     2    9        -
"""
GIVES_WAY = ["evict low for top: InClusterQueue", "reserve top until low left"]


def two_flavors(queues: str, jobs: str, **fungibility: Any) -> ClusterState:
    """Queue q goes from red to blue as *fungibility* says."""
    state = cluster(queues, jobs, RED_BLUE)
    with_rules(state, "q", fungibility=FlavorFungibility(**fungibility))
    return state


def test_flavors_are_tried_in_their_order() -> None:
    """Red has 2: a takes them, b goes on to blue, and c finds neither."""
    jobs = """
    name queue asks created
    a    q     2    1
    b    q     2    2
    c    q     1    3
    """
    state = two_flavors("name parent quota\nq - 2,2", jobs)
    planned = plan(state)
    assert told(planned) == ["start a", "start b", "wait c: WaitingForQuota"]
    assert granted(planned, "a") == ["1 on red"]
    assert granted(planned, "b") == ["1 on blue"]


@pytest.mark.parametrize(("when", "flavor"), [("MayStopSearch", "red"), ("TryNextFlavor", "blue")])
def test_when_can_borrow_decides_between_borrowing_and_the_next_flavor(
    when: str, flavor: str
) -> None:
    """Q has 1 red and 3 blue: 3 red would be borrowed, 3 blue are its own."""
    queues = """
    name   parent quota
    POOL   -      0,0
    lender POOL   4,4
    q      POOL   1,3
    """
    state = two_flavors(queues, "name queue asks\na q 3", when_can_borrow=when)
    assert granted(plan(state), "a") == [f"1 on {flavor}"]


@pytest.mark.parametrize(
    ("when", "outcome", "flavor"),
    [
        ("TryNextFlavor", ["start top"], "blue"),
        ("MayStopSearch", GIVES_WAY, "red"),
    ],
)
def test_when_can_preempt_decides_between_preempting_and_the_next_flavor(
    when: str, outcome: list[str], flavor: str
) -> None:
    """Low has the 2 red; 2 blue are free."""
    queues = "name parent quota within\nq - 2,2 LowerPriority"
    state = two_flavors(queues, LOW_AND_TOP, when_can_preempt=when)
    planned = plan(state)
    assert told(planned) == outcome
    assert granted(planned, "top") == [f"1 on {flavor}"]


@pytest.mark.parametrize(
    ("preference", "outcome", "flavor"),
    [
        ("BorrowingOverPreemption", ["start top"], "blue"),
        ("PreemptionOverBorrowing", GIVES_WAY, "red"),
    ],
)
def test_preference_decides_between_preempting_and_borrowing(
    preference: str, outcome: list[str], flavor: str
) -> None:
    """Low has the 2 red that are q's; of blue q has none and would borrow."""
    queues = """
    name   parent quota within
    POOL   -      0,0   -
    lender POOL   0,4   -
    q      POOL   2,0   LowerPriority
    """
    choices = {"when_can_borrow": "TryNextFlavor", "preference": preference}
    state = two_flavors(queues, LOW_AND_TOP, **choices)
    planned = plan(state)
    assert told(planned) == outcome
    assert granted(planned, "top") == [f"1 on {flavor}"]


def test_resources_of_one_group_take_one_flavor_together() -> None:
    """Red has 4 cpu but 1 gpu, blue 2 and 2: who asks for 2 and 2 takes blue for both."""
    state = cluster(
        "name parent quota\nq - 4,1,2,2", "name queue asks\nw q 2,2", "cpu,gpu:red,blue"
    )
    planned = plan(state)
    assert granted(planned, "w") == ["1 on blue"]
    start = decided(planned, "w")
    assert isinstance(start, Start)
    assert start.flavors == ({"cpu": "blue", "gpu": "blue"},)


def test_resources_of_several_groups_take_their_flavors_apart() -> None:
    """Cpu is on red, which has 2; of gpu big has 0 and small 1."""
    state = cluster(
        "name parent quota\nq - 2,0,0,1", "name queue asks\nw q 2,1", "cpu:red,blue gpu:big,small"
    )
    start = decided(plan(state), "w")
    assert isinstance(start, Start)
    assert start.flavors == ({"cpu": "red", "gpu": "small"},)


def test_a_group_that_is_full_keeps_a_workload_out_although_the_other_has_room() -> None:
    state = cluster(
        "name parent quota\nq - 8,1", "name queue asks\nw q 1,1\nv q 1,1", "cpu:red gpu:big"
    )
    planned = plan(state)
    assert told(planned) == ["start v", "wait w: WaitingForQuota"]
    assert told_reason(decided(planned, "w").reason)[1:] == [
        "big/gpu: request 1 > available 0 at q",
        "q has 1 big/gpu, 0 borrowed",
    ]


def test_pod_sets_count_together_and_may_be_on_different_flavors() -> None:
    """Three pods of 1 take the 3 red; the two of 2 find 0 red left and take 4 blue."""
    state = cluster("name parent quota\nq - 4,4", "name queue asks\nw q 3x1+2x2", RED_BLUE)
    assert granted(plan(state), "w") == ["3 on red", "2 on blue"]


def test_pod_sets_that_do_not_fit_together_wait_together() -> None:
    """Each set would fit alone: 3 + 2 x 2 = 7 > 6."""
    state = cluster("name parent quota\nq - 6", "name queue asks\nw q 3x1+2x2")
    assert told_reason(decided(plan(state), "w").reason) == [
        "ExceedsMaxQuota q",
        "any/gpu: request 7 > potential 6 at q",
    ]


def test_all_pods_of_a_set_are_charged() -> None:
    state = cluster("name parent quota\nq - 7", "name queue asks created\na q 3x2 1\nb q 2 2")
    assert told(plan(state)) == ["start a", "wait b: WaitingForQuota"]
    list(cycles(state, CLASSICAL))
    assert held(state) == {"q": 6}


PARTLY = "name queue asks created running\nold q 3 1 1\nw q 1-5x1 2 -"


def test_who_accepts_less_gets_as_much_as_there_is_and_does_not_queue_for_the_rest() -> None:
    """3 of 5 are in use: two of five pods start. When the others are done, nothing comes after."""
    state = cluster("name parent quota\nq - 5", PARTLY)
    planned = plan(state)
    assert told(planned) == ["start w"]
    assert granted(planned, "w") == ["2 on any"]
    carry_out(state, planned.decisions, 1, keeps_reservations=False)
    assert held(state) == {"q": 5}
    finish(state, "old")
    assert told(plan(state)) == []
    assert held(state) == {"q": 2}


def test_without_the_gate_for_partial_admission_all_pods_or_none() -> None:
    gates = KueueSettings(feature_gates=(("PartialAdmission", False),))
    state = cluster("name parent quota\nq - 5", PARTLY)
    assert told(plan(state, gates)) == ["wait w: WaitingForQuota"]


def test_who_does_not_fit_with_its_fewest_pods_is_told_of_these() -> None:
    """Old has 3 of 5, and at least 3 pods are wanted."""
    state = cluster("name parent quota\nq - 5", PARTLY.replace("1-5x1", "3-5x1"))
    assert told_reason(decided(plan(state), "w").reason)[:2] == [
        "WaitingForQuota q",
        "any/gpu: least request 3 > available 2 at q",
    ]


LABELLED = {
    "red": ResourceFlavor(name="red", node_labels=(("kind", "red"),)),
    "blue": ResourceFlavor(
        name="blue",
        node_labels=(("kind", "blue"),),
        node_taints=(Taint(key="costly", effect="NoSchedule"),),
    ),
}
ANY_TAINT = Toleration(operator="Exists")


def wants(kind: str, *tolerations: Toleration) -> PodConstraints:
    return PodConstraints(node_selector=(("kind", kind),), tolerations=tolerations)


def affine(kind: str, *tolerations: Toleration) -> PodConstraints:
    one = LabelRequirement(key="kind", operator="In", values=(kind,))
    return PodConstraints(node_terms=(NodeTerm(labels=(one,)),), tolerations=tolerations)


def on_nodes(*constraints: PodConstraints, asks: str = "1") -> ClusterState:
    state = cluster("name parent quota\nq - 4,4", f"name queue asks\nw q {asks}", RED_BLUE)
    with_catalogue(state, flavors=LABELLED)
    with_constraints(state, "w", *constraints)
    return state


@pytest.mark.parametrize(
    ("constraints", "flavor"),
    [
        (PodConstraints(), "red"),
        (wants("red"), "red"),
        (wants("blue", ANY_TAINT), "blue"),
        (affine("blue", ANY_TAINT), "blue"),
    ],
    ids=["anywhere", "selector", "selector and toleration", "affinity and toleration"],
)
def test_pods_get_a_flavor_whose_nodes_they_could_run_on(
    constraints: PodConstraints, flavor: str
) -> None:
    assert granted(plan(on_nodes(constraints)), "w") == [f"1 on {flavor}"]


def test_if_no_flavor_suits_it_is_told_what_speaks_against_each() -> None:
    assert told_reason(decided(plan(on_nodes(wants("blue"))), "w").reason) == [
        "NoMatchingFlavor q",
        "red lacks kind=blue",
        "blue has the taint costly=:NoSchedule",
    ]


def test_two_that_no_flavor_suits_are_each_told_of_their_own_conditions() -> None:
    """They ask for the same amounts in the same queue, but not for the same nodes."""
    state = cluster("name parent quota\nq - 4", "name queue asks\nv q 1\nw q 1", "cpu:red")
    with_catalogue(state, flavors=LABELLED)
    with_constraints(state, "v", wants("green"))
    with_constraints(state, "w", wants("violet"))
    planned = plan(state)
    assert decided(planned, "v").reason.names == ("red lacks kind=green",)
    assert decided(planned, "w").reason.names == ("red lacks kind=violet",)


def test_a_suitable_flavor_that_is_full_is_not_replaced_by_one_that_does_not_suit() -> None:
    """Red has 4, w asks for 5 on red; blue is free but not for it."""
    state = on_nodes(wants("red"), asks="5")
    assert told_reason(decided(plan(state), "w").reason) == [
        "ExceedsMaxQuota q",
        "red/cpu: request 5 > potential 4 at q",
    ]


def test_pod_sets_with_different_selectors_get_different_flavors() -> None:
    state = on_nodes(wants("blue", ANY_TAINT), wants("red"), asks="2x1+1x2")
    assert granted(plan(state), "w") == ["2 on blue", "1 on red"]


def counts_pods(*, covered: bool) -> ClusterState:
    state = cluster(
        "name parent quota\nq - 8,2", "name queue asks\na q 2x1,1\nb q 1x1,1", "cpu:red pods:any"
    )
    if not covered:
        group = ResourceGroup(resources=("cpu",), flavors=("red",))
        with_rules(state, "q", resource_groups=(group,))
    return state


def test_pods_are_counted_where_a_group_covers_them() -> None:
    """Two pods are all; cpu would be there for 8."""
    planned = plan(counts_pods(covered=True))
    assert told(planned) == ["start a", "wait b: WaitingForQuota"]
    assert told_reason(decided(planned, "b").reason)[1] == "any/pods: request 1 > available 0 at q"


def test_pods_are_not_counted_where_none_does() -> None:
    planned = plan(counts_pods(covered=False))
    assert told(planned) == ["start a", "start b"]
    start = decided(planned, "a")
    assert isinstance(start, Start)
    assert start.flavors == ({"cpu": "red"},)


def test_any_other_resource_that_no_group_covers_keeps_a_workload_out() -> None:
    state = cluster("name parent quota\nq - 8,2", "name queue asks\na q 1,1", "cpu:red gpu:any")
    with_rules(state, "q", resource_groups=(ResourceGroup(resources=("cpu",), flavors=("red",)),))
    assert told_reason(decided(plan(state), "a").reason) == ["ResourceNotCovered q", "gpu"]


def test_a_resource_that_is_not_asked_for_needs_no_cover() -> None:
    state = cluster("name parent quota\nq - 8,2", "name queue asks\na q 1,0", "cpu:red gpu:any")
    with_rules(state, "q", resource_groups=(ResourceGroup(resources=("cpu",), flavors=("red",)),))
    assert told(plan(state)) == ["start a"]
