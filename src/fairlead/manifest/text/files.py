"""The bytes behind what a user names: files, folders with all that is below them, or stdin."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.limits import MAX_FILE_BYTES

STDIN = "-"
FIRST_READ_BYTES = 2**16  # asking for the largest size at once would reserve it for every file
SUFFIXES = (".yaml", ".yml", ".json")


def read_inputs(
    names: Iterable[str], findings: Findings, *, stdin: BinaryIO | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each input, folders in the order of their paths.

    In a folder, only regular files that end in `SUFFIXES` count, hidden ones are passed over, and
    links to folders are not followed. A pipe or device is read if it is named itself. What cannot
    be read is reported and left out; what is named several times, by whatever name, is read once.
    """
    seen: set[str] = set()
    for name in names:
        paths = [STDIN] if name == STDIN else _files(name, findings)
        for path in _first_named(name, paths, seen, findings):
            if path == STDIN:
                stream = sys.stdin.buffer if stdin is None else stdin
                yield from _content("<stdin>", stream, findings)
                continue
            opener = None if path == str(Path(name)) else _open_regular
            try:
                with open(path, "rb", opener=opener) as file:
                    yield from _content(_shown(path), file, findings)
            except _NotRegularError:
                findings.add(
                    "warning",
                    "unreadable",
                    file=_shown(path),
                    message="found a pipe, socket or device in a folder; left out",
                    fix="remove it, or name it itself if it is to be read",
                )
            except OSError as error:
                _unreadable(_shown(path), error, findings)


class _NotRegularError(Exception):
    """What a folder holds is neither a file nor a folder."""


def _open_regular(path: str, flags: int) -> int:
    """Open what a folder holds, if it is a regular file: a pipe would block, a device may act."""
    if not S_ISREG(Path(path).stat().st_mode):
        raise _NotRegularError
    descriptor = os.open(path, flags | os.O_NONBLOCK)  # it may be a pipe by now
    if S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise _NotRegularError


def _first_named(
    name: str, paths: Sequence[str], seen: set[str], findings: Findings
) -> Iterator[str]:
    """Yield the paths that were not seen before, and warn about the others."""
    again: list[str] = []
    for path in paths:
        real_path = path if path == STDIN else os.path.realpath(path)
        if real_path in seen:
            again.append(path)
        else:
            seen.add(real_path)
            yield path
    if again:
        more = f" and {len(again) - 1} more" if len(again) > 1 else ""
        findings.add(
            "warning",
            "no-effect",
            file=_shown(name),
            message=f"found a file that was named before: {_shown(again[0])}{more}; read once",
            fix="name each file once, either itself or by its folder",
        )


def _shown(name: str) -> str:
    # A name on disk may hold anything, but a terminal must not obey it, nor printing fail.
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _files(name: str, findings: Findings) -> list[str]:
    before = len(findings)
    try:
        root = Path(name)
        if not root.is_dir():
            root.stat()  # says what is wrong, where is_dir only says no
            return [str(root)]
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        _unreadable(_shown(name), error, findings)
        return []
    files = [str(path) for path in sorted(_below(root, findings))]
    if not files and len(findings) == before:
        findings.add(
            "warning",
            "no-objects",
            file=_shown(name),
            message="found a folder without manifests",
            fix=f"name a folder with files that end in {', '.join(SUFFIXES)}",
        )
    return files


def _below(root: Path, findings: Findings) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        _unreadable(_shown(str(error.filename)), error, findings)

    for folder, below, files in os.walk(root, onerror=refuse):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = (Path(folder, name) for name in files if not name.startswith("."))
        yield from (path for path in paths if path.suffix.lower() in SUFFIXES)


def _content(name: str, file: BinaryIO, findings: Findings) -> Iterator[tuple[str, bytes]]:
    try:
        data = file.read(FIRST_READ_BYTES)
        if len(data) == FIRST_READ_BYTES:
            data += file.read(MAX_FILE_BYTES + 1 - len(data))
    except OSError as error:
        _unreadable(name, error, findings)
        return
    if len(data) > MAX_FILE_BYTES:
        findings.add(
            "error",
            "too-large",
            file=name,
            message=f"found more than {MAX_FILE_BYTES // 2**20} MiB",
            fix="split the input into several files",
        )
        return
    yield name, data


def _unreadable(name: str, error: OSError | ValueError, findings: Findings) -> None:
    reason = error.strerror if isinstance(error, OSError) else None
    findings.add(
        "error",
        "unreadable",
        file=name,
        message=f"cannot be read: {reason or error}",
        fix="name a file or folder that exists and that you may read, or - for stdin",
    )
