"""The bytes behind what a user names: files, folders with all that is below them, or stdin."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
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

    In a folder, only files that end in `SUFFIXES` count, hidden ones are passed over, and links
    to folders are not followed. What cannot be read is reported and left out.
    """
    for name in names:
        if name == STDIN:
            stream = sys.stdin.buffer if stdin is None else stdin
            yield from _content("<stdin>", stream, findings)
            continue
        for path in _files(name, findings):
            try:
                with path.open("rb") as file:
                    yield from _content(_shown(path), file, findings)
            except OSError as error:
                _unreadable(_shown(path), error, findings)


def _shown(name: Path | str) -> str:
    # A name on disk may hold anything, but a terminal must not obey it, nor printing fail.
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))


def _files(name: str, findings: Findings) -> list[Path]:
    try:
        root = Path(name)
        if not root.is_dir():
            root.stat()  # says what is wrong, where is_dir only says no
            return [root]
        files = sorted(_below(root))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        _unreadable(_shown(name), error, findings)
        return []
    if not files:
        findings.add(
            "warning",
            "no-objects",
            file=_shown(name),
            message="found a folder without manifests",
            fix=f"name a folder with files that end in {', '.join(SUFFIXES)}",
        )
    return files


def _below(root: Path) -> Iterator[Path]:
    folders = [root]
    while folders:
        for path in folders.pop().iterdir():
            if path.name.startswith("."):
                continue
            if path.is_dir():
                if not path.is_symlink():
                    folders.append(path)
            elif path.suffix.lower() in SUFFIXES:
                yield path


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
