"""Where there is plainly room for all, they find it in any order and on any node that fits."""

from operator import le, sub
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairlead.model.accounting.journal import Journal
from fairlead.model.accounting.node_books import NodeBooks
from fairlead.model.node import ForeignPod, Node
from fairlead.model.selector import LabelSelector, PodTerm
from fairlead.model.workload import GpuShare, PodConstraints, PodId
from fairlead.placement.node_filters import node_defect
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.placement.waiting_pods import Shape

ANYWHERE = PodConstraints()
FAST = PodConstraints(node_selector=(("kind", "fast"),))
ANYBODY = PodTerm(selector=LabelSelector(), topology_key="host")


def node(name: str, *idle: int, kind: str = "slow") -> Node:
    return Node(name=name, allocatable=idle, labels={"kind": kind})


def has_room(nodes: list[Node], waiting: dict[Shape, int], *foreign: ForeignPod) -> bool:
    resources = [f"r{at}" for at in range(len(nodes[0].allocatable))] if nodes else []
    books = NodeBooks(Journal(), resources)
    for each in nodes:
        books.add(each)
    for pod in foreign:
        books.change_foreign(pod)
    return is_room_for_all(books, {each.name: each.allocatable for each in nodes}, waiting)


def shape(*requests: int, where: PodConstraints = ANYWHERE) -> Shape:
    return Shape(requests, None, where)


SCENARIOS = {
    # On each node are 8 // 2 places.
    "eight of 2 fit two nodes of 8": ([(8,), (8,)], {shape(2): 8}, True),
    "nine of 2 do not": ([(8,), (8,)], {shape(2): 9}, False),
    "of two resources the scarcer counts: 8 // 2 and 3 // 1": ([(8, 3)], {shape(2, 1): 4}, False),
    # One of 5 may come first to each node, then there is no 5 left; and 1 of 5 counts as 5: 2 < 3.
    "the largest counts for all on its node": ([(8,), (8,)], {shape(5): 1, shape(1): 2}, False),
    "a node that is too small for it counts by the others": (
        [(8,), (4,)],
        {shape(5): 1, shape(1): 4},
        False,  # of 5 places 1 is on the first node, where both may come: 1 < 5
    ),
    "pods that ask for nothing always fit": ([(0,)], {shape(0): 99}, True),
    "nobody fits nowhere": ([(1,)], {shape(2): 1}, False),
    "nobody waits": ([(1,)], {}, True),
}


@pytest.mark.parametrize(("nodes", "waiting", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenario(nodes: list[tuple[int, ...]], waiting: dict[Shape, int], expected: bool) -> None:
    made = [node(f"n{at}", *idle) for at, idle in enumerate(nodes)]
    assert has_room(made, waiting) == expected


def test_pods_on_nodes_apart_do_not_compete() -> None:
    """8 of 5 may only be on fast nodes, the others only on those that are too small for them."""
    slow = [node(f"s{at}", 4) for at in range(3)]
    fast = [node(f"f{at}", 40, kind="fast") for at in range(1)]
    only_slow = PodConstraints(node_selector=(("kind", "slow"),))
    waiting = {shape(5, where=FAST): 8, shape(1, where=only_slow): 12}
    assert has_room([*slow, *fast], waiting)
    assert not has_room([*slow, *fast], waiting | {shape(5, where=FAST): 9})


@pytest.mark.parametrize(
    "odd",
    [
        Shape((1,), GpuShare(thousandths=500), ANYWHERE),
        shape(1, where=PodConstraints(host_ports=(("TCP", 80),))),
        shape(1, where=PodConstraints(pod_affinity=(ANYBODY,))),
        shape(1, where=PodConstraints(pod_anti_affinity=(ANYBODY,))),
        shape(1, where=PodConstraints(unsupported=("volumes",))),
        shape(1, where=PodConstraints(held_nodes=frozenset({"n0"}))),
    ],
)
def test_who_looks_at_more_than_room_is_not_plainly_placed(odd: Shape) -> None:
    assert has_room([node("n0", 9)], {shape(1): 1})
    assert not has_room([node("n0", 9)], {odd: 1})


def test_nobody_is_plainly_placed_beside_pods_that_keep_others_off() -> None:
    apart = ForeignPod(
        id=PodId("f"),
        name="ns/f",
        node="n0",
        requests=(0,),
        asked_about=True,
        pod_anti_affinity=(ANYBODY,),
    )
    assert not has_room([node("n0", 9)], {shape(1): 1}, apart)


sizes = st.tuples(st.integers(0, 3), st.integers(0, 3))
wheres = st.sampled_from([ANYWHERE, ANYWHERE, FAST])


@given(
    idle=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.booleans()), max_size=5),
    waiting=st.dictionaries(
        st.builds(Shape, sizes, st.none(), wheres), st.integers(1, 5), max_size=3
    ),
    seed=st.integers(),
)
def test_in_any_order_and_on_any_node(
    idle: list[tuple[int, int, bool]], waiting: dict[Shape, int], seed: int
) -> None:
    nodes = [
        node(f"n{at}", cpu, gpu, kind="fast" if fast else "slow")
        for at, (cpu, gpu, fast) in enumerate(idle)
    ]
    assume(has_room(nodes, waiting))
    chance, left = Random(seed), {each.name: each.allocatable for each in nodes}
    pods = [each for each, count in waiting.items() for _ in range(count)]
    chance.shuffle(pods)
    for pod in pods:
        fitting = [
            each.name
            for each in nodes
            if node_defect(each, pod.constraints) is None
            and all(map(le, pod.requests, left[each.name]))
        ]
        assert fitting
        name = chance.choice(fitting)
        left[name] = tuple(map(sub, left[name], pod.requests))
