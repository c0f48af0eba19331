"""Whatever is wrong with a text becomes a finding with its line."""

import pytest

from fairlead.errors import ManifestError
from fairlead.manifest.text.values import REFUSED
from tests.manifest.reading import read, remarks

# Each: what was written, and every finding that it must give, as "line code path".
REFUSALS = {
    "a duplicate key": (
        """\
        spec:
          quota: 1
          limit: 2
          quota: 3
        """,
        ["4 duplicate-key $.spec.quota"],
    ),
    "two duplicate keys in different places are both told": (
        "a: 1\nb: {c: 1, c: 2}\na: 2\n",
        ["2 duplicate-key $.b.c", "3 duplicate-key $.a"],
    ),
    "a duplicate key does not hide a mistake below it": (
        "a: 1\na: {b: !x 1}\n",
        ["2 custom-tag $.a.b", "2 duplicate-key $.a"],
    ),
    "a tag of Python": ("a: 1\nb: !!python/object/apply:os.system [ls]\n", ["2 custom-tag $.b"]),
    "a tag of one's own": ("a:\n  - !secret x\n", ["2 custom-tag $.a[0]"]),
    "a binary tag": ("a: !!binary aGk=\n", ["1 custom-tag $.a"]),
    "a tag on a key": ("a: 1\n!x b: 2\n", ["2 bad-key $"]),
    "a list as a key": ("a: 1\n? [b]\n: 2\n", ["2 bad-key $"]),
    "a template that was not rendered": ("spec:\n  name: {{ name }}\n", ["2 template $.spec.name"]),
    "a template as a key": ("spec:\n  {{ name }}: x\n", ["2 template $.spec"]),
    "a template with a field of Helm": ("a: 1\nb: {{ .Values.b }}\n", ["2 template $.b"]),
    "a template with a text": ('a: 1\nb: {{ include "b" . }}\n', ["2 template $.b"]),
    "a template with a condition": (
        "a: 1\n{{- if .Values.b }}\nb: 2\n{{- end }}\n",
        ["2 template $"],
    ),
    "a template within a text": ("a: 1\nb: x-{{ .Values.b }}: y\n", ["2 template $"]),
    "braces in quotes are no template": ('a: "{{ x }}"\nb: c: d\n', ["2 syntax $"]),
    "braces in a comment are no template": ("a: 1 # {{ x }}\nb: c: d\n", ["2 syntax $"]),
    "NaN": ("a:\n  b: .nan\n", ["2 bad-number $.a.b"]),
    "an infinity": ("a: 1\nb: -.inf\n", ["2 bad-number $.b"]),
    "an integer of 5000 digits": (f"a: 1\nb: {'9' * 5000}\n", ["2 bad-number $.b"]),
    "a hexadecimal of 5000 digits": (f"a: 0x{'f' * 5000}\n", ["1 bad-number $.a"]),
    "decimals of 5000 digits": (f"a: 0.{'1' * 5000}\n", ["1 bad-number $.a"]),
    "a number that is nearly zero": ("a: 1e-999999999\n", ["1 bad-number $.a"]),
    "a number tag on what is no number": ("a: !!int x\n", ["1 bad-number $.a"]),
    "an alias that contains itself": ("x: 1\na: &a [1, *a]\n", ["2 bad-alias $.a[1]"]),
    "an alias at the end of what it names": (
        "a: &a\n- b\n- c:\n    d: *a\n",
        ["4 bad-alias $.a[1].c.d"],
    ),
    "a merge of a mapping into itself": ("x: 1\na: &a {<<: *a}\n", ['2 bad-alias $.a["<<"]']),
    "a merge of a number": ("x: 1\na: {<<: 5}\n", ["2 bad-merge $.a"]),
    "a merge of a list of numbers": ("a: {<<: [5]}\n", ["1 bad-merge $.a"]),
    "an alias without an anchor": ("x: 1\na: *b\n", ["2 syntax $"]),
    "a tab": ("a:\n\tb: 1\n", ["2 tab-indentation $"]),
    "a NUL": ("a: 1\nb: \0\n", ["2 control-character $"]),
    "an escape character": ("a: \x1b[31m\n", ["1 control-character $"]),
    "a colon too many": ("a: 1\nb: c: d\n", ["2 syntax $"]),
    "a bracket that is never closed": ("a: 1\nb: [1, 2\n", ["3 syntax $"]),
    "uneven indentation": ("a:\n    b: 1\n  c: 2\n", ["3 syntax $"]),
    "a special character at the beginning": ("a: 1\nb: @c\n", ["2 syntax $"]),
    "a text instead of an object": ("just words\n", ["1 not-an-object $"]),
    "a list instead of an object": ("\n- a: 1\n- b: 2\n", ["2 not-an-object $"]),
    "a number in a list of objects": (
        "kind: List\nitems:\n- a: 1\n- 5\n-\n",
        ["4 not-an-object $.items[1]", "5 not-an-object $.items[2]"],
    ),
    "items that are no list": ("kind: List\nitems: x\n", ["2 not-an-object $.items"]),
    "items that are a mapping": (
        "kind: List\nitems:\n- kind: QueueList\n  items: {a: b}\n- c: 1\n",
        ["4 not-an-object $.items[0].items"],
    ),
    "items that were refused": ("kind: List\nitems: !x []\n", ["2 custom-tag $.items"]),
    "files joined without a line between them": (
        """\
        apiVersion: v1
        kind: A
        spec: {a: 1}
        # the second file
        apiVersion: v1
        kind: B
        metadata: {a: 1, a: 2}
        spec: {b: 2}
        kind: C
        apiVersion: v1
        spec: {c: 3}
        """,
        ["5 duplicate-key $", "7 duplicate-key $.metadata.a", "9 duplicate-key $"],
    ),
    "one line that tells of two objects": (
        "{apiVersion: v1, kind: A, apiVersion: v1, kind: B}\n",
        ["1 duplicate-key $.apiVersion", "1 duplicate-key $.kind"],
    ),
    "lines within brackets that tell of two objects": (
        "{apiVersion: v1, kind: A,\napiVersion: v1, kind: B}\n",
        ["2 duplicate-key $.apiVersion", "2 duplicate-key $.kind"],
    ),
    "a kind twice": (
        "apiVersion: v1\nkind: A\nspec: {}\nkind: B\n",
        ["4 duplicate-key $.kind"],
    ),
    "nothing at all": ("", ["None no-objects $"]),
    "comments only": ("# nothing\n---\n# here\n", ["None no-objects $"]),
    "an empty list of objects": ("kind: List\nitems: []\n", ["None no-objects $"]),
    "every mistake of a document is told": (
        "a: .inf\nb: !x 1\nc: 1\nc: 2\n",
        ["1 bad-number $.a", "2 custom-tag $.b", "4 duplicate-key $.c"],
    ),
    "a mistake in one document leaves the others readable": (
        "a: 1\n---\nb: [\n---\nc: }\n---\nd: 1\nd: 2\n",
        ["4 syntax $", "5 syntax $", "8 duplicate-key $.d"],
    ),
    "a mistake in an item of a list": (
        "kind: List\nitems:\n- a: 1\n- b: 1\n  b: 2\n",
        ["5 duplicate-key $.items[1].b"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_is_wrong_in_yaml_is_told_with_its_line(text: str, expected: list[str]) -> None:
    _, findings = read(text)
    assert remarks(findings) == expected


JSON_REFUSALS = {
    "a duplicate key": ('{"a": 1,\n "b": {"c": 1,\n "c": 2}}', ["3 duplicate-key $.b.c"]),
    "NaN": ('{"a": 1,\n "b": NaN}', ["2 bad-number $.b"]),
    "an infinity": ('{"a": [1,\n -Infinity]}', ["2 bad-number $.a[1]"]),
    "an integer of 5000 digits": ('{"a":\n' + "9" * 5000 + "}", ["2 bad-number $.a"]),
    "a number beyond all bounds": ('\n\n{"a":\n1e999999999}', ["4 bad-number $.a"]),
    "several at once": ('{"a": 1e999,\n"b": 1,\n"b": NaN}', [
        "1 bad-number $.a", "3 bad-number $.b", "3 duplicate-key $.b",
    ]),
    "a second value with a mistake": ('{"a": 1}\n\n{"b": 1,\n"b": 2}', ["4 duplicate-key $.b"]),
    "half of a surrogate pair": ('{"a": 1,\n"b": "\\ud83d"}', ["2 not-utf8 $"]),
    "half of a surrogate pair behind a backslash": ('{"a": "\\\\ud83d\\ude00"}', ["1 not-utf8 $"]),
    "a comma too many": ('{\n"a": 1,}', ["2 syntax $"]),
    "YAML in a JSON file": ("a: 1", ["1 syntax $"]),
    "a control character": ('{"a": "\n"}', ["1 syntax $"]),
    "a NUL": ('{"a": 1,\n\0', ["2 syntax $"]),
    "text after the value": ('{"a": 1}\nx', ["2 syntax $"]),
    "a list instead of an object": ("\n[1, 2]", ["2 not-an-object $"]),
    "nothing at all": (" \n", ["None no-objects $"]),
    "mappings a hundred thousand deep": ('{"a":' * 100_000, ["1 too-deep $"]),
    "lists a hundred thousand deep": ('{"a":\n' + "[" * 100_000, ["2 too-deep $"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), JSON_REFUSALS.values(), ids=JSON_REFUSALS.keys())
def test_what_is_wrong_in_json_is_told_with_its_line(text: str, expected: list[str]) -> None:
    _, findings = read(text, "queues.json")
    assert remarks(findings) == expected


ENCODINGS = {
    "a byte that is no UTF-8": (b"a: 1\nb: \xff\n", ["2 not-utf8 $"]),
    "UTF-16": ("a: 1\n".encode("utf-16"), ["1 not-utf8 $"]),
    "UTF-32": ("a: 1\n".encode("utf-32"), ["1 not-utf8 $"]),
    "a byte order mark": ("a: 1\n".encode("utf-8-sig"), ["1 byte-order-mark $"]),
    "a byte order mark before a broken byte": (b"\xef\xbb\xbfa: 1\n\xfe", [
        "1 byte-order-mark $", "2 not-utf8 $",
    ]),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), ENCODINGS.values(), ids=ENCODINGS.keys())
def test_what_is_not_utf8_is_told_with_its_line(data: bytes, expected: list[str]) -> None:
    _, findings = read(data)
    assert remarks(findings) == expected


def test_a_byte_order_mark_is_only_an_advice() -> None:
    found, findings = read("a: 1\n".encode("utf-8-sig"))
    assert found[0].value == {"a": 1}
    assert not findings.has_errors


def test_objects_that_nothing_separates_are_all_read() -> None:
    found, findings = read("é: 1\nkind: A\napiVersion: v1\na: 1\nkind: B\napiVersion: v1\nb: 2\n")
    assert [(each.source.line, each.value["kind"]) for each in found] == [(1, "A"), (5, "B")]
    assert [each.value.get("a") for each in found] == [1, None]
    assert found[1].source.locate(("b",)) == 7
    (finding,) = findings
    assert finding.message == "found a second object: the line --- is missing before line 5"


def test_items_that_are_a_mapping_are_no_object() -> None:
    found, findings = read("kind: List\nitems: {a: b}\n")
    assert found == []
    assert [each.message for each in findings] == ["found a mapping, expected a list of objects"]


def test_a_duplicate_key_names_both_lines_and_keeps_the_first() -> None:
    found, findings = read("a: 1\n\nb: 2\na: 3\n")
    (finding,) = findings
    assert finding.message == 'found the key "a" twice, on lines 1 and 4'
    assert found[0].value == {"a": 1, "b": 2}


def test_an_error_shows_place_problem_and_cure() -> None:
    _, findings = read("a:\n\tb: 1\n")
    assert str(ManifestError(findings)) == (
        "queues.yaml:2: error: $: found a tab, expected spaces [tab-indentation]\n"
        "    fix: indent with spaces only"
    )


def test_a_refused_value_is_marked_and_the_rest_is_kept() -> None:
    found, _ = read("a: .nan\nb: !x [1]\nc: {d: 1, e: !y z}\n")
    assert found[0].value == {"a": REFUSED, "b": REFUSED, "c": {"d": 1, "e": REFUSED}}
