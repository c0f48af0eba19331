"""Who reads the log from where it left off misses nothing, undone changes included."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.accounting.journal import ChangeLog, Journal


def test_each_thing_is_told_once_the_latest_first() -> None:
    log = ChangeLog[str]()
    assert log.since(log.moment) == []
    for thing in "abca":
        log.touch(thing)
    assert log.since(0) == ["a", "c", "b"]
    assert log.since(2) == ["a", "c"]
    assert log.since(3) == ["a"]
    assert log.since(4) == []
    assert log.moment == 4


def test_undoing_a_change_is_a_change() -> None:
    journal, log = Journal(), ChangeLog[str]()
    mark = journal.mark()
    journal.touch(log, "a")
    read_at = log.moment
    assert log.since(read_at) == []
    journal.roll_back(mark)
    assert log.since(read_at) == ["a"]


def test_a_log_of_the_latest_changes_says_how_far_back_it_knows_all() -> None:
    log = ChangeLog[int](most=2)
    for thing in range(5):  # with the fifth there are more than twice two: the last two stay
        log.touch(thing)
    assert log.since(3) == [4, 3]
    assert [log.remembers(moment) for moment in range(6)] == [False] * 4 + [True] * 2


things = st.sampled_from("abcd")


@given(st.lists(things, max_size=30), st.lists(st.integers(0, 30), max_size=5))
def test_the_log_tells_exactly_what_changed_since(changes: list[str], moments: list[int]) -> None:
    log = ChangeLog[str]()
    for thing in changes:
        log.touch(thing)
    for moment in moments:
        told = log.since(moment)
        assert told == list(dict.fromkeys(reversed(changes[moment:])))


@given(st.lists(st.tuples(st.sampled_from(["put", "mark", "undo", "read"]), things, st.integers())))
def test_a_copy_that_rereads_what_the_log_tells_never_falls_behind(
    steps: list[tuple[str, str, int]],
) -> None:
    journal, log = Journal(), ChangeLog[str]()
    facts, copy = dict[str, int](), dict[str, int]()
    marks, read_at = [], 0
    for verb, thing, number in [*steps, ("read", "a", 0)]:
        if verb == "put":
            journal.put(facts, thing, number)
            journal.touch(log, thing)
        elif verb == "mark":
            marks.append(journal.mark())
        elif verb == "undo" and marks:
            journal.roll_back(marks.pop())
        elif verb == "read":
            for changed in log.since(read_at):
                copy.pop(changed, None)
                copy |= {changed: facts[changed]} if changed in facts else {}
            read_at = log.moment
            assert copy == facts
