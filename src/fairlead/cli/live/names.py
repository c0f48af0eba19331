"""Names of Kubernetes among the options of a command."""

import re
from collections.abc import Callable
from typing import Final

import click

MAX_NAMESPACE: Final = 63
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = re.compile(_LABEL)
_DOTTED: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def reads_name(
    max_length: int, *, may_have_dots: bool = False
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return a callback that takes names of Kubernetes: letters, digits and dashes."""
    pattern = _DOTTED if may_have_dots else _NAME
    signs = "digits, dashes and dots" if may_have_dots else "digits and dashes"

    def read(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
        if text is not None and (len(text) > max_length or pattern.fullmatch(text) is None):
            raise click.BadParameter(
                f"found {text!r}, expected at most {max_length} lower-case letters, {signs}, "
                "such as fairlead"
            )
        return text

    return read
