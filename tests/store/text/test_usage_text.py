"""Text forms of use: what goes out comes in again, and a bad line is told with its cure."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.text.entry_text import (
    MOST_CHARACTERS,
    MOST_DIGITS,
    MOST_SHOWN,
    TextHead,
    csv_line,
)
from fairlead.store.text.usage_text import TextForm, read_usage, usage_lines
from fairlead.usage.entries import Entry, Forgiven, Gap, Granted, Guarantee, Held, Removed
from fairlead.usage.ledger import Ledger
from fairlead.usage.window import Sliding
from tests.store.entry_lists import BEGIN_MS, RESOURCES, entry_lists

HEAD = TextHead(resources=RESOURCES)
FORMS: tuple[TextForm, ...] = ("jsonl", "csv")

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

CSV = """\
type,at_ms,since_ms,queue,user,name,who,reason,cpu,nvidia.com/gpu
held,1000,,a,ann,,,,500,2000
guarantee,1000,,a,,,,,unlimited,1000
granted,2000,,a,,,eve,sorry,0,-360
forgiven,3000,,,,,eve,new year,,
gap,5000,4000,,,,,,,
"""

TEXTS: dict[TextForm, str] = {"jsonl": JSON_LINES, "csv": CSV}
HEADS = {form: text.splitlines()[0] for form, text in TEXTS.items()}


def lines_of(text: str) -> list[str]:
    """The lines as a file gives them, with their ends as they are."""
    return list(io.StringIO(text, newline=""))


@pytest.mark.parametrize("form", FORMS)
def test_a_text_reads_as_the_page_shows_it(form: TextForm) -> None:
    assert "".join(usage_lines(form, HEAD, ENTRIES)) == TEXTS[form]
    assert read_usage(form, lines_of(TEXTS[form]), "x").entries == ENTRIES


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (
            "jsonl",
            HEADS["jsonl"].replace("}", ',"observed_ms":7000}')
            + '\n{"type":"gap","at_ms":5000,"since_ms":4000}\n',
        ),
        ("csv", HEADS["csv"] + "\nobserved,7000,,,,,,,,\ngap,5000,4000,,,,,,,\n"),
    ],
)
def test_the_last_look_is_in_the_head(form: TextForm, text: str) -> None:
    head = TextHead(resources=RESOURCES, observed_ms=7000)
    assert "".join(usage_lines(form, head, ENTRIES[-1:])) == text
    read = read_usage(form, lines_of(text), "x")
    assert (read.head, read.entries) == (head, ENTRIES[-1:])


@pytest.mark.parametrize("form", FORMS)
@given(entries=entry_lists(), observed_ms=st.none() | st.integers(0, 2**42))
def test_what_is_exported_is_imported_and_answers_the_same(
    form: TextForm, entries: list[Entry], observed_ms: int | None
) -> None:
    head = TextHead(resources=RESOURCES, observed_ms=observed_ms)
    text = "".join(usage_lines(form, head, entries))
    read = read_usage(form, lines_of(text), "x")
    assert (read.head, read.entries) == (head, entries)

    answers = []
    for taken in (entries, read.entries):
        ledger = Ledger(RESOURCES, Sliding(10**7), half_life_ms=10**6)
        for entry in taken:
            ledger.take(entry)
        answers.append(ledger.usage(BEGIN_MS + 13 * 10**7))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_record_has_a_head_only(form: TextForm) -> None:
    text = "".join(usage_lines(form, HEAD, []))
    assert text == HEADS[form] + "\n"
    assert read_usage(form, lines_of(text), "x").entries == []


BAD_JSON_LINES = {
    "{": "found no JSON: Expecting property name",
    '{"type":"gap': "found no JSON: Invalid control character at column 13",
    '{"type":"removed","at_ms":1,"queue":7}': "found a number as queue, expected a text",
    '{"type":"removed","at_ms":1,"queue":null}': "found null as queue, expected a text",
    '{"type":"capacity","at_ms":1,"amounts":["1",2]}': (
        "found a text in amounts, expected a list of whole numbers"
    ),
    '{"type":"capacity","at_ms":1,"amounts":[null,2]}': "found null in amounts",
    '{"type":"capacity","at_ms":1,"amounts":{}}': "found an object as amounts, expected a list",
    '{"type":"guarantee","at_ms":1,"queue":"a","amounts":[[],2]}': (
        "found a list in amounts, expected a list of whole numbers and null"
    ),
    "[1]": "found no object",
    "[" * 100_000: "found brackets within brackets",
    '{"type":"hold","at_ms":1}': "found the type 'hold', expected one of held, capacity",
    '{"type":"gap","at_ms":5,"since_ms":4,"x":1}': "found 'x', expected only at_ms, since_ms",
    '{"type":"gap","at_ms":5}': "found no since_ms, which an entry of type gap needs",
    '{"type":"gap","at_ms":5.0,"since_ms":4}': "found the number 5.0, expected a whole one",
    '{"type":"gap","at_ms":NaN,"since_ms":4}': "found the number NaN",
    '{"type":"gap","at_ms":true,"since_ms":4}': "found true or false as at_ms, expected a whole",
    '{"type":"gap","at_ms":4,"since_ms":5}': "a gap begins at 5 ms, after its end",
    '{"type":"gap","at_ms":-1,"since_ms":-1}': "found the time -1",
    '{"type":"removed","at_ms":99999999999999,"queue":"a"}': "in the years 1970 to 2200",
    '{"type":"removed","at_ms":1,"queue":""}': "found a queue without a name",
    '{"type":"removed","at_ms":1,"queue":"\\ud800"}': "found \\ud800, which is half a character",
    f'{{"type":"gap","at_ms":{"9" * 5000},"since_ms":4}}': "found a number of 5,000 digits, expect",
    f'{{"type":"gap","at_ms":0.{"9" * 5000},"since_ms":4}}': "99999, expected a whole one",
    '{"type":"capacity","at_ms":1,"amounts":[1]}': "found 1 amount, expected 2, one for each of",
    '{"type":"capacity","at_ms":1,"amounts":[1,-1]}': "-1 of a resource is negative",
}

BAD_CSV_LINES = {
    "gap,5,4": "found 3 cells, expected 10",
    "hold,5,,,,,,,,": "found the type 'hold'",
    "gap,5,4,a,,,,,,": "found 'queue', expected only at_ms, since_ms",
    "gap,5,4,,,,,,1,": "found amounts, expected none for an entry of type gap",
    "gap,5,,,,,,,,": "found '', expected a whole number",
    "gap,\u0665,4,,,,,,,": "expected a whole number",
    "capacity,5,,,,,,,1.5,1": "found '1.5', expected a whole number",
    f"gap,{'9' * 5000},4,,,,,,,": "found a number of 5,000 digits, expected at most 40",
    "capacity,5,,,,,,,unlimited,1": "found 'unlimited', expected a whole number",
    "capacity,5,,,,,,,-1,1": "-1 of a resource is negative",
    'gap,5,4,"x"y,,,,,,': "found no CSV: ',' expected after",
}


@pytest.mark.parametrize(
    ("form", "line", "told"),
    [
        *(("jsonl", line, told) for line, told in BAD_JSON_LINES.items()),
        *(("csv", line, told) for line, told in BAD_CSV_LINES.items()),
    ],
    ids=lambda value: value[:40],
)
def test_a_bad_line_is_told_with_its_place_and_cure(form: TextForm, line: str, told: str) -> None:
    text = f"{HEADS[form]}\n\n{line}\n"
    with pytest.raises(StoreError) as raised:
        read_usage(form, lines_of(text), "old.txt")
    head, found, cure = str(raised.value).splitlines()
    assert head == "nothing was imported: 1 line of old.txt cannot be read"
    assert found.startswith("old.txt:3: ")
    assert told in found
    assert len(found) <= len("old.txt:3: ") + MOST_CHARACTERS + len("...")
    assert cure.startswith("    fix: correct this line, or export it again")


@pytest.mark.parametrize(
    ("form", "text", "told"),
    [
        ("jsonl", "", "found no JSON"),
        ("jsonl", '{"type":"usage","version":0,"resources":["cpu"]}', 'expected {"type":"usage"'),
        (
            "jsonl",
            '{"type":"usage","version":2,"resources":["cpu"]}',
            "found version 2, which a newer Fairlead wrote, expected 1: import it with that one",
        ),
        ("jsonl", '{"type":"usage","version":1,"resources":["cpu",7]}', 'expected {"type":"usage"'),
        ("jsonl", '{"type":"usage","version":1,"resources":[]}', "found no resources"),
        ("jsonl", '{"type":"usage","version":1,"resources":["a","a"]}', "'a' twice"),
        ("jsonl", '{"type":"usage","version":1}', 'expected {"type":"usage"'),
        ("csv", "", "expected the columns type,at_ms"),
        ("csv", "a,b\n1,2\n", "expected the columns type,at_ms"),
        ("csv", CSV.splitlines()[0].removesuffix(",cpu,nvidia.com/gpu"), "found no resources"),
    ],
)
def test_a_text_without_its_head_is_refused(form: TextForm, text: str, told: str) -> None:
    with pytest.raises(StoreError, match="x:1: ") as raised:
        read_usage(form, lines_of(text), "x")
    assert told in str(raised.value)


@pytest.mark.parametrize("form", FORMS)
def test_a_last_look_that_is_no_time_is_refused(form: TextForm) -> None:
    head = TextHead(resources=RESOURCES, observed_ms=-1)
    line = 1 if form == "jsonl" else 2
    with pytest.raises(StoreError, match=f"x:{line}: found the time -1, expected milliseconds"):
        read_usage(form, usage_lines(form, head, []), "x")


@pytest.mark.parametrize(
    ("form", "line", "told"),
    [
        (
            "jsonl",
            HEADS["jsonl"].replace("}", ',"observed_ms":"7"}'),
            "x:1: found an observed_ms that is no number",
        ),
        ("csv", HEADS["csv"] + "\nobserved,soon,,,,,,,,", "x:2: found 'soon', expected a whole"),
        ("csv", HEADS["csv"] + "\nobserved,7", "x:2: found 2 cells, expected 10"),
        ("csv", HEADS["csv"] + "\nobserved,7,,a,,,,,,", "x:2: found more than a time"),
        ("csv", CSV + "observed,7,,,,,,,,", "x:7: found the type 'observed', expected one of"),
    ],
)
def test_a_bad_last_look_is_told(form: TextForm, line: str, told: str) -> None:
    with pytest.raises(StoreError) as raised:
        read_usage(form, lines_of(line), "x")
    assert told in str(raised.value)


@pytest.mark.parametrize("form", FORMS)
def test_moments_of_the_future_are_refused_and_named(form: TextForm) -> None:
    """An entry of 4000 ms, in line 4 of CSV because the last look is told in line 2."""
    head = TextHead(resources=RESOURCES, observed_ms=3999)
    removed: list[Entry] = [
        Removed(at_ms=at_ms, queue=QueueName("a")) for at_ms in (3999, 4000, 9000)
    ]
    text = "".join(usage_lines(form, head, removed))
    assert read_usage(form, lines_of(text), "x", until_ms=9001).entries == removed
    with pytest.raises(StoreError) as raised:
        read_usage(form, lines_of(text), "x", until_ms=4000)
    told = str(raised.value).splitlines()
    line = 3 if form == "jsonl" else 4
    assert told[0] == "nothing was imported: 2 lines of x cannot be read"
    assert told[1].startswith(
        f"x:{line}: found the time 4000, which is 1970-01-01T00:00:04Z and more than a day from now"
    )
    line = 1 if form == "jsonl" else 2
    with pytest.raises(StoreError, match=f"x:{line}: found the time 3999, which is 1970-"):
        read_usage(form, lines_of(text), "x", until_ms=3999)


@pytest.mark.parametrize("form", FORMS)
def test_entries_that_go_back_in_time_are_refused(form: TextForm) -> None:
    granted, held = ENTRIES[2], ENTRIES[0]
    text = "".join(usage_lines(form, HEAD, [granted, held]))
    with pytest.raises(StoreError, match="x:3: an entry of 1000 ms came after one of 2000 ms"):
        read_usage(form, lines_of(text), "x")


def test_the_line_of_a_row_is_where_it_begins() -> None:
    """The reason in lines 2 and 3 has a line break; the bad row is in line 4."""
    two_lines = 'forgiven,3000,,,,,eve,"new\nyear",,'
    with pytest.raises(StoreError, match="x:4: found 1 cell, expected 10"):
        read_usage("csv", lines_of(f"{HEADS['csv']}\n{two_lines}\nbad\n"), "x")


def test_a_number_as_long_as_any_can_be_is_read_and_a_longer_one_is_not() -> None:
    longest = 10**MOST_DIGITS - 1
    granted = Granted(
        at_ms=1, queue=QueueName("a"), resource_time=(longest, -longest), who="eve", reason="r"
    )
    for form in FORMS:
        text = "".join(usage_lines(form, HEAD, [granted]))
        assert read_usage(form, lines_of(text), "x").entries == [granted]
        with pytest.raises(StoreError, match="found a number of 41 digits, expected at most 40"):
            read_usage(form, lines_of(text.replace(f"-{longest}", f"-9{longest}")), "x")


@given(st.lists(st.text(alphabet='a,";|\r\n\t= 漢', max_size=6), min_size=1, max_size=4))
def test_a_line_of_csv_gives_back_its_cells(cells: list[str]) -> None:
    line = csv_line(cells)
    assert line.endswith("\n")
    assert list(csv.reader(io.StringIO(line, newline=""), strict=True)) == [cells]


def test_many_bad_lines_are_counted() -> None:
    with pytest.raises(StoreError) as raised:
        read_usage("jsonl", lines_of(f"{HEADS['jsonl']}\n" + "{\n" * (MOST_SHOWN + 3)), "x")
    lines = str(raised.value).splitlines()
    assert lines[0] == f"nothing was imported: {MOST_SHOWN + 3} lines of x cannot be read"
    assert lines[-1] == "and 3 more that are not shown"
    assert len(lines) == 1 + 2 * MOST_SHOWN + 1
