"""What a terminal would obey is shown instead, and printable text stays as it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.explain.text.names import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("team-a", "team-a"),
        ('équipe "a" \\n', 'équipe "a" \\n'),
        ("a\nb", r"a\nb"),
        ("\x1b[31mred", r"\u001b[31mred"),
        ("\x7f", r"\u007f"),
        ("\u202eteam", r"\u202eteam"),
        ("\ud800", r"\ud800"),
        ("a" * 70 + "\t", "a" * 70 + r"\t"),
    ],
    ids=ascii,
)
def test_a_text_is_shown_in_one_line(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(exclude_characters='\\"')))
def test_nothing_is_lost_and_nothing_is_left_to_obey(text: str) -> None:
    """Without backslashes and quotes of the user's own, JSON reads it back."""
    shown = printable(text)
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == text
