"""A path and a user's text are shown so that they can be read, and obeyed by no terminal."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.manifest.text.path import MAX_SHOWN, path_text, quote

QUOTES = {
    "a plain text": ("gpu", '"gpu"'),
    "letters of other languages": ("équipe-视觉", '"équipe-视觉"'),
    "a quote and a backslash": ('a"b\\c', '"a\\"b\\\\c"'),
    "an escape for terminals": ("\x1b[31m", '"\\u001b[31m"'),
    "a delete character": ("a\x7f", '"a\\u007f"'),
    "a mark that turns the direction of writing": ("é\u202e", '"é\\u202e"'),
    "half of a surrogate pair": ("\ud83d", '"\\ud83d"'),
    "a text that is long": ("é" * 61, '"' + "é" * 57 + '..."'),
}


@pytest.mark.parametrize(("text", "expected"), QUOTES.values(), ids=QUOTES.keys())
def test_what_can_be_printed_is_shown_as_it_is(text: str, expected: str) -> None:
    assert quote(text) == expected


@given(st.text(st.characters(), max_size=MAX_SHOWN))
@example("\U000e0001")
def test_a_quoted_text_can_be_printed_and_read_back(text: str) -> None:
    assert quote(text).isprintable()
    assert json.loads(quote(text)) == text


def test_keys_that_are_no_plain_words_stand_in_brackets() -> None:
    assert path_text(("spec", 3, "a.b/c", "équipe")) == '$.spec[3]["a.b/c"]["équipe"]'
