"""Attacks in rounds, each from a seed of its own, until the time is over.

An attack writes what it gives to Fairlead into a folder. If it finds a fault, the seed and the
round are printed and the folder is kept; a round that does not end is ended with all its stacks.
"""

import argparse
import faulthandler
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

Attack: TypeAlias = Callable[[Random, Path], str]  # returns how it ended, in a word or two

HANG_S: Final = 120  # far more than a round takes on a busy machine


def survive(attack: Attack, seconds: float, seed: int, most: int | None = None) -> dict[str, int]:
    """Attack until the time is over or *most* rounds were made; count how they ended."""
    until_s = time.monotonic() + seconds
    ends: dict[str, int] = {}
    done = 0
    while done != most and time.monotonic() < until_s:
        end = _round(attack, seed, done)
        ends[end] = ends.get(end, 0) + 1
        done += 1
    return ends


def _round(attack: Attack, seed: int, number: int) -> str:
    folder = Path(tempfile.mkdtemp(prefix="fairlead-fuzz-"))
    where = f"seed {seed}, round {number}; the input is in {folder}"
    (folder / "round.txt").write_text(where, encoding="utf-8")
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    try:
        end = attack(Random(f"{seed}/{number}"), folder)
    except BaseException as fault:
        fault.add_note(where)
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()
    shutil.rmtree(folder)
    return end


def main(name: str, attack: Attack) -> int:
    """Do what the arguments ask for and return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.stdout.write(f"{name}: seed {arguments.seed}\n")
    ends = survive(attack, arguments.seconds, arguments.seed)
    told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    sys.stdout.write(f"{name}: {sum(ends.values())} rounds: {told}\n")
    return 0
