"""Which queues are shown together: levels of the tree, and who is drawn with others."""

from fairlead.sim.report.make_report import MOST_MEMBERS, Group, queue_groups

TREE: dict[str, str | None] = {
    "ads": "product",
    "product": None,
    "research": None,
    "search": "product",
    "vision": "research",
    "speech": "research",
}


def titles(groups: list[Group]) -> list[str]:
    return [group.title for group in groups]


def test_the_top_comes_first_then_each_inner_queue_then_all_leaves() -> None:
    groups, left_out = queue_groups(TREE, {}, 9)
    assert [(group.title, group.members) for group in groups] == [
        ("queues at the top", ("product", "research")),
        ("inside product", ("ads", "search")),
        ("inside research", ("speech", "vision")),
        ("all leaves", ("ads", "search", "speech", "vision")),
    ]
    assert left_out == 0


def test_a_flat_tree_has_one_group() -> None:
    groups, _ = queue_groups({"a": None, "b": None}, {}, 9)
    assert titles(groups) == ["queues at the top"]


def test_a_queue_alone_at_the_top_is_passed_over_for_those_beneath_it() -> None:
    groups, _ = queue_groups({"all": None, "a": "all", "b": "all"}, {}, 9)
    assert titles(groups) == ["inside all", "all leaves"]


def test_a_queue_that_is_alone_altogether_is_shown() -> None:
    groups, _ = queue_groups({"only": None}, {}, 9)
    assert [group.members for group in groups] == [("only",)]


def test_of_many_queues_the_lightest_are_drawn_as_one() -> None:
    """Ten queues, eight colours: seven by themselves, three together."""
    names = [f"q{number}" for number in range(10)]
    weights = {name: float(place) for place, name in enumerate(names)}
    (group,), _ = queue_groups(dict.fromkeys(names), weights, 9)
    assert group.others == ("q0", "q1", "q2")
    assert group.members == tuple(names[3:])
    assert len(group.members) + 1 == MOST_MEMBERS


def test_of_too_many_groups_the_lightest_are_left_out_and_counted() -> None:
    groups, left_out = queue_groups(TREE, {"product": 0.1, "research": 0.7}, 2)
    assert titles(groups) == ["queues at the top", "inside research"]
    assert left_out == 2
