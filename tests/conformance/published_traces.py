"""Asks for published figures of real traces: what is in one, and what schedulers make of another.

Takes entries of the schema ``published/1`` of the kinds ``trace`` and ``replay``. Traces are not
part of the repository; without its trace an entry is put apart, with why.
"""

import csv
import gzip
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome
from tests.shared_folder import shared_folder
from tests.sim.replay import POLICIES, real_jobs, replay

Json = dict[str, Any]
Figures = dict[str, Fraction]


def check(entry: Any) -> list[Outcome]:
    """Compare one entry within its own tolerance; a malformed one fails, with why."""
    identity, kind = named_in(entry, "id"), named_in(entry, "kind")
    try:
        trace = _trace_of(entry)
        if not trace.exists():
            return [Outcome(identity, kind, "apart", note=f"{trace.name} is not there")]
        expected = {name: exact_number(number) for name, number in entry["expected"].items()}
        got = CHECKS[kind](trace, entry["input"])
        agrees = all(_is_near(number, got[name], entry) for name, number in expected.items())
    except MALFORMED as problem:
        note = f"malformed entry: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=kind, status="failed", note=note)]
    if agrees:
        return [Outcome(id=identity, kind=kind, status="passed")]
    return [Outcome(identity, kind, "failed", expected=_text(expected), got=_text(got))]


def _trace_of(entry: Json) -> Path:
    name = entry["input"].get("trace") or entry["input"]["file"]
    return shared_folder() / "traces" / f"{name}.csv.gz"


def _is_near(expected: Fraction, got: Fraction, entry: Json) -> bool:
    tolerance = entry["tolerance"]
    within = exact_number(tolerance["relative"]) if isinstance(tolerance, dict) else Fraction(0)
    return abs(expected - got) <= within * expected


def _nodes(trace: Path, given: Json) -> Figures:
    del given
    with gzip.open(trace, "rt", encoding="utf-8", newline="") as text:
        gpus = [int(node["gpu"]) for node in csv.DictReader(text)]
    return {"nodes": Fraction(len(gpus)), "gpus": Fraction(sum(gpus))}


def _replay(trace: Path, given: Json) -> Figures:
    processors, tau_s = int(given["processors"]), int(given["boundedSlowdownTauSeconds"])
    return _means(trace, str(given["policy"]), processors, tau_s * 1000)


@cache  # a file is looked at by more than one test, and a year takes seconds
def _means(trace: Path, policy: str, processors: int, tau_ms: int) -> Figures:
    jobs = real_jobs(trace)
    means = replay(jobs, POLICIES[policy](jobs), processors=processors, tau_ms=tau_ms)
    return {
        "meanBoundedSlowdown": Fraction(means.bounded_slowdown),
        "meanWaitSeconds": Fraction(means.wait_s),
    }


def _text(figures: Figures) -> str:
    return ", ".join(f"{name} {float(number):.6g}" for name, number in figures.items())


CHECKS: dict[str, Callable[[Path, Json], Figures]] = {"trace": _nodes, "replay": _replay}
