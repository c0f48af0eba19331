"""Texts become documents: exact values, in order, with lists unfolded."""

from decimal import Decimal

import pytest

from fairlead.manifest.text.values import Value
from tests.manifest.reading import read, remarks, sole

# What plain words mean: as for the YAML reader of Kubernetes, but with exact decimals.
WORDS = """
    1           1
    -1          -1
    +1          1
    0           0
    010         8
    0o17        15
    0x1F        31
    -0b101      -5
    1_000       1000
    08          8.0
    0.1         0.1
    1.          1
    .5          0.5
    -.5         -0.5
    1e3         1000
    1.5E-3      0.0015
    0e5000      0
    true        yes
    True        yes
    on          yes
    y           yes
    false       no
    Off         no
    N           no
    ~           nothing
    null        nothing
    NULL        nothing
    12e4567     text
    1e999       text
    2024-01-02  text
    12:30       text
    10.0.0.1    text
    1.2.3       text
    0x          text
    .           text
    +           text
    1Gi         text
    tRue        text
    '1'         quoted
    "true"      quoted
    !!str 1     quoted
    !!int 1     1
    !!float 0.5 0.5
"""


@pytest.mark.parametrize("row", WORDS.strip().splitlines())
def test_plain_words_mean_what_they_mean_to_kubernetes(row: str) -> None:
    written, meaning = row.strip().rsplit(maxsplit=1)
    written = written.strip()
    value = sole(f"a: {written}\n")["a"]
    special: dict[str, Value] = {"yes": True, "no": False, "nothing": None}
    special |= {"text": written, "quoted": written.split()[-1].strip("'\"")}
    if meaning in special:
        assert value == special[meaning]
        assert type(value) is type(special[meaning])
    else:
        assert value == Decimal(meaning)
        assert type(value) in (int, Decimal)


def test_numbers_are_exact_and_never_floats() -> None:
    expected = {"a": Decimal("0.1"), "b": Decimal("1E+3"), "c": 3, "d": Decimal("-2.50")}
    yaml_value = sole("a: 0.1\nb: 1e3\nc: 3\nd: -2.50\n")
    json_value = sole('{"a": 0.1, "b": 1e3, "c": 3, "d": -2.50}')
    for value in (yaml_value, json_value):
        assert value == expected
        assert {type(each) for each in value.values()} == {int, Decimal}


def test_documents_are_read_in_order_with_their_lines() -> None:
    text = """\
        # a comment
        ---
        a: 1
        ---
        ---
        # only a comment
        --- # with a comment
        b:
          c: 2
        ...
        ---
        %d: 3
        """
    found, findings = read(text.replace("%", ""))
    assert remarks(findings) == []
    assert [(each.source.line, each.value) for each in found] == [
        (3, {"a": 1}),
        (8, {"b": {"c": 2}}),
        (12, {"d": 3}),
    ]


def test_a_yaml_directive_belongs_to_the_document_that_follows() -> None:
    found, findings = read("%YAML 1.2\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n")
    assert remarks(findings) == []
    assert [each.value for each in found] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_counted(newline: str) -> None:
    found, findings = read(newline.join(["a: 1", "---", "b:", "  c: 2", "  c: 3", ""]).encode())
    assert [each.value for each in found] == [{"a": 1}, {"b": {"c": 2}}]
    assert remarks(findings) == ["5 duplicate-key $.b.c"]


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a: 1 # "ODD\nb: 1\nb: 2\n', "3 duplicate-key $.b"),  # found in the nodes
        ('a: "ODD"\nb: [\n', "3 syntax $"),  # found by the parser
        ('a: "ODD"\nb: \x07\n', "2 control-character $"),  # found in the text
        ('{"a": "ODD",\n"b": 1,\n"b": 2}', "3 duplicate-key $.b"),  # found in JSON
        ('a: "ODD"\n---\nb: 1\nb: 2\n', "4 duplicate-key $.b"),
    ],
)
def test_what_ends_no_line_in_an_editor_is_not_counted(text: str, found: str, odd: str) -> None:
    _, findings = read(text.replace("ODD", odd).encode())
    assert remarks(findings) == [found]


def test_a_field_after_an_odd_line_end_has_the_line_of_an_editor() -> None:
    (found,), _ = read("# \u2028\na: 1\nb:\n  c: 2\n")
    assert found.source.locate(("b", "c")) == 4


def test_what_is_no_utf8_has_its_line_whatever_ends_lines() -> None:
    _, findings = read(b"a: 1\rb: 2\r\nc: \xff\n")
    assert remarks(findings) == ["3 not-utf8 $"]


def test_json_is_recognised_whatever_the_file_is_called() -> None:
    text = '\n {"kind": "Queue",\n  "a": "\\ud83d\\ude00",\n  "\t": 1}'
    with pytest.raises(AssertionError):
        sole(text)  # a raw tab in a text is neither JSON nor YAML
    assert sole(text.replace("\t", "t"))["a"] == "😀"


def test_yaml_that_begins_with_a_bracket_is_still_yaml() -> None:
    found, findings = read("{a: b, c: [1]}\n---\nd: 1\nd: 2\n")
    assert [each.value for each in found] == [{"a": "b", "c": [1]}, {"d": 1}]
    assert remarks(findings) == ["4 duplicate-key $.d"]


def test_json_values_may_follow_each_other() -> None:
    found, _ = read('{"a": 1}\n{"b": 2} {"c": 3}', "stream.json")
    assert [(each.source.line, each.value) for each in found] == [
        (1, {"a": 1}),
        (2, {"b": 2}),
        (2, {"c": 3}),
    ]


def test_lists_are_unfolded_with_the_paths_of_their_items() -> None:
    text = """\
        apiVersion: v1
        kind: List
        items:
        - kind: Queue
          spec: {a: 1}
        - kind: List
          items:
          - kind: Pod
            spec:
              b: 1
        """
    found, findings = read(text)
    assert remarks(findings) == []
    places = [(each.source.path_text(("spec",)), each.source.line) for each in found]
    assert places == [("$.items[0].spec", 4), ("$.items[1].items[0].spec", 8)]
    assert found[1].source.locate(("spec", "b")) == 10


def test_items_of_a_typed_list_get_the_type_of_the_list() -> None:
    text = """\
        apiVersion: scheduling.run.ai/v2
        kind: QueueList
        items:
        - metadata: {name: a}
        - {kind: Other, apiVersion: v1}
        """
    found, _ = read(text)
    assert [(each.value["apiVersion"], each.value["kind"]) for each in found] == [
        ("scheduling.run.ai/v2", "Queue"),
        ("v1", "Other"),
    ]


def test_a_kind_that_ends_in_list_but_has_no_items_is_an_object() -> None:
    assert sole("kind: AllowList\nspec: {items: [1]}\n")["kind"] == "AllowList"
