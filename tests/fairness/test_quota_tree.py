"""The quota tree: stories with their arithmetic, then laws, then the recursive formulas."""

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from tests.conformance import kueue_nodes
from tests.fairness.reference_quota_tree import QuotaWorld, ReferenceTree, quota_worlds

# One axis. "-" is no parent, no limit, or usage that comes from the children.
STORIES = {
    # A: 2 + (5 - 2) + 1 = 6, of which 6 - 3 stay. root: 0 + (6 - 3) + 8 = 11.
    # A uses (6 - 2) + 3 = 7; root (7 - 3) + 2 = 6.
    # potential A = min(3 + 11, 6 + 4); available A = 0 + min(5, (6 - 3) - (7 - 3) + 4) = 3.
    "limits hold back and cap on the way up": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        root -      0       -      -    -       | 0        11      6     11        5
        A    root   2       4      3    -       | 3        6       7     10        3
        a1   A      5       -      3    6       | 2        5       6     12        3
        a2   A      1       -      -    3       | 0        1       3     10        3
        b    root   8       -      -    2       | 0        8       2     11        5
    """,
    # q keeps 4 of 10: the first 4 it uses are invisible above, the fifth is not.
    "retained quota is used up first": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        top  -      0       -      -    -       | 0        9       1     9         8
        q    top    10      -      6    5       | 4        10      5     13        8
        r    top    3       -      -    0       | 0        3       0     9         8
    """,
    # r lends nothing: q sees only its own 4. r sees its own 6 and what q leaves, 4 - 3.
    "a queue that lends nothing can still borrow": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        top  -      0       -      -    -       | 0        4       3     4         1
        q    top    4       -      -    3       | 0        4       3     4         1
        r    top    6       -      0    0       | 6        6       0     10        7
    """,
    # 12 in use of 8: available is -4 at the top; p has 2 of its own left beside that.
    "after quota shrank the missing amount shows as negative": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        top  -      0       -      -    -       | 0        8       12    8         -4
        p    top    2       -      0    0       | 2        2       0     10        -2
        q    top    8       -      -    12      | 0        8       12    8         -4
    """,
    # q may borrow 1: 3 + 1 - 2 used leaves 2, though the top has 8 left.
    "a borrowing limit counts on top of the own quota": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        top  -      0       -      -    -       | 0        10      2     10        8
        q    top    3       1      -    2       | 0        3       2     4         2
        r    top    7       -      -    0       | 0        7       0     10        8
    """,
    "queues without a cohort share nothing": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        p    -      3       -      -    1       | 0        3       1     3         2
        q    -      5       -      -    9       | 0        5       9     5         -4
    """,
    # co may lend 20 although it has 2 + 3: a limit above the quota holds nothing back.
    "a cohort may offer to lend more than it has": """
        name parent nominal borrow lend charged | retained subtree usage potential available
        top  -      1       -      -    -       | 0        6       4     6         2
        co   top    2       -      20   -       | 0        5       4     6         2
        q    co     3       -      -    4       | 0        3       4     6         2
    """,
}


def rows(table: str) -> list[dict[str, str]]:
    head, *lines = [line.split() for line in table.replace("|", " ").strip().splitlines()]
    return [dict(zip(head, line, strict=True)) for line in lines]


def number(text: str) -> int | None:
    return None if text == "-" else int(text)


def node(row: dict[str, str]) -> QuotaNode:
    return QuotaNode(
        name=row["name"],
        parent=None if row["parent"] == "-" else row["parent"],
        weight=Decimal(1),
        guaranteed=(int(row["nominal"]),),
        borrow_limit=(number(row["borrow"]),),
        lend_limit=(number(row["lend"]),),
        listed=frozenset({0}),
    )


def plain(name: str, parent: str | None, *nominal: int) -> QuotaNode:
    """A node of weight 1 without limits that lists every axis."""
    return QuotaNode(
        name=name,
        parent=parent,
        weight=Decimal(1),
        guaranteed=nominal,
        borrow_limit=(None,) * len(nominal),
        lend_limit=(None,) * len(nominal),
        listed=frozenset(range(len(nominal))),
    )


@pytest.mark.parametrize("table", STORIES.values(), ids=STORIES.keys())
def test_every_figure_of_the_story_is_reached_by_charging(table: str) -> None:
    story = rows(table)
    tree = QuotaTree(["cpu"], [node(row) for row in story])
    for row in story:
        if row["charged"] != "-":
            tree.charge(row["name"], [int(row["charged"])])
    for row in story:
        figures = {
            "retained": tree.retained(row["name"]),
            "subtree": tree.subtree(row["name"]),
            "usage": tree.charged(row["name"]),
            "potential": tree.potential(row["name"]),
            "available": tree.available(row["name"]),
        }
        assert figures == {name: (int(row[name]),) for name in figures}, row["name"]


def test_a_request_fits_up_to_what_is_available_and_not_beyond() -> None:
    # 10 + 5 on cpu with 12 in use leaves 3; gpu is overused by 2 and leaves nothing.
    nodes = [plain("top", None, 0, 0), plain("q", "top", 10, 1), plain("r", "top", 5, 0)]
    tree = QuotaTree(["cpu", "gpu"], nodes, {"q": (12, 3)})
    assert tree.fits("r", (3, 0))
    assert not tree.fits("r", (4, 0))
    assert not tree.fits("r", (3, 1))
    assert tree.fits("r", (0, 0))


def test_a_node_borrows_on_the_axes_where_it_uses_more_than_its_subtree() -> None:
    nodes = [plain("top", None, 0, 0, 9), plain("q", "top", 4, 4, 0), plain("r", "top", 4, 4, 0)]
    tree = QuotaTree(["a", "b", "c"], nodes, {"q": (5, 4, 1)})
    assert [tree.borrows_any("q", [axis]) for axis in range(3)] == [True, False, True]
    assert not tree.borrows_any("q", [])
    assert not tree.borrows_any("r", [0, 1, 2])
    assert not tree.borrows_any("top", [0, 1, 2])  # 5 of 8, 4 of 8, 1 of 9


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([plain("a", "b", 1)], "parent 'b' does not exist"),
        ([plain("a", "b", 1), plain("b", "a", 1)], "parent 'a' is its own ancestor"),
        ([plain("a", "a", 1), plain("b", None, 1)], "parent 'a' is its own ancestor"),
        ([plain("a", None, 1), plain("a", None, 1)], "two nodes have the same name"),
        ([plain("c", "b", 1), plain("b", "x", 1)], "parent 'x' does not exist"),
    ],
)
def test_nodes_that_form_no_tree_are_refused(nodes: list[QuotaNode], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        QuotaTree(["cpu"], nodes)


def test_usage_is_charged_at_leaves_only_and_never_goes_below_zero() -> None:
    nodes = [plain("top", None, 1), plain("q", "top", 1)]
    tree = QuotaTree(["cpu"], nodes)
    with pytest.raises(AssertionError, match="top has children"):
        tree.charge("top", [1])
    with pytest.raises(AssertionError, match="q: discharged more"):
        tree.discharge("q", [1])
    with pytest.raises(AssertionError, match="charged at leaves"):
        QuotaTree(["cpu"], nodes, {"top": [1]})
    with pytest.raises(KeyError, match="nobody"):
        QuotaTree(["cpu"], nodes, {"nobody": [1]})


def test_a_chain_deeper_than_the_recursion_limit_is_no_problem() -> None:
    depth = 5_000
    nodes = [plain("n0", None, 1)]
    nodes += [plain(f"n{i}", f"n{i - 1}", 1) for i in range(1, depth)]
    tree = QuotaTree(["cpu"], reversed(nodes))
    tree.charge(f"n{depth - 1}", [7])
    assert tree.subtree("n0") == (depth,)
    assert tree.available(f"n{depth - 1}") == (depth - 7,)


def figures(tree: QuotaTree, world: QuotaWorld) -> dict[str, tuple[object, ...]]:
    """Everything that the tree says about every node."""
    axes = range(len(world.axis_resources))
    return {
        node.name: (
            tree.subtree(node.name),
            tree.retained(node.name),
            tree.charged(node.name),
            tree.available(node.name),
            tree.potential(node.name),
            tuple(axis for axis in axes if tree.borrows_any(node.name, [axis])),
            tree.listed(node.name),
        )
        for node in world.nodes
    }


def by_formula(world: QuotaWorld) -> dict[str, tuple[object, ...]]:
    """The same figures from the recursive formulas."""
    reference = ReferenceTree(world.axis_resources, world.nodes, world.usage)
    axes = range(len(world.axis_resources))
    answers: dict[str, tuple[object, ...]] = {}
    for each in world.nodes:
        usage = tuple(reference.usage(each.name, axis) for axis in axes)
        subtree = tuple(reference.subtree(each.name, axis) for axis in axes)
        answers[each.name] = (
            subtree,
            tuple(reference.retained(each.name, axis) for axis in axes),
            usage,
            tuple(reference.available(each.name, axis) for axis in axes),
            tuple(reference.potential(each.name, axis) for axis in axes),
            tuple(axis for axis in axes if usage[axis] > subtree[axis]),
            reference.listed(each.name),
        )
    return answers


@given(world=quota_worlds())
def test_the_tree_equals_the_formulas(world: QuotaWorld) -> None:
    assert figures(world.tree(), world) == by_formula(world)


@given(world=quota_worlds(), data=st.data())
def test_charging_step_by_step_equals_counting_from_scratch(
    world: QuotaWorld, data: st.DataObject
) -> None:
    """Also with trials in between that are taken back, in an order of their own."""
    tree = QuotaTree(world.axis_resources, world.nodes)
    steps = [(leaf, part) for leaf, row in world.usage.items() for part in world.halves(row)]
    trials = data.draw(st.lists(st.tuples(st.sampled_from(world.leaves), world.amounts())))
    for leaf, amounts in trials:
        tree.charge(leaf, amounts)
    for leaf, amounts in data.draw(st.permutations(steps)):
        tree.charge(leaf, amounts)
    for leaf, amounts in data.draw(st.permutations(trials)):
        tree.discharge(leaf, amounts)
    assert figures(tree, world) == figures(world.tree(), world)


@given(world=quota_worlds(), data=st.data())
def test_listing_the_nodes_in_another_order_changes_nothing(
    world: QuotaWorld, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(world.nodes))
    tree = QuotaTree(world.axis_resources, shuffled, world.usage)
    assert figures(tree, world) == figures(world.tree(), world)


@given(world=quota_worlds())
def test_quota_and_usage_are_conserved(world: QuotaWorld) -> None:
    """What the nodes bring, and what the leaves use, is retained on the way or at a root."""
    tree = world.tree()
    below = [node.name for node in world.nodes if node.parent is not None]
    roots = [node.name for node in world.nodes if node.parent is None]
    for axis in range(len(world.axis_resources)):
        brought = sum(node.guaranteed[axis] for node in world.nodes)
        kept = sum(tree.retained(name)[axis] for name in below)
        assert brought == kept + sum(tree.subtree(name)[axis] for name in roots)

        charged = sum(row[axis] for row in world.usage.values())
        absorbed = sum(min(tree.charged(name)[axis], tree.retained(name)[axis]) for name in below)
        assert charged == absorbed + sum(tree.charged(name)[axis] for name in roots)


@given(world=quota_worlds(), data=st.data())
def test_a_request_fits_exactly_if_charging_it_leaves_nothing_negative(
    world: QuotaWorld, data: st.DataObject
) -> None:
    tree = world.tree()
    leaf = data.draw(st.sampled_from(world.leaves))
    request = data.draw(world.amounts())
    before, fits = tree.available(leaf), tree.fits(leaf, request)
    tree.charge(leaf, request)
    after = tree.available(leaf)
    assert after == tuple(b - r for b, r in zip(before, request, strict=True))
    assert fits == all(a >= 0 for a, r in zip(after, request, strict=True) if r)


@given(world=quota_worlds())
def test_potential_is_what_an_idle_tree_has_available(world: QuotaWorld) -> None:
    idle = QuotaTree(world.axis_resources, world.nodes)
    for node in world.nodes:
        assert world.tree().potential(node.name) == idle.available(node.name)


@given(world=quota_worlds(), data=st.data())
def test_charging_one_queue_never_gives_another_more(
    world: QuotaWorld, data: st.DataObject
) -> None:
    tree = world.tree()
    before = {node.name: tree.available(node.name) for node in world.nodes}
    tree.charge(data.draw(st.sampled_from(world.leaves)), data.draw(world.amounts()))
    for name, amounts in before.items():
        assert all(now <= was for now, was in zip(tree.available(name), amounts, strict=True))


RECORDED: dict[str, Any] = {
    "name": "two queues",
    "cohorts": [{"name": "team"}],
    "clusterQueues": [
        {
            "name": "q",
            "cohort": "team",
            "resourceGroups": [[{"flavor": "spot", "resources": {"x.com/gpu": {"nominal": 3}}}]],
        },
        {
            "name": "r",
            "cohort": "team",
            "resourceGroups": [[{"flavor": "spot", "resources": {"x.com/gpu": {"nominal": 5}}}]],
        },
    ],
    "admitted": [{"name": "w", "cq": "q", "requests": {"x.com/gpu": 5}, "flavor": "spot"}],
    "incoming": {"name": "in", "cq": "r", "requests": {"x.com/gpu": 3}, "flavor": "spot"},
    "result": {
        "nodes": {
            key: {
                **({"usage": {"spot/x.com/gpu": used}} if used else {}),
                "subtree": {"spot/x.com/gpu": subtree},
                "available": {"spot/x.com/gpu": 3},
                "potential": {"spot/x.com/gpu": 8},
            }
            for key, used, subtree in [("cohort:team", 5, 8), ("cq:q", 5, 3), ("cq:r", 0, 5)]
        },
        # 5 - 3 = 2 of 8 borrowed: 250 thousandths.
        "drs": {"cq:q": {"share": 250, "dominant": "x.com/gpu", "borrowing": True}},
        "fits": True,
    },
}


def test_a_recorded_case_passes_and_fails_where_a_figure_is_changed() -> None:
    assert [(o.kind, o.status) for o in kueue_nodes.check(RECORDED)] == [
        ("nodes", "passed"),
        ("drs", "passed"),
        ("fits", "passed"),
    ]
    changed = copy.deepcopy(RECORDED)
    changed["result"]["nodes"]["cq:r"]["available"]["spot/x.com/gpu"] = 4
    changed["result"]["drs"]["cq:q"]["share"] = 250.00000000000003
    changed["result"]["fits"] = False
    outcomes = kueue_nodes.check(changed)
    assert [outcome.status for outcome in outcomes] == ["failed"] * 3
    assert "250.00000000000003" in outcomes[1].expected
    assert "250.0" in outcomes[1].got


@pytest.mark.parametrize(
    "damage",
    [
        {"clusterQueues": None},
        {"clusterQueues": [{"name": "q", "weight": "heavy"}]},
        {"cohorts": [{"name": "team", "parent": "team"}]},
        {"admitted": [{"name": "w", "cq": "nobody", "requests": {"a": 1}, "flavor": "f"}]},
        {"result": None},
        {"result": {}},
        {"result": {"nodes": {}, "drs": [], "fits": True}, "incoming": {"cq": "q"}},
    ],
)
def test_a_malformed_case_fails_with_the_reason(damage: dict[str, object]) -> None:
    outcomes = kueue_nodes.check({**RECORDED, **damage})
    assert outcomes
    assert all(o.status == "failed" and o.note.startswith("malformed") for o in outcomes)
