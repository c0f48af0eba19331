"""Whether a scenario is one that a simulation could ever get through.

The bounds are far beyond useful simulations. What exceeds them is a mistake: bytes where devices
were meant, or milliseconds where days were.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path
from fairlead.model.duration import format_duration
from fairlead.model.quantity import show_amount
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm
from fairlead.sim.scenario.setting import Overrides
from fairlead.sim.scenario.work_part import WorkPart
from fairlead.sim.work.arrivals import Arrivals, At, Every
from fairlead.sim.work.description import MOST_JOBS, ArrivingWork, expected_jobs
from fairlead.sim.work.rate import Load

MOST_STEPS: Final = 1_000_000_000
"""Regular cycles, or questions for past use, of one run: thirty years of one each second."""

_SHOWN_WHOLE: Final = 10**12


class TooLarge(NamedTuple):
    """What there would be too many of: where that is written, how many, and how to fix it."""

    path: Path
    message: str
    fix: str


def too_large(spec: SpecForm, work: Sequence[WorkPart], overrides: Overrides) -> Iterator[TooLarge]:
    """Yield what *work*, whose parts have no defects, makes too much of in the time of *spec*."""
    yield from _too_many_jobs(work, spec.duration_ms)
    if spec.duration_ms is not None:
        yield from _too_many_steps(spec, spec.duration_ms, overrides)


def _too_many_jobs(work: Sequence[WorkPart], duration_ms: int | None) -> Iterator[TooLarge]:
    counts = [
        (expected_jobs(part, duration_ms) or 0) if isinstance(part, ArrivingWork) else 0
        for part in work
    ]
    is_told = False
    for place, (part, count) in enumerate(zip(work, counts, strict=True)):
        if count > MOST_JOBS and isinstance(part, ArrivingWork):
            is_told = True
            path = ("spec", "work", place, "arrivals")
            yield TooLarge(path, f"{_found(count, 'jobs')} in all", _fewer(part.arrivals))
    if sum(counts) > MOST_JOBS and not is_told:
        message = f"{_found(sum(counts), 'jobs')} of all sources"
        yield TooLarge(("spec", "work"), message, "bound the largest of them with atMost")


def _found(count: int, what: str, most: int = MOST_JOBS) -> str:
    shown = f"{count:,}" if count < _SHOWN_WHOLE else f"{count:.1e}"
    return f"found some {shown} {what}, expected at most {most:,}"


def _fewer(arrivals: Arrivals) -> str:
    bound = "bound the source with atMost"
    match arrivals:
        case At():
            return "write fewer jobs or times"
        case Every():
            return f"write a longer interval or fewer jobs, or {bound} or until"
        case _ if isinstance(arrivals.rate, Load):
            rate = arrivals.rate
            there = f"{show_amount(rate.resource, rate.capacity)} {rate.resource}"
            return f"see whether nodes have {there} together; lower load, or {bound} or until"
        case _:
            return f"lower perHour, or {bound} or until"


def _too_many_steps(spec: SpecForm, duration_ms: int, overrides: Overrides) -> Iterator[TooLarge]:
    for path, every_ms in _periods(spec, overrides):
        steps = duration_ms // every_ms
        if steps > MOST_STEPS:
            period = f"{format_duration(every_ms)} in a duration of {format_duration(duration_ms)}"
            message = f"found {period}: {_found(steps, 'steps', MOST_STEPS).removeprefix('found ')}"
            yield TooLarge(path, message, "write more here, or a shorter duration")


def _periods(spec: SpecForm, overrides: Overrides) -> Iterator[tuple[Path, int]]:
    if spec.cycle.every_ms is not None:
        yield ("spec", "cycle", "every"), spec.cycle.every_ms
    yield ("spec", "cycle", "lookAgain"), spec.cycle.look_again_ms
    if "fetchInterval" in overrides:
        yield ("spec", "usage", "fetchInterval"), overrides["fetchInterval"]
        return
    if spec.usage is not None:
        yield ("spec", "usage", "fetchInterval"), spec.usage.fetch_interval_ms
    for place, form in enumerate(spec.policies):
        if isinstance(form, PolicyForm) and form.usage is not None:
            path: Path = ("spec", "policies", place, "usage", "fetchInterval")
            yield path, form.usage.fetch_interval_ms
