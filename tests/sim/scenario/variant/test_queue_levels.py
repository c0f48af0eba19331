"""Circles among queues, and how deep they are, of chains that are longer than any stack."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.scenario.variant.queue_tree import MOST_LEVELS, first_too_deep, in_circles

NAMES = [f"q{number}" for number in range(8)]
maybe = st.none() | st.sampled_from([*NAMES, "elsewhere"])


def plain_circles(parents: dict[str, str | None]) -> set[str]:
    """Walk up from each, as far as there are queues."""
    found = set()
    for name, parent in parents.items():
        at = parent
        for _ in parents:
            if at == name:
                found.add(name)
            at = parents.get(at or "")
    return found


@given(st.dictionaries(st.sampled_from(NAMES), maybe))
def test_circles_are_those_of_the_plain_way(parents: dict[str, str | None]) -> None:
    assert in_circles(parents) == plain_circles(parents)


def chain(length: int) -> dict[str, str | None]:
    return {f"q{at}": f"q{at - 1}" if at else None for at in range(length)}


def test_a_chain_may_be_deep_but_not_endless() -> None:
    assert first_too_deep(chain(MOST_LEVELS)) is None
    assert first_too_deep(chain(MOST_LEVELS + 2)) == f"q{MOST_LEVELS}"
    assert in_circles(chain(100_000)) == set()
    assert len(in_circles({**chain(100_000), "q0": "q99999"})) == 100_000
