"""Runs the code blocks of a page, and tells or mends where the page is not true.

Only fenced blocks count. What is run:

- ``console``: each line ``$ command`` is given to the shell. Lines ``> more`` right after
  it belong to the command. What follows must be its output: stdout, then stderr, then
  ``[exit 1]`` if that is how it ended. Trailing blanks do not count, and a line ``...``
  stands for any number of lines.
- ``python``: with ``>>>`` prompts as a doctest, else as a script that must not raise.

The blocks of one page share a folder and the names that their Python defines, so that a
tutorial can build on what it did before. ``<!-- not run: reason -->`` above a block
exempts it. A page that shows a shell must do so in a ``console`` block. One that says ``console
live`` needs a cluster: the live tests run it.
"""

import difflib
import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

RUN = frozenset({"console", "python"})
SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "shell-session", "pycon", "py"})

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<language>[^\s`]*)(?P<more>.*)$")
EXEMPTION = re.compile(r"<!--\s*not run:?(?P<reason>.*?)-->", re.DOTALL)
PROMPT = "$ "
CONTINUATION = "> "
TIMEOUT_S = 120


class PageError(Exception):
    """The page itself is malformed: a fence without end, an exemption without reason."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A fenced block: its language, its lines, and where they begin (counted from 0)."""

    language: str
    first: int
    lines: tuple[str, ...]
    exempt: bool
    live: bool = False  # to be run on a cluster

    @property
    def runs(self) -> bool:
        """Whether the block is run, or only shown."""
        return self.language in RUN and not self.exempt and not self.live


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a console block and the lines said to be its output."""

    typed: tuple[str, ...]  # as the page shows them, prompts included
    expected: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command without its prompts."""
        return "\n".join(line[2:] for line in self.typed)


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order; refuse what would silently not run."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        end = _end_of_block(lines, number, opening)
        indent = len(opening["indent"])
        block = Block(
            language=opening["language"].lower(),
            first=number + 1,
            lines=tuple(line[indent:] for line in lines[number + 1 : end]),
            exempt=_is_exempt(lines, number),
            live=opening["more"].split() == ["live"],
        )
        if block.language in SHELLS and not block.exempt:
            raise PageError(f"line {number + 1}: use ```console, ```python or ```text here")
        yield block
        number = end + 1


def _end_of_block(lines: list[str], start: int, opening: re.Match[str]) -> int:
    ticks = opening["ticks"]
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(ticks) and not line.strip(ticks[0]):
            return number
    raise PageError(f"line {start + 1}: this block has no end")


def _is_exempt(lines: list[str], fence: int) -> bool:
    above = "\n".join(lines[:fence]).rstrip()
    begin = above.rfind("<!--")
    found = EXEMPTION.fullmatch(above, begin) if begin >= 0 else None
    if found is None:
        return False
    if not found["reason"].strip():
        raise PageError(f"line {fence + 1}: say why this block is not run")
    return True


def steps(block: Block) -> list[Step]:
    """Split a console block into commands and the output said to follow each."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.lines:
        if line.startswith(PROMPT):
            found.append(([line], []))
        elif not found:
            raise PageError(f"line {block.first + 1}: a console block begins with '$ '")
        elif line.startswith(CONTINUATION) and not found[-1][1]:
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return [Step(typed=tuple(typed), expected=tuple(expected)) for typed, expected in found]


def matches(expected: tuple[str, ...], actual: tuple[str, ...]) -> bool:
    """Tell whether the output is as said, where a line ``...`` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in _without_blank_end(expected)
    )
    text = "".join(f"{line.rstrip()}\n" for line in _without_blank_end(actual))
    return re.fullmatch(pattern, text) is not None


def _without_blank_end(lines: tuple[str, ...]) -> tuple[str, ...]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def run_command(command: str, folder: Path) -> tuple[str, ...]:
    """Run a command in *folder*, as a user at a terminal 100 columns wide, without colour."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FAIRLEAD_")
    } | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
    }
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    ending = (f"[exit {done.returncode}]",) if done.returncode else ()
    return (*done.stdout.splitlines(), *done.stderr.splitlines(), *ending)


def run_python(block: Block, names: dict[str, Any], page: str) -> str:
    """Run a Python block with the names of the page; return what went wrong, or nothing."""
    source = "\n".join(block.lines) + "\n"
    if not any(line.startswith(">>> ") for line in block.lines):
        # Blank lines above make a traceback point at the line of the page.
        exec(compile("\n" * block.first + source, page, "exec"), names)  # noqa: S102  our own pages
        return ""
    test = doctest.DocTestParser().get_doctest(source, names, page, page, block.first)
    report: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)  # a doctest works on a copy
    return "".join(report)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a page should say, and in words where it says otherwise."""

    text: str  # the page with the true outputs
    outdated: tuple[str, ...]  # outputs that differ: *text* has them mended
    broken: tuple[str, ...]  # Python that fails: only a person can mend it


def run_page(text: str, page: str, folder: Path) -> Result:
    """Run all blocks of a page in *folder*; the result's text holds the true outputs.

    Where the page is true its text comes back unchanged, ``...`` lines included.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    broken: list[str] = []
    mended: list[tuple[Block, list[str]]] = []
    for block in blocks(text):
        if block.runs and block.language == "python":
            broken.append(run_python(block, names, page))
        elif block.runs:
            mended.append((block, _run_console(block, folder)))
    outdated = [_difference(page, block, true_lines) for block, true_lines in mended]
    lines = text.splitlines()
    for block, true_lines in reversed(mended):  # from the end, so that line numbers still hold
        lines[block.first : block.first + len(block.lines)] = _indented(lines, block, true_lines)
    return Result(
        text="\n".join(lines) + "\n",
        outdated=tuple(filter(None, outdated)),
        broken=tuple(filter(None, broken)),
    )


def _run_console(block: Block, folder: Path) -> list[str]:
    true_lines: list[str] = []
    for step in steps(block):
        actual = run_command(step.command, folder)
        true_lines += step.typed
        if matches(step.expected, actual):
            true_lines += step.expected
        else:
            true_lines += [line.rstrip() for line in actual]
    return true_lines


def _indented(lines: list[str], block: Block, true_lines: list[str]) -> list[str]:
    fence = lines[block.first - 1]
    indent = " " * (len(fence) - len(fence.lstrip()))
    return [f"{indent}{line}".rstrip() for line in true_lines]


def _difference(page: str, block: Block, true_lines: list[str]) -> str:
    difference = difflib.unified_diff(
        block.lines, true_lines, f"{page}:{block.first + 1} says", "the commands print", lineterm=""
    )
    return "\n".join(difference)
