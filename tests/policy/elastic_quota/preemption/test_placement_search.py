"""Nodes for pods one after the other, against trying all of them, and where that gives up."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.policy.elastic_quota.preemption.joint_placement import (
    NODE_CHECK_LIMIT,
    NeighbourChecks,
    PlacementSearch,
    PodToPlace,
)
from tests.scale_examples import scale_examples

NODE_LIMIT = ("n1", "n2", "n3")


@st.composite
def gangs(draw: st.DrawFn) -> list[PodToPlace]:
    """Up to five pods of up to three kinds, each with some of the nodes."""
    pods = []
    for _ in range(draw(st.integers(1, 3))):
        nodes = [name for name in NODE_LIMIT if draw(st.booleans())]
        size = draw(st.integers(1, 4))
        pods += [PodToPlace((size,), nodes)] * draw(st.integers(1, 2))
    return pods[:5]


def fits(pods: list[PodToPlace], nodes: tuple[str, ...], room: dict[str, int]) -> bool:
    left = dict(room)
    for pod, node in zip(pods, nodes, strict=True):
        left[node] -= pod.requests[0]
    return min(left.values()) >= 0


def is_let_in(size: int, node: str, there: list[tuple[int, str]]) -> bool:
    """Return whether a pod may be there: no two of an odd size are on one node."""
    return size % 2 == 0 or all(other % 2 == 0 or at != node for other, at in there)


rooms = st.fixed_dictionaries({name: st.integers(0, 6) for name in NODE_LIMIT})


@given(pods=gangs(), room=rooms, beside=st.booleans())
@settings(max_examples=scale_examples(400))
def test_a_way_is_found_where_there_is_one(
    pods: list[PodToPlace], room: dict[str, int], beside: bool
) -> None:
    there: list[tuple[int, str]] = []

    def place(at: int, node: str) -> bool:
        size = pods[at].requests[0]
        if not is_let_in(size, node, there):
            return False
        there.append((size, node))
        return True

    def is_allowed(nodes: tuple[str, ...]) -> bool:
        pairs = [(pod.requests[0], node) for pod, node in zip(pods, nodes, strict=True)]
        return all(is_let_in(*pair, pairs[:at]) for at, pair in enumerate(pairs))

    def take_back() -> None:
        there.pop()

    neighbours = NeighbourChecks(place, take_back) if beside else None
    found = PlacementSearch(pods, {name: [has] for name, has in room.items()}, neighbours).find()
    ways = [
        nodes
        for nodes in product(*[pod.nodes for pod in pods])
        if fits(pods, nodes, room) and (not beside or is_allowed(nodes))
    ]
    assert (tuple(found) in ways) if found is not None else not ways


class CountedRooms(dict[str, list[int]]):
    """Rooms that know how often they were looked at."""

    looks = 0

    def __getitem__(self, name: str) -> list[int]:
        """Return what is free on a node."""
        self.looks += 1
        return super().__getitem__(name)


def test_after_so_many_looks_it_gives_up() -> None:
    """Nine unlike pods go to any of 100 nodes, in 100^9 ways; the last one has room on none."""
    names = [f"n{number:02}" for number in range(100)]
    rooms = CountedRooms({name: [20] for name in names})
    pods = [PodToPlace((size,), list(names)) for size in (2, 3, 4, 5, 6, 7, 8, 9, 10, 21)]
    assert PlacementSearch(pods, rooms, None).find() is None
    assert rooms.looks == NODE_CHECK_LIMIT + 10 + 10 * 100


@given(zones=st.lists(st.sampled_from("ab"), min_size=1, max_size=5), count=st.integers(1, 4))
def test_equal_pods_that_are_spread_are_placed_in_any_order_of_nodes(
    zones: list[str], count: int
) -> None:
    """Each node takes one pod, and no zone may have two pods more than the other.

    With nodes of the zones a, a, b the order is the first, the third, the second.
    """
    names = [f"{zone}{at}" for at, zone in enumerate(zones)]
    there: list[str] = []

    def place(_: int, node: str) -> bool:
        pods = {zone: sum(other[0] == zone for other in there) for zone in zones}
        if pods[node[0]] + 1 - min(pods.values()) > 1:
            return False
        there.append(node)
        return True

    def take_back() -> None:
        there.pop()

    neighbours = NeighbourChecks(place, take_back, can_open_nodes=True)
    pods = [PodToPlace((1,), sorted(names))] * count
    found = PlacementSearch(pods, {name: [1] for name in names}, neighbours).find()
    sizes = {zone: zones.count(zone) for zone in zones}
    most = sum([min(size, min(sizes.values()) + 1) for size in sizes.values()])
    assert (found is not None) == (count <= most)
    assert found is None or len(set(found)) == count
