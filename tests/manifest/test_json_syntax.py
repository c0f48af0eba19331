"""A mistake in JSON is found at its line, and ends the file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.text.values import Mapping
from tests.manifest.reading import read, remarks
from tests.manifest.value_strategies import as_json, mappings

LINES = {
    "a comma too many in a mapping": ('{\n"a": 1,}', 2),
    "a comma too many in a list": ('{\n"a": [1,]}', 2),
    "a comma too few": ('{"a": 1\n"b": 2}', 2),
    "a colon too few": ('{"a" 1}', 1),
    "an end too early": ('{"a": [1,\n2', 2),
    "single quotes": ("{'a': 1}", 1),
    "a zero in front": ('{"a": 01}', 1),
    "a word of Python": ('{"a": None}', 1),
    "a line break in a text": ('{"a": "b\n"}', 1),
    "in the second of two values": ('\n{"a": 1}\n\n{"b":\n[1,\n2 3]}', 6),
}


@pytest.mark.parametrize(("text", "line"), LINES.values(), ids=LINES.keys())
def test_the_line_of_the_mistake_is_shown(text: str, line: int) -> None:
    _, findings = read(text, "x.json")
    assert remarks(findings)[0] == f"{line} syntax $"


fragments = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"a"', '"', "1", "0", "-", ".5", "e1", "true", "null"),
        *("nul", "NaN", "-Infinity", " ", "\n", "\\u12", "\0", "x", "_"),
        *('{"a":', ',"a":', "[1", ",[]", ",{ }", '"\\\\"', '"\\\\/"'),
    ]
)


@given(st.lists(fragments, max_size=12).map(lambda parts: "[" + "".join(parts)))
def test_no_mistake_is_swallowed(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        _, findings = read(text, "x.json")
        assert findings.has_errors


@given(mappings, st.data())
def test_a_text_that_is_cut_is_refused(value: Mapping, data: st.DataObject) -> None:
    text = as_json(value, is_ascii=data.draw(st.booleans()))
    length = data.draw(st.integers(1, len(text) - 1))
    _, findings = read(text[:length], "x.json")
    assert any(each.code == "syntax" for each in findings)
