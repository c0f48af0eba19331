"""The way into ``fairlead``: nothing slow is imported before an interruption can be caught."""

import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None, **extra: Any) -> None:
    """Run the command line and exit; Ctrl-C ends it with a word, whatever it was doing."""
    try:
        from fairlead.cli.group import run

        run(arguments, **extra)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
