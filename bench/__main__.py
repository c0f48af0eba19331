"""Runs every ``bench/bench_*.py`` and prints one table.

Exit 0 whatever the figures are, because a noisy machine proves nothing; 1 when a
benchmark fails to run, or when there is none of that name.
"""

import argparse
import platform
import sys
from pathlib import Path

import msgspec

from bench.alone import import_all, measured_alone
from bench.harness import Figure, registered, table

REPEATS = 25  # beside other work, the best of 7 was up to a third slower than the best of these


def main() -> int:
    """Measure what the arguments ask for and return the exit code."""
    arguments = _arguments()
    import_all()
    chosen = registered(arguments.only)
    if not chosen:
        print(f"no benchmark has {arguments.only!r} in its name", file=sys.stderr)
        return 1
    outcomes = [measured_alone(each.name, arguments.repeats) for each in chosen]
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


def _as_json(figures: list[Figure]) -> bytes:
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "figures": [{**msgspec.to_builtins(figure), "ratio": figure.ratio} for figure in figures],
    }
    return msgspec.json.format(msgspec.json.encode(report)) + b"\n"


if __name__ == "__main__":
    raise SystemExit(main())
