"""Averages for drawing: what is drawn times its time is what was held."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.explain.figures.usage import held_over_time
from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Entry, Gap, Held, Removed, Renamed

A = QueueName("a")


def held(at_ms: int, amount: int, *, queue: str = "a", user: str = "") -> Held:
    return Held(at_ms=at_ms, queue=QueueName(queue), user=user, amounts=(amount,))


STORIES: dict[str, tuple[list[Entry], list[float | None]]] = {
    "a level holds until the next": ([held(0, 4), held(20, 2)], [4, 4, 2, 2]),
    "within a stretch it is the average": ([held(0, 4), held(15, 0)], [4, 2, 0, 0]),
    "users are summed": ([held(0, 4, user="x"), held(20, 2, user="y")], [4, 4, 6, 6]),
    "what is gone holds nothing": ([held(0, 4), Removed(at_ms=20, queue=A)], [4, 4, 0, 0]),
    "of a gap nothing is known": ([held(0, 4), Gap(at_ms=20, since_ms=10)], [4, None, 4, 4]),
    # 4 for the 5 ms that are known of the second stretch
    "a gap is no time": ([held(0, 4), Gap(at_ms=20, since_ms=15)], [4, 4, 4, 4]),
    "before the first entry is nothing": ([held(20, 4)], [0, 0, 4, 4]),
    "what comes after the end is left out": ([held(0, 4), held(41, 9)], [4, 4, 4, 4]),
    "a level from before the begin holds": ([held(-5, 4)], [4, 4, 4, 4]),
}


@pytest.mark.parametrize(("entries", "points"), STORIES.values(), ids=STORIES.keys())
def test_four_stretches_of_ten(entries: list[Entry], points: list[float | None]) -> None:
    assert held_over_time(entries, 1, 0, 40, 4).queues["a"] == [points]


def test_a_renamed_queue_takes_its_line_along() -> None:
    entries: list[Entry] = [held(0, 4), Renamed(at_ms=20, queue=A, name=QueueName("b"))]
    found = held_over_time([*entries, held(30, 1, queue="b")], 1, 0, 40, 4)
    assert found.queues == {"b": [[4, 4, 4, 1]]}


def test_the_capacity_has_a_line_too() -> None:
    capacity = Capacity(at_ms=20, amounts=(9,))
    assert held_over_time([capacity], 1, 0, 40, 4).capacity == [[0, 0, 9, 9]]


def test_the_last_stretch_counts_only_what_has_passed() -> None:
    """35 ms in 4 stretches of 9: the last has 8 ms, and 2 held in all of them is 2."""
    assert held_over_time([held(0, 2)], 1, 0, 35, 4).queues["a"] == [[2, 2, 2, 2]]


@given(
    changes=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=10),
    length_ms=st.integers(1, 60),
    count=st.integers(1, 20),
)
def test_averages_add_up_to_what_was_held(
    changes: list[tuple[int, int]], length_ms: int, count: int
) -> None:
    """Against a plain sum, millisecond by millisecond."""
    entries = [held(at_ms, amount) for at_ms, amount in sorted(changes, key=lambda each: each[0])]
    found = held_over_time(entries, 1, 0, length_ms, count)
    step_ms = (found.end_ms - found.begin_ms) // count
    for at, point in enumerate(found.queues.get("a", [[]])[0]):
        moments = range(at * step_ms, min((at + 1) * step_ms, length_ms))
        plain = [_level(entries, moment) for moment in moments]
        assert point == (pytest.approx(sum(plain) / len(plain)) if plain else None)


def _level(entries: list[Held], now_ms: int) -> int:
    return next((each.amounts[0] for each in reversed(entries) if each.at_ms <= now_ms), 0)
