"""Whose quota is away: the books of lending, by hand and as laws."""

from decimal import Decimal

import pytest
from hypothesis import given

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.policy.kueue.snapshot.shares import lent_quota
from tests.fairness.reference_quota_tree import QuotaWorld, quota_worlds
from tests.text_table import number, rows

BOOKS = {
    "one lender lends what the other borrows": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        a     all     8      -     2     3
        b     all     1      -     4     0
    """,
    "the cohort's own quota goes first: of 5 borrowed 2 are its own": """
        node  parent  quota  lend  used  lent
        all   -       2      -     -     0
        a     all     8      -     2     3
        b     all     1      -     6     0
    """,
    "lenders share by what they leave idle: 6 of 8 + 4, so 4 and 2": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        a     all     8      -     0     4
        b     all     5      -     1     2
        c     all     0      -     6     0
    """,
    "what is retained is never lent: a lends 3 of 8 at most, b has the rest to give": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        a     all     8      3     5     3
        b     all     9      -     6     3
        c     all     0      -     6     0
    """,
    "what a leaves idle goes to b, 1, and upward to c, 2": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        left  all     0      -     -     2
        a     left    4      -     0     3
        b     left    0      -     1     0
        c     all     0      -     2     0
    """,
    "a cohort that borrows lends all that it has, and is lent the rest": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        left  all     1      -     -     0
        a     left    4      -     3     1
        b     left    0      -     5     0
        c     all     9      -     2     3
    """,
    "after quota was lowered, 2 of what is used are nobody's": """
        node  parent  quota  lend  used  lent
        all   -       0      -     -     0
        a     all     3      -     1     2
        b     all     1      -     5     0
    """,
    "a queue without a cohort lends nothing, whatever it leaves idle or uses beyond": """
        node  parent  quota  lend  used  lent
        a     -       3      -     1     0
        b     -       3      -     5     0
    """,
}


@pytest.mark.parametrize("table", BOOKS.values(), ids=BOOKS)
def test_the_books_by_hand(table: str) -> None:
    lines = rows(table)
    nodes = [_node(line) for line in lines]
    usage = {line["node"]: [int(line["used"])] for line in lines if line["used"] != "-"}
    lent = lent_quota(QuotaTree(["gpu"], nodes, usage), nodes)
    assert lent == {line["node"]: (int(line["lent"]),) for line in lines}


@given(quota_worlds())
def test_at_every_cohort_the_books_balance(world: QuotaWorld) -> None:
    tree, lent = world.tree(), lent_quota(world.tree(), world.nodes)
    for parent in world.nodes:
        children = [node.name for node in world.nodes if node.parent == parent.name]
        for axis in range(len(world.axis_resources)) if children else ():
            borrowed = sum(_beyond(tree, child, axis) for child in children)
            needed = borrowed - _beyond(tree, parent.name, axis) + lent[parent.name][axis]
            own = min(parent.guaranteed[axis], needed)  # the cohort's own quota goes first
            assert sum(lent[child][axis] for child in children) + own == needed


@given(quota_worlds())
def test_only_idle_quota_that_the_parent_sees_is_lent(world: QuotaWorld) -> None:
    tree, lent = world.tree(), lent_quota(world.tree(), world.nodes)
    for node in world.nodes:
        assert all(
            0 <= amount <= idle
            for amount, idle in zip(lent[node.name], _idle(tree, node.name), strict=True)
        )
        assert node.parent is not None or not any(lent[node.name])


@given(quota_worlds())
def test_lenders_of_a_cohort_lend_in_proportion_to_what_they_leave_idle(world: QuotaWorld) -> None:
    tree, lent = world.tree(), lent_quota(world.tree(), world.nodes)
    for parent in world.nodes:
        children = [node.name for node in world.nodes if node.parent == parent.name]
        for axis in range(len(world.axis_resources)):
            idle = {child: _idle(tree, child)[axis] for child in children}
            total = sum(lent[child][axis] for child in children)
            for child in children:
                exact = total * idle[child] / sum(idle.values()) if total else 0
                assert abs(lent[child][axis] - exact) < 1


@given(quota_worlds())
def test_what_is_neither_used_nor_lent_is_what_a_root_still_has(world: QuotaWorld) -> None:
    tree, lent = world.tree(), lent_quota(world.tree(), world.nodes)
    for root in (node for node in world.nodes if node.parent is None):
        children = [node.name for node in world.nodes if node.parent == root.name]
        for axis in range(len(world.axis_resources)) if children else ():
            left = sum(_idle(tree, child)[axis] - lent[child][axis] for child in children)
            available = max(0, tree.available(root.name)[axis])
            assert left <= available <= left + root.guaranteed[axis]


def _beyond(tree: QuotaTree, name: str, axis: int) -> int:
    return max(0, tree.charged(name)[axis] - tree.subtree(name)[axis])


def _idle(tree: QuotaTree, name: str) -> list[int]:
    """What the parent sees of the node's quota, less what it sees of its usage."""
    figures = zip(tree.subtree(name), tree.retained(name), tree.charged(name), strict=True)
    return [max(0, (quota - kept) - max(0, used - kept)) for quota, kept, used in figures]


def _node(line: dict[str, str]) -> QuotaNode:
    return QuotaNode(
        name=line["node"],
        parent=None if line["parent"] == "-" else line["parent"],
        weight=Decimal(1),
        guaranteed=(int(line["quota"]),),
        borrow_limit=(None,),
        lend_limit=(number(line["lend"]),),
        listed=frozenset({0}),
    )
