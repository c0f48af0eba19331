"""Nodes that are alike share a row, those with the most free come first, the rest is counted."""

from collections.abc import Sequence

import pytest

from fairlead.explain.jobs.nodes import Free, NodeStanding, node_table
from fairlead.explain.text.names import first_few
from fairlead.model.axes import Axis
from fairlead.model.plan import Tally

GPU = Axis("nvidia.com/gpu")


def standing(node: str, what: str, now: Sequence[int], later: Sequence[int] = ()) -> NodeStanding:
    free = Free(axis=GPU, now=tuple(now), later=tuple(later or now))
    return NodeStanding(node=node, what=what, free=(free,))


def table(*standings: NodeStanding) -> list[tuple[str, ...]]:
    counts: dict[str, int] = {}
    for each in standings:
        counts[each.what] = counts.get(each.what, 0) + 1
    tallies = [Tally(count=n, of=len(standings), what=what) for what, n in counts.items()]
    tallies.sort(key=lambda tally: -tally.count)
    head, *rows = node_table("p", standings, tuple(tallies)).table
    assert head == ("NODES", "", "FREE NVIDIA.COM/GPU")
    return rows


def test_nodes_with_room_come_first_and_those_that_are_alike_share_a_row() -> None:
    assert table(
        standing("a", "lack nvidia.com/gpu", [0]),
        standing("b", "lack nvidia.com/gpu", [1000]),
        standing("c", "lack nvidia.com/gpu", [0]),
        standing("d", "have room once others have left", [1000], [4000]),
        standing("e", "have room", [7000]),
    ) == [
        ("d", "has room once others have left", "1, then 4"),
        ("e", "has room", "7"),
        ("b", "has too little free nvidia.com/gpu", "1"),
        ("a, c", "have too little free nvidia.com/gpu", "0"),
    ]


def test_many_nodes_are_counted() -> None:
    few = [standing(f"few{at}", "lack cpu", [at * 1000]) for at in range(5)]
    many = [standing(f"many{at}", "lack memory", [2000]) for at in range(6)]
    assert table(*many, *few) == [
        ("many0, many1, many2, and 3 more", "have too little free memory", "2"),
        ("few4", "has too little free cpu", "4"),
        ("few3", "has too little free cpu", "3"),
        ("few2", "has too little free cpu", "2"),
        ("(2 more)", "have too little free cpu", ""),
    ]


@pytest.mark.parametrize(
    ("now", "later", "text"),
    [
        ([1000], [1000], "1"),
        ([1000, 500, 250], [1000, 500, 250], "1 + 0.5 + 0.25"),
        ([0, 300], [0, 300], "0.3"),
        ([0], [0, 700], "0, then 0.7"),
        ([0, 300], [1000], "0.3, then 1"),
        ([2000, 9, 8, 7, 6], [2000, 9, 8, 7, 6], "2 + 0.009 + 0.008 + 0.007 + ..."),
    ],
)
def test_whole_devices_and_parts_of_others_are_a_sum(
    now: list[int], later: list[int], text: str
) -> None:
    assert table(standing("n", "have room", now, later)) == [("n", "has room", text)]


def test_a_node_that_is_not_ready_has_nothing_to_show() -> None:
    away = NodeStanding(node="away", what="are not ready", free=())
    assert table(away, standing("n", "have room", [1000])) == [
        ("n", "has room", "1"),
        ("away", "is not ready", ""),
    ]


@pytest.mark.parametrize(
    ("count", "text"), [(0, ""), (1, "a"), (3, "a, b, c"), (5, "a, b, c, and 2 more")]
)
def test_the_first_few_are_named(count: int, text: str) -> None:
    assert first_few("abcde"[:count]) == text
