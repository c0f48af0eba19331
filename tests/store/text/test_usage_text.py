"""Exported usage: what goes out comes in again, and a bad line is reported with its fix."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.text.bad_lines import MOST_CHARACTERS, MOST_SHOWN
from fairlead.store.text.usage_text import TextHead, read_usage, usage_lines
from fairlead.usage.entries import Entry, Forgiven, Gap, Granted, Guarantee, Held, Removed
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding
from tests.store.entry_lists import BEGIN_MS, RESOURCES, entry_lists

HEAD = TextHead(resources=RESOURCES)

ENTRIES: list[Entry] = [
    Held(at_ms=1000, queue=QueueName("a"), user="ann", amounts=(500, 2000)),
    Guarantee(at_ms=1000, queue=QueueName("a"), amounts=(None, 1000)),
    Granted(at_ms=2000, queue=QueueName("a"), resource_time=(0, -360), who="eve", reason="sorry"),
    Forgiven(at_ms=3000, queue=None, who="eve", reason="new year"),
    Gap(at_ms=5000, since_ms=4000),
]

JSON_LINES = """\
{"type":"usage","version":1,"resources":["cpu","nvidia.com/gpu"]}
{"type":"held","at_ms":1000,"queue":"a","user":"ann","amounts":[500,2000]}
{"type":"guarantee","at_ms":1000,"queue":"a","amounts":[null,1000]}
{"type":"granted","at_ms":2000,"queue":"a","user":"","resource_time":[0,-360],"who":"eve",\
"reason":"sorry"}
{"type":"forgiven","at_ms":3000,"queue":null,"who":"eve","reason":"new year"}
{"type":"gap","at_ms":5000,"since_ms":4000}
"""

FIRST_LINE = JSON_LINES.splitlines()[0]


def lines_of(text: str) -> list[str]:
    """The lines as a file gives them, with their ends as they are."""
    return list(io.StringIO(text, newline=""))


def test_a_text_reads_as_the_page_shows_it() -> None:
    assert "".join(usage_lines(HEAD, ENTRIES)) == JSON_LINES
    assert read_usage(lines_of(JSON_LINES), "x").entries == ENTRIES


def test_the_last_look_is_in_the_head() -> None:
    first = FIRST_LINE.replace("}", ',"observed_ms":7000}')
    text = f'{first}\n{{"type":"gap","at_ms":5000,"since_ms":4000}}\n'
    head = TextHead(resources=RESOURCES, observed_ms=7000)
    assert "".join(usage_lines(head, ENTRIES[-1:])) == text
    read = read_usage(lines_of(text), "x")
    assert (read.head, read.entries) == (head, ENTRIES[-1:])


@given(entries=entry_lists(), observed_ms=st.none() | st.integers(0, 2**42))
def test_what_is_exported_is_imported_and_answers_the_same(
    entries: list[Entry], observed_ms: int | None
) -> None:
    head = TextHead(resources=RESOURCES, observed_ms=observed_ms)
    text = "".join(usage_lines(head, entries))
    read = read_usage(lines_of(text), "x")
    assert (read.head, read.entries) == (head, entries)

    answers = []
    for taken in (entries, read.entries):
        ledger = Ledger(RESOURCES, Sliding(10**7), half_life_ms=10**6)
        for entry in taken:
            ledger.take(entry)
        answers.append(ledger.usage(BEGIN_MS + 13 * 10**7))
    assert answers[0] == answers[1]


def test_an_empty_record_has_a_head_only() -> None:
    text = "".join(usage_lines(HEAD, []))
    assert text == FIRST_LINE + "\n"
    assert read_usage(lines_of(text), "x").entries == []


BAD_LINES = {
    "{": "Input data was truncated",
    '{"type":"gap': "JSON is malformed: invalid character (byte 12)",
    '{"type":"removed","at_ms":1,"queue":7}': "Expected `str`, got `int` - at `$.queue`",
    '{"type":"removed","at_ms":1,"queue":null}': "Expected `str`, got `null` - at `$.queue`",
    '{"type":"capacity","at_ms":1,"amounts":["1",2]}': (
        "Expected `int`, got `str` - at `$.amounts[0]`"
    ),
    '{"type":"capacity","at_ms":1,"amounts":[null,2]}': "Expected `int`, got `null`",
    '{"type":"capacity","at_ms":1,"amounts":{}}': "Expected `array`, got `object`",
    "[1]": "Expected `object`, got `array`",
    "[" * 100_000: "Expected `object`, got `array`",
    '{"type":"hold","at_ms":1}': "Invalid value 'hold' - at `$.type`",
    '{"type":"gap","at_ms":5,"since_ms":4,"x":1}': "Object contains unknown field `x`",
    '{"type":"gap","at_ms":5}': "Object missing required field `since_ms`",
    '{"type":"gap","at_ms":5.0,"since_ms":4}': "Expected `int`, got `float` - at `$.at_ms`",
    '{"type":"gap","at_ms":NaN,"since_ms":4}': "JSON is malformed: invalid character",
    '{"type":"gap","at_ms":true,"since_ms":4}': "Expected `int`, got `bool` - at `$.at_ms`",
    '{"type":"gap","at_ms":4,"since_ms":5}': "a gap begins at 5 ms, after its end",
    '{"type":"gap","at_ms":-1,"since_ms":-1}': "found the time -1",
    '{"type":"removed","at_ms":99999999999999,"queue":"a"}': "in the years 1970 to 2200",
    '{"type":"removed","at_ms":1,"queue":""}': "found a queue without a name",
    '{"type":"removed","at_ms":1,"queue":"\\ud800 and more"}': "surrogate",
    f'{{"type":"gap","at_ms":{"9" * 5000},"since_ms":4}}': "Integer value out of range",
    '{"type":"capacity","at_ms":1,"amounts":[1]}': "an entry has 1 amounts, but there are 2",
    '{"type":"capacity","at_ms":1,"amounts":[1,-1]}': "-1 of a resource is negative",
    f'{{"type":"guarantee","at_ms":1,"queue":"a","amounts":[null,{10**22}]}}': (
        "which is all that Kubernetes can count"
    ),
}


@pytest.mark.parametrize(("line", "told"), BAD_LINES.items(), ids=lambda value: value[:40])
def test_a_bad_line_is_told_with_its_place_and_cure(line: str, told: str) -> None:
    text = f"{FIRST_LINE}\n\n{line}\n"
    with pytest.raises(StoreError) as raised:
        read_usage(lines_of(text), "old.txt")
    head, found, cure = str(raised.value).splitlines()
    assert head == "nothing was imported: 1 line of old.txt cannot be read"
    assert found.startswith("old.txt:3: ")
    assert told in found
    assert len(found) <= len("old.txt:3: ") + MOST_CHARACTERS + len("...")
    assert cure.startswith("    fix: correct this line, or export it again")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Input data was truncated"),
        ('{"type":"usage","version":2,"resources":["cpu"]}', "found version 2, expected 1"),
        ('{"type":"usage","version":1,"resources":["cpu",7]}', "Expected `str`, got `int`"),
        ('{"type":"usage","version":1,"resources":[]}', "found no resources"),
        ('{"type":"usage","version":1,"resources":["a","a"]}', "'a' twice"),
        ('{"type":"usage","version":1}', "missing required field `resources`"),
        ('{"type":"gap","at_ms":5,"since_ms":4}', "Invalid value 'gap' - at `$.type`"),
    ],
)
def test_a_text_without_its_head_is_refused(text: str, told: str) -> None:
    with pytest.raises(StoreError, match="x:1: ") as raised:
        read_usage(lines_of(text), "x")
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("observed_ms", "told"),
    [("-1", "found the time -1, expected milliseconds"), ('"7"', "got `str` - at `$.observed_ms`")],
)
def test_a_last_look_that_is_no_time_is_refused(observed_ms: str, told: str) -> None:
    first = FIRST_LINE.replace("}", f',"observed_ms":{observed_ms}}}')
    with pytest.raises(StoreError) as raised:
        read_usage([first], "x")
    assert str(raised.value).splitlines()[1].startswith("x:1: ")
    assert told in str(raised.value)


def test_moments_of_the_future_are_refused_and_named() -> None:
    head = TextHead(resources=RESOURCES, observed_ms=3999)
    removed: list[Entry] = [
        Removed(at_ms=at_ms, queue=QueueName("a")) for at_ms in (3999, 4000, 9000)
    ]
    text = "".join(usage_lines(head, removed))
    assert read_usage(lines_of(text), "x", until_ms=9001).entries == removed
    with pytest.raises(StoreError) as raised:
        read_usage(lines_of(text), "x", until_ms=4000)
    told = str(raised.value).splitlines()
    assert told[0] == "nothing was imported: 2 lines of x cannot be read"
    assert told[1].startswith(
        "x:3: found the time 4000, which is 1970-01-01T00:00:04Z and more than a day from now"
    )
    with pytest.raises(StoreError, match="x:1: found the time 3999, which is 1970-"):
        read_usage(lines_of(text), "x", until_ms=3999)


def test_entries_that_go_back_in_time_are_refused() -> None:
    granted, held = ENTRIES[2], ENTRIES[0]
    text = "".join(usage_lines(HEAD, [granted, held]))
    with pytest.raises(StoreError, match="x:3: an entry of 1000 ms came after one of 2000 ms"):
        read_usage(lines_of(text), "x")


def test_numbers_beyond_64_bits_are_read_exactly() -> None:
    longest = 10**39
    granted = Granted(
        at_ms=1, queue=QueueName("a"), resource_time=(longest, -longest), who="eve", reason="r"
    )
    text = "".join(usage_lines(HEAD, [granted]))
    assert read_usage(lines_of(text), "x").entries == [granted]


def test_many_bad_lines_are_counted() -> None:
    with pytest.raises(StoreError) as raised:
        read_usage(lines_of(f"{FIRST_LINE}\n" + "{\n" * (MOST_SHOWN + 3)), "x")
    lines = str(raised.value).splitlines()
    assert lines[0] == f"nothing was imported: {MOST_SHOWN + 3} lines of x cannot be read"
    assert lines[-1] == "and 3 more that are not shown"
    assert len(lines) == 1 + 2 * MOST_SHOWN + 1
