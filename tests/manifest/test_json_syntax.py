"""What is wrong in JSON is told by our own reader, so that no version of Python changes a word."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.manifest.text.json_syntax import json_mistake
from fairlead.manifest.text.values import Mapping
from tests.manifest.reading import read
from tests.manifest.value_strategies import as_json, mappings

MESSAGES = {
    "a comma too many in a mapping": (
        '{"a": 1,\n}',
        'x.json:2: error: $: found "}", expected a key in double quotes [syntax]',
    ),
    "a comma too many in a list": (
        '{"a": [1,\n]}',
        'x.json:2: error: $: found "]", expected a value [syntax]',
    ),
    "a comma too few": (
        '{"a": 1\n"b": 2}',
        'x.json:2: error: $: found "\\"", expected , or } [syntax]',
    ),
    "a colon too few": ('{"a" 1}', 'x.json:1: error: $: found "1", expected : [syntax]'),
    "an end too early": (
        '{"a": [1,\n2',
        "x.json:2: error: $: found the end of the text, expected , or ] [syntax]",
    ),
    "single quotes": (
        "{'a': 1}",
        'x.json:1: error: $: found "\'", expected a key in double quotes or } [syntax]',
    ),
    "a zero in front": ('{"a": 01}', 'x.json:1: error: $: found "01", expected a value [syntax]'),
    "a word of Python": (
        '{"a": None}',
        'x.json:1: error: $: found "None", expected a value [syntax]',
    ),
    "a line break in a text": (
        '{"a": "b\n"}',
        (
            "x.json:1: error: $: found a text without its end, with a line break, "
            "or with a wrong escape [syntax]"
        ),
    ),
}


@pytest.mark.parametrize(("text", "expected"), MESSAGES.values(), ids=MESSAGES.keys())
def test_the_message_says_what_was_found_and_expected_there(text: str, expected: str) -> None:
    _, findings = read(text, "x.json")
    assert [str(finding).partition("\n")[0] for finding in findings] == [expected]


fragments = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"a"', '"', "1", "0", "-", ".5", "e1", "true", "null"),
        *("nul", "NaN", "-Infinity", " ", "\n", "\\u12", "\0", "x", "_"),
        *('{"a":', ',"a":', "[1", ",[]", ",{ }", '"\\\\"', '"\\\\/"'),
    ]
)


@given(st.lists(fragments, max_size=12).map(lambda parts: "[" + "".join(parts)))
@example('{"a": 1,}')
@example("[-NaN]")
@example("[" * 5000)
def test_our_own_syntax_is_that_of_the_standard_parser(text: str) -> None:
    """Else a mistake would be swallowed, or told where there is none."""
    try:
        json.JSONDecoder().raw_decode(text)
        is_json = True
    except (json.JSONDecodeError, RecursionError):
        is_json = False
    assert (json_mistake(text) is None) == is_json


@given(mappings, st.data())
def test_a_valid_text_has_no_mistake_and_one_that_is_cut_ends_too_early(
    value: Mapping, data: st.DataObject
) -> None:
    text = as_json(value, is_ascii=data.draw(st.booleans()))
    assert json_mistake(text) is None
    length = data.draw(st.integers(0, len(text) - 1))
    assert json_mistake(text[:length]) is not None


def test_lines_are_counted_from_where_the_value_begins() -> None:
    _, findings = read('\n{"a": 1}\n\n{"b":\n[1,\n2 3]}', "x.json")
    assert [finding.line for finding in findings] == [6]
