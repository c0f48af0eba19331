"""Asks for published figures of sharing over time: turns, steady shares, and bursts.

Takes entries of the schema ``published/1`` of the kinds ``turns``, ``steady`` and ``burst``. Each
is a simulation under KAI's time-based fair share, as long as it takes for the figure to settle.
"""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome
from tests.sim.engine.time_shared import Outcome as Shared
from tests.sim.engine.time_shared import Sharing, share

Json = dict[str, Any]
ROTATIONS = 2
"""How many whole rotations are looked at, the last ones: the first turns are not yet alike."""
SETTLED_TENTHS = slice(5, 10)
"""When the figures of steady shares and bursts are taken: in the second half."""


class Figure:
    """A number that was expected and what came out, and how far apart they may be."""

    def __init__(self, name: str, expected: Any, got: Fraction | None, tolerance: Any) -> None:
        self._name = name
        self._expected = None if expected is None else exact_number(expected)
        self._got = got
        self._tolerance = exact_number(tolerance)

    def agrees(self) -> bool:
        if self._expected is None or self._got is None:
            return self._expected is None and self._got is None
        return abs(self._expected - self._got) <= self._tolerance

    def texts(self) -> tuple[str, str]:
        def told(number: Fraction | None) -> str:
            return "none" if number is None else f"{float(number):.5g}"

        return f"{self._name} {told(self._expected)}", f"{self._name} {told(self._got)}"


def check(entry: Any) -> list[Outcome]:
    """Compare one entry within its own tolerances; a malformed one fails, with why."""
    identity, kind = named_in(entry, "id"), named_in(entry, "kind")
    try:
        return [_compared(json.dumps(entry, default=str, sort_keys=True), identity, kind)]
    except MALFORMED as problem:
        note = f"malformed entry: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=kind, status="failed", note=note)]


@cache  # a file is looked at by more than one test, and a simulation takes seconds
def _compared(text: str, identity: str, kind: str) -> Outcome:
    figures = CHECKS[kind](json.loads(text))
    if all(figure.agrees() for figure in figures):
        return Outcome(id=identity, kind=kind, status="passed")
    expected, got = (", ".join(side) for side in zip(*(f.texts() for f in figures), strict=True))
    return Outcome(id=identity, kind=kind, status="failed", expected=expected, got=got)


def _turns(entry: Json) -> list[Figure]:
    given, expected, tolerance = entry["input"], entry["expected"], entry["tolerance"]
    weights = given["weights"]
    run_cycles = given.get("runCycles") if given["jobsEnd"] else None
    window = int(given["window"])
    # Jobs that end take turns from the first day; of others, history has to build up first. What
    # is eight half-lives old does not matter any more.
    half_life = given["halfLife"] or window
    remembered = min(window, 8 * half_life)
    cycles = 150 * len(weights) * run_cycles if run_cycles else max(6 * remembered, 1500)
    sharing = Sharing(
        gpus=given["gpus"],
        weights=weights,
        deserved=[0] * len(weights),
        job_gpus=[given["job"]] * len(weights),
        backlog=[2 if run_cycles else 1] * len(weights),
        run_cycles=run_cycles,
        k=exact_number(given["k"]),
        window=window,
        half_life=given["halfLife"],
        latency=int(given.get("latency", 0)),
        cycles=cycles,
    )
    shared = share(sharing)
    split = _split(sharing, shared)
    figures = [
        Figure(f"split of q{at}", want, got, tolerance["split"])
        for at, (want, got) in enumerate(zip(expected["split"], split, strict=True))
    ]
    if "turnLength" in expected:
        settled = shared.turns[-len(weights) * ROTATIONS :]
        turn = Fraction(sum(settled), len(settled)) if settled else None
        if turn is not None:
            turn += sharing.latency
        figures.append(Figure("turn", expected["turnLength"], turn, tolerance.get("turn", 0)))
    if "reclaims" in expected:
        figures.append(Figure("reclaims", expected["reclaims"], Fraction(shared.reclaims), 0))
    return figures


def _split(sharing: Sharing, shared: Shared) -> list[Fraction]:
    """Who held which part of the GPU time over whole rotations, where there are any."""
    first = [cycle for cycle, queue in shared.starts if queue == 0]
    if sharing.run_cycles is not None or len(first) <= ROTATIONS:
        settled = [sum(row[SETTLED_TENTHS]) for row in shared.held]
        return [Fraction(each, sum(settled)) for each in settled]
    since, until = first[-1 - ROTATIONS], first[-1]
    held = [0] * len(sharing.weights)
    for (cycle, queue), (after, _) in zip(shared.starts, shared.starts[1:], strict=False):
        if since <= cycle < until:
            held[queue] += after - cycle
    return [Fraction(each, sum(held)) for each in held]


def _steady(entry: Json) -> list[Figure]:
    given = entry["input"]
    gpus, weights = given["gpus"], given["weights"]
    # Enough for each to want more than it can have, whatever history says.
    backlog = [max(gpus * 4 // 5, owned + gpus // 3) for owned in given["deserved"]]
    sharing = Sharing(
        gpus=gpus,
        weights=weights,
        deserved=given["deserved"],
        job_gpus=[given["job"]] * len(weights),
        backlog=backlog,
        k=exact_number(given["k"]),
        window=given["window"],
        half_life=given["halfLife"],
        charge=given["charge"],
        cycles=8 * given["halfLife"],
        step=given["halfLife"] // 32,
    )
    held = share(sharing).held
    span = Fraction(sharing.cycles, 2)
    return [
        Figure(f"GPUs of q{at}", want, sum(row[SETTLED_TENTHS]) / span, entry["tolerance"]["gpus"])
        for at, (want, row) in enumerate(
            zip(entry["expected"]["meanAllocation"], held, strict=True)
        )
    ]


def _burst(entry: Json) -> list[Figure]:
    given = entry["input"]
    gpus, queues = given["gpus"], given["queues"]
    others = queues - 1
    sharing = Sharing(
        gpus=gpus,
        weights=[given["weight"]] * queues,
        deserved=[0] * queues,
        job_gpus=[given["job"]] + [1] * others,
        backlog=[1] + [2 * gpus // others] * others,
        k=exact_number(given["k"]),
        window=given["window"],
        half_life=given["halfLife"],
        cycles=_burst_windows(gpus) * given["window"],
    )
    row = share(sharing).held[0]
    used = sum(row[SETTLED_TENTHS]) / Fraction(gpus * sharing.cycles, 2)
    return [Figure("use", entry["expected"]["longRunUse"], used, entry["tolerance"])]


def _burst_windows(gpus: int) -> int:
    """Return for how long to look, in windows.

    In a large cluster bursts are more regular, and a plan takes a tenth of a second: with three
    windows instead of five, a use of 0.05398 became 0.05404.
    """
    return 5 if gpus <= 16 else 3


CHECKS: dict[str, Callable[[Json], Sequence[Figure]]] = {
    "turns": _turns,
    "steady": _steady,
    "burst": _burst,
}
