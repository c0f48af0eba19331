"""The lines of a log, plain or gzipped, however long the log is and whatever is wrong with it."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from fairlead.sim.traces.trace_job import TraceError

LONGEST_LINE_BYTES: Final = 2**20
"""No row is that long; a file without line ends must not fill the memory."""

_PIECE_BYTES: Final = 2**18
_GZIP_MARK: Final = b"\x1f\x8b"


def trace_lines(path: Path) -> Iterator[str]:
    """Yield each line without its end; raise `TraceError` if the file cannot be read to its end.

    Whether it is gzipped is decided by its first bytes, not by its name. Bytes that are not
    UTF-8 are shown as ``\\xfc``, so two names never become one. Memory: a piece at a time.
    """
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == _GZIP_MARK
            file.seek(0)
            opened = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_gzip else file
            yield from _lines(opened, path)
    except EOFError as wrong:
        raise TraceError(f"{path}: the gzip file ends too early", "fetch it again") from wrong
    except (gzip.BadGzipFile, zlib.error) as wrong:
        raise TraceError(f"{path}: the gzip file is damaged ({wrong})", "fetch it again") from wrong
    except OSError as wrong:
        raise TraceError(
            f"{path}: cannot be read: {wrong.strerror or wrong}",
            "name a file that exists and that you may read",
        ) from wrong


def _lines(file: BinaryIO, path: Path) -> Iterator[str]:
    begun = b""
    is_first = True
    while piece := file.read(_PIECE_BYTES):
        whole, end, begun = (begun + piece).rpartition(b"\n")
        if len(begun) > LONGEST_LINE_BYTES:
            raise TraceError(
                f"{path}: a line is longer than 1 MiB, expected rows of a log", "name a log"
            )
        if end:
            yield from _decoded(whole, is_first=is_first)
            is_first = False
    if begun:
        yield from _decoded(begun, is_first=is_first)


def _decoded(data: bytes, *, is_first: bool) -> list[str]:
    text = data.decode("utf-8", errors="backslashreplace")
    if is_first:
        text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text.split("\n")
