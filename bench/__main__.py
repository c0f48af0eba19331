"""Runs every ``bench/bench_*.py`` and prints one table.

Exit 0 whatever the figures are, because a noisy machine proves nothing; 1 when a
benchmark fails to run, or when there is none of that name.
"""

import argparse
import importlib
import platform
import sys
import traceback
from pathlib import Path

import msgspec

from bench.harness import AbsentInputError, Benchmark, Figure, measure, registered, table

REPEATS = 25  # beside other work, the best of 7 was up to a third slower than the best of these


def main() -> int:
    """Measure what the arguments ask for and return the exit code."""
    arguments = _arguments()
    for module in sorted(Path(__file__).parent.glob("bench_*.py")):
        importlib.import_module(f"bench.{module.stem}")
    chosen = registered(arguments.only)
    if not chosen:
        print(f"no benchmark has {arguments.only!r} in its name", file=sys.stderr)
        return 1
    outcomes = [_attempt(each, arguments.repeats) for each in chosen]
    figures = [outcome for outcome in outcomes if isinstance(outcome, Figure)]
    print(table(figures))
    if arguments.json is not None:
        arguments.json.write_bytes(_as_json(figures))
    return 1 if None in outcomes else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Fairlead.")
    parser.add_argument("--only", default="", metavar="TEXT", help="names that contain TEXT")
    parser.add_argument(
        "--repeats", type=_count, default=REPEATS, help=f"best of how many ({REPEATS})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _attempt(each: Benchmark, repeats: int) -> Figure | AbsentInputError | None:
    """Measure; what cannot be measured here is said, and None is what does not run."""
    print(f"measuring {each.name}", file=sys.stderr)
    try:
        return measure(each, repeats)
    except AbsentInputError as absent:
        print(f"left out {each.name}: {absent}", file=sys.stderr)
        return absent
    except Exception:  # noqa: BLE001 - one that breaks must not hide the figures of the others
        print(f"{each.name} failed:\n{traceback.format_exc()}", file=sys.stderr)
        return None


def _as_json(figures: list[Figure]) -> bytes:
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "figures": [{**msgspec.to_builtins(figure), "ratio": figure.ratio} for figure in figures],
    }
    return msgspec.json.format(msgspec.json.encode(report)) + b"\n"


if __name__ == "__main__":
    raise SystemExit(main())
