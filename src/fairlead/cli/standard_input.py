"""Standard input as bytes that can be read again, because a pipe gives them only once."""

import sys
from collections.abc import Iterable

from fairlead.errors import FairleadError
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.limits import MAX_FILE_BYTES


def read_standard_input(names: Iterable[str]) -> bytes:
    """Return what is on standard input if one of *names* means it, else nothing.

    Of an input above the bound only so much is read that `load` will refuse it.
    """
    if STDIN not in names:
        return b""
    if sys.stdin is None:
        raise FairleadError("standard input is closed: name a file, or pipe something in")
    try:
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    except OSError as wrong:
        raise FairleadError(f"standard input cannot be read: {wrong.strerror}") from wrong
