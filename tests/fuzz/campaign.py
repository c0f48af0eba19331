"""Tries case after case, and says of the first that fails how to see it again.

Every case has random numbers of its own, made from the seed and its number.
"""

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

HANGS_S: Final = 20
SHRINKS: Final = 300  # attempts to make a failing input smaller

Make = Callable[[Random], str]
Check = Callable[[str], None]


class HangError(Exception):
    """A case took longer than any should."""


def run(name: str, make: Make, check: Check) -> None:
    """Take the options of a fuzzer, and run it; a failure ends the process with 1."""
    options = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    end_s = time.monotonic() + given.seconds
    done = 0
    for number in count():
        if time.monotonic() > end_s:
            break
        if not passes(name, make, check, given.seed, number):
            raise SystemExit(1)
        done = number + 1
    sys.stdout.write(f"{name}: {done} cases, seed {given.seed}: none failed\n")


def passes(name: str, make: Make, check: Check, seed: int, number: int) -> bool:
    """Try one case. Of one that fails, print why, and write its smallest input to a file."""
    text = make(Random(f"{seed}/{number}"))
    wrong = _wrong(check, text)
    if wrong is None:
        return True
    text, wrong = _smaller(check, text, wrong)
    file = Path(f"fuzz-{name}-{seed}-{number}.yaml")
    file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    traceback.print_exception(wrong)
    sys.stdout.write(f"{name}: case {number} of seed {seed} fails; its input is in {file}\n")
    return False


def _wrong(check: Check, text: str) -> Exception | None:
    try:
        with _alarm():
            check(text)
    except Exception as wrong:  # noqa: BLE001  # whatever it is, it is what a fuzzer looks for
        return wrong
    return None


@contextmanager
def _alarm() -> Iterator[None]:
    def hang(*_: Any) -> None:
        raise HangError(f"no answer after {HANGS_S} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(HANGS_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _smaller(check: Check, text: str, wrong: Exception) -> tuple[str, Exception]:
    """Leave out lines, in ever smaller blocks, while what is wrong is of the same type."""
    lines, tries = text.split("\n"), 0
    size = len(lines) // 2
    while size and not isinstance(wrong, HangError):
        at = 0
        while at < len(lines) and tries < SHRINKS:
            tries += 1
            fewer = lines[:at] + lines[at + size :]
            again = _wrong(check, "\n".join(fewer))
            if type(again) is type(wrong):
                lines, wrong = fewer, again
            else:
                at += size
        size //= 2
    return "\n".join(lines), wrong
