"""Charges that are remembered are those that are worked out anew."""

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.accounting.workload_books import MOST_KNOWN, KnownCharges
from fairlead.model.axes import Axis, QuotaAxes
from fairlead.model.workload import PodSet, PodSets

RESOURCES = ("cpu", "gpu")
AXES = QuotaAxes([Axis(name, flavor) for name in RESOURCES for flavor in (None, "old", "new")])
FLAVORS: tuple[dict[str, str], ...] = (
    {},
    {"gpu": "old"},
    {"gpu": "new"},
    {"cpu": "old", "gpu": "new"},
)


def pods(cpu: int, gpu: int) -> PodSets:
    return PodSets((PodSet(name="main", count=1, min_count=1, requests=(cpu, gpu)),))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(FLAVORS), st.booleans()), max_size=20))
def test_a_size_is_charged_to_the_flavors_of_now_whatever_was_asked_before(
    asked: list[tuple[int, dict[str, str], bool]],
) -> None:
    sizes = [pods(1, 2), pods(3, 5), pods(1, 2)]
    known = KnownCharges(RESOURCES, AXES)
    for at, given_flavors, is_new in asked:
        if is_new:
            sizes[at] = pods(at, 7)
        charges = known.of(sizes[at], (given_flavors,))
        assert charges == (AXES.charge(RESOURCES, sizes[at][0].requests, given_flavors),)


def test_of_many_sizes_that_come_and_go_none_has_the_charges_of_another() -> None:
    """Those that are forgotten are gone, and others may come to lie where they were."""
    known = KnownCharges(RESOURCES, AXES)
    for number in range(3 * MOST_KNOWN):
        assert known.of(pods(number, 0), ({},)) == ((number, 0, 0, 0, 0, 0),)


def test_a_copy_charges_what_it_is_asked_for() -> None:
    """What it remembers has other identities than those that are its keys."""
    known, sizes = KnownCharges(RESOURCES, AXES), [pods(1, number) for number in range(500)]
    for each in sizes:
        known.of(each, ({},))
    copied = deepcopy(known)
    del known
    sizes.clear()
    others = [pods(2, number) for number in range(1000)]
    for each in others:
        assert copied.of(each, ({},)) == (AXES.charge(RESOURCES, each[0].requests, {}),)
