"""Entries from series: the plain rule, moment by moment, and the odd cases in tables."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.store.prometheus.answer import Samples
from fairlead.store.prometheus.level_sweep import (
    Change,
    LevelSweep,
    SeriesChanges,
    Subject,
    Told,
    base_units,
    largest,
)
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held
from tests.scale_examples import scale_examples
from tests.text_table import rows

STEP = 10
Column = list[int | None]
NOBODY = QueueName("")


def followed(pieces: list[Samples], end_ms: int, scale: int = 1) -> SeriesChanges:
    changes = SeriesChanges(step_ms=STEP, scale=scale)
    for samples in pieces:
        changes.take(samples)
    changes.finish(end_ms)
    return changes


def told(series: dict[tuple[int, str], Column], begin_ms: int, end_ms: int) -> list[Told]:
    """Series as columns of samples, one for each step from 0 on; the capacity has no name."""
    found = []
    for (place, name), column in series.items():
        samples = [
            (at * STEP, Decimal(value))
            for at, value in enumerate(column)
            if value is not None and begin_ms <= at * STEP <= end_ms
        ]
        subject = Subject.HELD if name else Subject.CAPACITY
        changes = followed([samples], end_ms).changes
        found += [Told(at_ms, place, subject, QueueName(name), amount) for at_ms, amount in changes]
    return found


def swept(series: dict[tuple[int, str], Column], cuts: list[int]) -> tuple[LevelSweep, list[Entry]]:
    """All entries of the columns, fetched in stretches that end at *cuts*."""
    sweep = LevelSweep(1 + max(place for place, _ in series))
    entries = []
    begin_ms = 0
    for cut in cuts:
        end_ms = cut * STEP
        found = told(series, begin_ms, end_ms)
        entries += sweep.extend(found, begin_ms=begin_ms, end_ms=end_ms, step_ms=STEP)
        begin_ms = end_ms + STEP
    return sweep, entries


def levels_at(entries: list[Entry], at_ms: int) -> dict[str, tuple[int, ...]]:
    """What the entries say of each moment, by taking them one after another."""
    levels: dict[str, tuple[int, ...]] = {}
    for entry in entries:
        if entry.at_ms <= at_ms:
            match entry:
                case Held():
                    levels[entry.queue] = entry.amounts
                case Capacity():
                    levels[NOBODY] = entry.amounts
    return {name: amounts for name, amounts in levels.items() if any(amounts)}


def plain_levels(series: dict[tuple[int, str], Column], at: int) -> dict[str, tuple[int, ...]]:
    """The rule as it is stated: a moment of a resource counts if capacity and some use is told."""
    places = range(1 + max(place for place, _ in series))
    names = {name for _, name in series}
    levels: dict[str, list[int]] = {name: [0] * len(places) for name in names}
    for place in places:
        here = {name: column[at] for (where, name), column in series.items() if where == place}
        users = [value for name, value in here.items() if name and value is not None]
        if here.get("") is not None and users:
            for name, value in here.items():
                levels[name][place] = value or 0
    return {name: tuple(amounts) for name, amounts in levels.items() if any(amounts)}


COUNT = 12
columns = st.lists(st.none() | st.sampled_from([0, 0, 1, 1, 2]), min_size=COUNT, max_size=COUNT)
all_series = st.fixed_dictionaries(
    {(place, name): columns for place in (0, 1) for name in ("", "a", "b")}
)


@settings(max_examples=scale_examples(150))
@given(series=all_series, cuts=st.sets(st.integers(0, COUNT - 2)))
def test_entries_say_what_the_plain_rule_says_however_often_is_fetched(
    series: dict[tuple[int, str], Column], cuts: set[int]
) -> None:
    _, entries = swept(series, [*sorted(cuts), COUNT - 1])
    assert [entry.at_ms for entry in entries] == sorted(entry.at_ms for entry in entries)
    for at in range(COUNT):
        assert levels_at(entries, at * STEP) == plain_levels(series, at)


CASES = {
    "everything is told": ("8888", "1111", "2222", 30),
    "a queue that goes is no silence": ("8888", "11--", "2222", 30),
    "nobody is told any more": ("8888", "11--", "222-", 20),
    "the capacity is not told any more": ("88--", "1111", "2222", 10),
    "nothing is told any more": ("8---", "1---", "2---", 0),
    "the last node goes, and nobody holds anything": ("88--", "1000", "2200", 10),
    "nothing was ever told": ("----", "----", "----", None),
    "only the capacity was ever told": ("8888", "----", "----", None),
    "it came back": ("8--8", "1--1", "2--2", 30),
}


def column(text: str) -> Column:
    return [None if each == "-" else int(each) for each in text]


@pytest.mark.parametrize(("capacity", "a", "b", "newest"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("cuts", [[3], [0, 1, 2, 3]], ids=["at once", "one by one"])
def test_until_when_all_is_told(
    capacity: str, a: str, b: str, newest: int | None, cuts: list[int]
) -> None:
    series = {(0, ""): column(capacity), (0, "a"): column(a), (0, "b"): column(b)}
    sweep, _ = swept(series, cuts)
    assert sweep.newest_ms == newest


def test_a_resource_that_is_gone_altogether_is_no_silence_while_another_goes_on() -> None:
    """Nodes with GPUs leave: no capacity and no use is told of them, and nothing is amiss."""
    series = {
        (0, ""): column("8888"),
        (0, "a"): column("1111"),
        (1, ""): column("88--"),
        (1, "a"): column("1100"),
    }
    sweep, _ = swept(series, [3])
    assert sweep.newest_ms == 30
    series[1, "a"] = column("1111")  # but somebody still holds some
    sweep, _ = swept(series, [3])
    assert sweep.newest_ms == 10


def test_a_stretch_that_was_left_out_is_not_known() -> None:
    """Told at 0 and 10, not asked about until 40, silent at 50."""
    series = {(0, ""): column("88"), (0, "a"): column("11")}
    sweep, _ = swept(series, [1])
    assert sweep.newest_ms == 10
    gone = sweep.extend([], begin_ms=50, end_ms=50, step_ms=STEP)
    assert sweep.newest_ms == 10
    assert gone == [
        Capacity(at_ms=50, amounts=(0,)),
        Held(at_ms=50, queue=QueueName("a"), amounts=(0,)),
    ]


def test_a_guarantee_comes_before_what_is_held_above_it_and_holds_on() -> None:
    a = QueueName("a")
    sweep = LevelSweep(1)
    stretch = [
        Told(0, 0, Subject.CAPACITY, NOBODY, 8),
        Told(0, 0, Subject.HELD, a, 3),
        Told(0, 0, Subject.GUARANTEED, a, 2),
        Told(10, 0, Subject.GUARANTEED, a, None),
    ]
    entries = sweep.extend(stretch, begin_ms=0, end_ms=10, step_ms=STEP)
    assert entries == [
        Capacity(at_ms=0, amounts=(8,)),
        Guarantee(at_ms=0, queue=a, amounts=(2,)),
        Held(at_ms=0, queue=a, amounts=(3,)),
        Guarantee(at_ms=10, queue=a, amounts=(None,)),
    ]
    stretch = [Told(20, 0, Subject.CAPACITY, NOBODY, 8), Told(20, 0, Subject.HELD, a, 3)]
    assert sweep.extend(stretch, begin_ms=20, end_ms=20, step_ms=STEP) == []
    assert sweep.queues == {a}


CHANGES = {
    "the same again is no change": """
        sample  changes
        4       0:4
        4       .
        5       20:5
        4       30:4
    """,
    "an absent sample is a change to nothing": """
        sample  changes
        4       0:4
        -       10:-
        4       20:4
        -       30:-
    """,
    "what is no amount changes nothing": """
        sample     changes
        4          0:4
        NaN        .
        4          .
        -Infinity  .
    """,
    "who never said an amount does not fall silent": """
        sample  changes
        NaN     .
        -       .
        NaN     .
        -       .
    """,
    "a negative amount is none": """
        sample  changes
        -1      .
        0       10:0
        0.5     20:500
        -2      .
    """,
}


@pytest.mark.parametrize("table", CHANGES.values(), ids=CHANGES.keys())
def test_changes_of_a_series(table: str) -> None:
    found = rows(table)
    scale = 1000 if "0.5" in table else 1
    samples = [
        (at * STEP, Decimal(row["sample"])) for at, row in enumerate(found) if row["sample"] != "-"
    ]
    expected = [row["changes"] for row in found if row["changes"] != "."]
    changes = followed([samples], 30, scale)
    got = [f"{at_ms}:{'-' if amount is None else amount}" for at_ms, amount in changes.changes]
    assert got == expected
    is_odd = {"NaN", "-1"} & {row["sample"] for row in found}
    assert (changes.odd is not None) == bool(is_odd)


texts = st.sampled_from(["0", "1", "1", "2", "NaN", "-1"])


@given(
    column=st.lists(st.none() | texts, max_size=12), cuts=st.sets(st.integers(0, 12), max_size=3)
)
def test_samples_in_pieces_give_the_same_changes_as_all_at_once(
    column: list[str | None], cuts: set[int]
) -> None:
    samples = [(at * STEP, Decimal(text)) for at, text in enumerate(column) if text is not None]
    edges = [0, *sorted(cuts), 13]
    pieces = [
        [each for each in samples if begin <= each[0] // STEP < end]
        for begin, end in pairwise(edges)
    ]
    once, several = followed([samples], 120), followed(pieces, 120)
    assert several.changes == once.changes
    assert str(several.odd) == str(once.odd)  # NaN is not even equal to itself


@pytest.mark.parametrize(
    ("text", "scale", "amount"),
    [
        ("1.5", 1000, 1500),
        ("0.30000000000000004", 1000, 300),  # what a float makes of 0.1 + 0.2
        ("0.0005", 1000, 0),  # half to even
        ("0.0015", 1000, 2),
        ("0.00151", 1000, 2),
        ("17179869184", 1, 2**34),
        ("9007199254740993", 1, 2**53 + 1),  # no float holds it
        ("1e+21", 1, 10**21),
        ("1e-400", 1000, 0),
        ("1e400", 1, None),
        ("NaN", 1, None),
        ("Infinity", 1, None),
        ("-1", 1000, -1000),
    ],
)
def test_numbers_become_whole_base_units(text: str, scale: int, amount: int | None) -> None:
    assert base_units(Decimal(text), scale) == amount


def test_two_series_of_one_queue_count_as_the_larger() -> None:
    """An exporter restarts at 20 under another name; the old one is told until 30."""
    old = [Change(0, 4), Change(30, None)]
    new = [Change(20, 3), Change(40, 5), Change(50, None)]
    together = [Change(0, 4), Change(30, 3), Change(40, 5), Change(50, None)]
    assert largest([old, new]) == largest([new, old]) == together
    assert largest([old]) == old
