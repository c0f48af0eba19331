"""The journal puts back exactly what was there, mark by mark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.accounting.journal import Journal

changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("drop"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("add"), st.just(""), st.integers(-3, 3)),
    )
)


def play(journal: Journal, entries: dict[str, int], vector: list[int], steps: object) -> None:
    assert isinstance(steps, list)
    for verb, key, number in steps:
        if verb == "put":
            journal.put(entries, key, number)
        elif verb == "add":
            journal.add(vector, (number, -number))
        elif key in entries:
            journal.drop(entries, key)


@given(before=changes, during=changes, within=changes)
def test_roll_back_restores_entries_and_amounts(
    before: object, during: object, within: object
) -> None:
    journal, entries, vector = Journal(), dict[str, int](), [0, 0]
    play(journal, entries, vector, before)
    known = (dict(entries), list(vector))
    outer = journal.mark()
    play(journal, entries, vector, during)
    inside = (dict(entries), list(vector))
    inner = journal.mark()
    play(journal, entries, vector, within)
    journal.roll_back(inner)
    assert (entries, vector) == inside
    journal.roll_back(outer)
    assert (entries, vector) == known


def test_an_entry_of_none_is_told_from_no_entry() -> None:
    journal, entries = Journal(), dict[str, None]()
    mark = journal.mark()
    journal.put(entries, "a", None)
    journal.roll_back(mark)
    assert entries == {}


def test_a_mark_can_be_used_once() -> None:
    journal = Journal()
    stale = journal.mark()
    journal.roll_back(stale)
    journal.mark()
    with pytest.raises(AssertionError, match="used once"):
        journal.roll_back(stale)


def test_an_outer_mark_ends_the_inner_ones() -> None:
    journal = Journal()
    outer, inner = journal.mark(), journal.mark()
    journal.keep(outer)
    with pytest.raises(AssertionError, match="used once"):
        journal.keep(inner)
