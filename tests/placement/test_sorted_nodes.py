"""Nodes stay sorted while they move."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.placement.sorted_nodes import SortedNodes


def test_by_number_then_by_name_between_two_bounds() -> None:
    nodes = SortedNodes()
    for name, number in (("c", 2), ("a", 2), ("b", 1), ("d", 5)):
        nodes.put(name, number)
    assert list(nodes.between(None, None)) == ["b", "a", "c", "d"]
    assert list(nodes.between(2, None)) == ["a", "c", "d"]
    assert list(nodes.between(None, 2)) == ["b", "a", "c"]
    assert list(nodes.between(2, 4)) == ["a", "c"]
    assert list(nodes.between(6, None)) == []
    nodes.put("d", 0)
    assert list(nodes.between(None, None)) == ["d", "b", "a", "c"]
    nodes.drop("a")
    nodes.drop("a")  # a second time does nothing
    assert list(nodes.between(None, None)) == ["d", "b", "c"]


def test_the_first_and_the_last_number() -> None:
    nodes = SortedNodes()
    assert (nodes.least(), nodes.most()) == (None, None)
    for name, number in (("c", 2), ("a", -1), ("b", 1)):
        nodes.put(name, number)
    assert (nodes.least(), nodes.most()) == (-1, 2)


names = st.sampled_from(["a", "b", "c", "d", "e", "n10", "n9"])
numbers = st.integers(-3, 3)
bounds = st.none() | numbers


@given(st.lists(st.tuples(names, st.none() | numbers), max_size=30), bounds, bounds)
def test_the_order_is_that_of_sorting_anew(
    moves: list[tuple[str, int | None]], least: int | None, most: int | None
) -> None:
    nodes, plain = SortedNodes(), dict[str, int]()
    for name, number in moves:
        if number is None:
            nodes.drop(name)
            plain.pop(name, None)
        else:
            nodes.put(name, number)
            plain[name] = number
        expected = [
            each
            for each in sorted(plain, key=lambda name: (plain[name], name))
            if (least is None or plain[each] >= least) and (most is None or plain[each] <= most)
        ]
        assert list(nodes.between(least, most)) == expected


def test_an_order_being_read_stays_that_of_the_moment_it_was_asked_for() -> None:
    nodes = SortedNodes()
    for name, number in (("a", 1), ("b", 2), ("c", 3)):
        nodes.put(name, number)
    order = nodes.in_order()
    nodes.drop("b")
    assert next(order) == "a"
    nodes.put("d", 0)
    nodes.put("c", -1)
    assert list(order) == ["b", "c"]
    assert list(nodes.in_order()) == ["c", "d", "a"]
