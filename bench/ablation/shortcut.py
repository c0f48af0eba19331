"""A shortcut, and how it is switched off: its fast answer is replaced by the plain one.

The replacement is made here, from outside, so that the policies need no option for it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch


class Replacement(NamedTuple):
    """An attribute of a class or module, and what stands there without the shortcut."""

    owner: Any
    attribute: str
    plain: Any


class Shortcut(NamedTuple):
    """Something that makes a policy faster and changes no decision."""

    name: str
    lines: int  # of code that would go with it
    replacements: tuple[Replacement, ...]


@contextmanager
def switched_off(shortcut: Shortcut) -> Iterator[None]:
    """Replace the fast answers of *shortcut* while the block runs."""
    with ExitStack() as stack:
        for each in shortcut.replacements:
            stack.enter_context(patch.object(each.owner, each.attribute, each.plain))
        yield
