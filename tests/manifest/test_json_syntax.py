"""What is wrong in JSON is told by our own reader, so that no version of Python changes a word."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.manifest.text.json_documents import NotJsonError, cut_json
from tests.manifest.reading import read

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
        'x.json:1: error: $: found "\'", expected a key in double quotes [syntax]',
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
    ]
)


@given(st.lists(fragments, max_size=12).map("".join))
@example('{"a": 1,}')
@example("-NaN")
@example("{" * 5000)
def test_the_careful_reader_refuses_whatever_the_fast_one_refuses(text: str) -> None:
    """Else a mistake would be swallowed."""
    remarks: list[str] = []
    try:
        for _ in cut_json(text, lambda code, *_: remarks.append(code)):
            pass
    except NotJsonError as wrong:
        before = len(remarks)
        wrong.tell(lambda code, *_: remarks.append(code))
        assert len(remarks) == before + 1
