"""Guesses which word a user meant."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_WORD_LENGTH = 64  # comparing takes the product of the lengths


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean "quota"?``, or "" when nothing known is near enough."""
    if len(word) > MAX_WORD_LENGTH:
        return ""
    by_lower_case = {each.lower(): each for each in sorted(known)}
    near = get_close_matches(word.lower(), by_lower_case, n=1)
    return f'did you mean "{by_lower_case[near[0]]}"?' if near else ""
