"""Where in the quota tree a queue's room ends, and who is felt there."""

from decimal import Decimal

import pytest
from hypothesis import given
from msgspec.structs import replace

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from tests.fairness.reference_quota_tree import QuotaWorld, ReferenceTree, quota_worlds
from tests.text_table import number, rows

# One axis; "ends" is where what is available ends, "most" where the potential does.
STORIES = {
    # root 11 - 6 = 5. A may hold 6 + 4 = 10 and uses 7: 3 < 5. b has no limit.
    "a limit on the way up ends it for those below": """
        name parent nominal borrow lend charged | ends most
        root -      0       -      -    -       | root root
        A    root   2       4      3    -       | A    A
        a1   A      5       -      3    6       | A    A
        b    root   8       -      -    2       | root root
    """,
    # q may hold 3 + 1 = 4 of 10. It uses 2 and the others 8, so 0 are left at the top: 0 < 4 - 2.
    "a limit that bounds the potential need not bound what is left": """
        name parent nominal borrow lend charged | ends most
        top  -      0       -      -    -       | top  top
        q    top    3       1      -    2       | top  q
        r    top    7       -      -    8       | top  top
    """,
    # q may hold 3 + 2 = 5, and uses 4: 1. The top has 10 - 9 = 1, too.
    "of two that leave the same, the lower one": """
        name parent nominal borrow lend charged | ends most
        top  -      0       -      -    -       | top  top
        q    top    3       2      -    4       | q    q
        r    top    7       -      -    5       | top  top
    """,
    # A may hold 4 + 1 = 5 and uses 3: 2. q may hold 4 + 3 = 7 and uses 3: 4 > 2.
    "the limit above is the stricter one": """
        name parent nominal borrow lend charged | ends most
        top  -      9       -      -    -       | top  top
        A    top    0       1      -    -       | A    A
        q    A      4       3      -    3       | A    A
    """,
    # The limits of a root act on nothing.
    "a queue without a cohort ends at itself": """
        name parent nominal borrow lend charged | ends most
        q    -      3       0      -    1       | q    q
    """,
}


@pytest.mark.parametrize("story", STORIES)
def test_it_ends_where_the_arithmetic_says(story: str) -> None:
    table = rows(STORIES[story].replace("|", " "))
    nodes = [
        QuotaNode(
            name=row["name"],
            parent=None if row["parent"] == "-" else row["parent"],
            weight=Decimal(1),
            guaranteed=(int(row["nominal"]),),
            borrow_limit=(number(row["borrow"]),),
            lend_limit=(number(row["lend"]),),
            listed=frozenset({0}),
        )
        for row in table
    ]
    usage = {row["name"]: (int(row["charged"]),) for row in table if row["charged"] != "-"}
    tree = QuotaTree(["cpu"], nodes, usage)
    assert {each["name"]: tree.ends_at(each["name"], 0) for each in table} == {
        each["name"]: each["ends"] for each in table
    }
    assert {each["name"]: tree.potential_ends_at(each["name"], 0) for each in table} == {
        each["name"]: each["most"] for each in table
    }


def plain_end(world: QuotaWorld, name: str, axis: int, *, of_potential: bool) -> str:
    """Return the lowest node of which a limit lower by one would leave one less."""

    def amount(nodes: dict[str, QuotaNode]) -> int:
        tree = ReferenceTree(world.axis_resources, tuple(nodes.values()), world.usage)
        return tree.potential(name, axis) if of_potential else tree.available(name, axis)

    nodes = {node.name: node for node in world.nodes}
    node = nodes[name]
    while node.parent is not None:
        limits = list(node.borrow_limit)
        limit = limits[axis]
        if limit is not None:
            limits[axis] = limit - 1
            lower = replace(node, borrow_limit=tuple(limits))
            if amount({**nodes, node.name: lower}) == amount(nodes) - 1:
                break
        node = nodes[node.parent]
    return node.name


@given(world=quota_worlds())
def test_it_ends_at_the_lowest_limit_that_counts(world: QuotaWorld) -> None:
    tree = world.tree()
    for leaf in world.leaves:
        for axis in range(len(world.axis_resources)):
            assert tree.ends_at(leaf, axis) == plain_end(world, leaf, axis, of_potential=False)
            most = tree.potential_ends_at(leaf, axis)
            assert most == plain_end(world, leaf, axis, of_potential=True)


@given(world=quota_worlds())
def test_what_is_felt_of_a_leaf_is_what_lacks_without_it(world: QuotaWorld) -> None:
    tree = world.tree()
    parents = {node.name: node.parent for node in world.nodes}
    for leaf in world.leaves:
        without = QuotaWorld(
            axis_resources=world.axis_resources,
            nodes=world.nodes,
            usage={name: row for name, row in world.usage.items() if name != leaf},
        ).tree()
        name: str | None = leaf
        while name is not None:
            for axis in range(len(world.axis_resources)):
                less = tree.charged_on(name, axis) - without.charged_on(name, axis)
                assert tree.felt_at(name, leaf, axis) == less
            name = parents[name]
