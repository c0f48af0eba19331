"""``python -m tests.conformance FILE... [--only KIND] [--json]``: compare with recorded answers."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.conformance.outcome import Outcome
from tests.conformance.vector_file import VectorError, check_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many cases agree, file by file and kind by kind; 1 unless all of them do."""
    options = _parser().parse_args(arguments)
    by_file: dict[str, list[Outcome]] = {}
    kinds: set[str] = set()
    unreadable = False
    for path in options.files:
        try:
            outcomes = check_file(path)
        except VectorError as problem:
            print(problem, file=sys.stderr)
            unreadable = True
            continue
        kinds.update(outcome.kind for outcome in outcomes)
        by_file[str(path)] = [o for o in outcomes if options.only in (None, o.kind)]
    counts = Counter(outcome.status for outcomes in by_file.values() for outcome in outcomes)
    if options.json:
        print(msgspec.json.encode({"counts": counts, "files": by_file}).decode())
    else:
        for name, outcomes in by_file.items():
            _print_file(name, outcomes)
    compared = counts["passed"] + counts["failed"] + counts["apart"]
    if not compared:
        print(f"nothing was compared{_without(options.only, kinds)}", file=sys.stderr)
    summary = f"{counts['passed']} passed, {counts['failed']} failed, {counts['apart']} apart"
    print(f"conformance: {summary}", file=sys.stderr if options.json else sys.stdout)
    return int(unreadable or counts["failed"] > 0 or counts["unbuilt"] > 0 or not compared)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--only", metavar="KIND", help="compare this kind of answer alone")
    parser.add_argument("--json", action="store_true", help="print every outcome as JSON")
    return parser


def _without(kind: str | None, kinds: set[str]) -> str:
    """Say which kinds there are, where the one that was asked for is none of them."""
    if kind is None or kind in kinds or not kinds:
        return ""
    return f": no case is of the kind {kind!r}; these are there: {', '.join(sorted(kinds))}"


def _print_file(name: str, outcomes: Sequence[Outcome]) -> None:
    print(name)
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        counts = Counter(outcome.status for outcome in of_kind)
        if counts["unbuilt"] == len(of_kind):
            print(f"  {kind}: not built yet ({len(of_kind)} cases)")
            continue
        apart = f", {counts['apart']} apart" if counts["apart"] else ""
        print(f"  {kind}: {counts['passed']}/{len(of_kind) - counts['apart']}{apart}")
        for outcome in of_kind:
            if outcome.status == "failed":
                _print_difference(outcome)


def _print_difference(outcome: Outcome) -> None:
    print(f"    {outcome.id}: {outcome.note or 'differs'}")
    if outcome.expected or outcome.got:
        print(f"      expected {outcome.expected}")
        print(f"      got      {outcome.got}")


if __name__ == "__main__":
    raise SystemExit(main())
