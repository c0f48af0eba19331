"""Which runs are compared with which: sides, each with a run for every seed.

Only runs of the same work can be compared. What is not the same is refused with what it is: another
scenario, other seeds, other resources, a setting that changes the work, jobs that are not the same,
or a run that was stopped before its end.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.errors import ResultError
from fairlead.sim.report.comparison import ComparedSide
from fairlead.sim.results.rows import JobRow
from fairlead.sim.results.stored_run import StoredRun

WORK_SETTINGS: Final = ("duration", "loadFactor")
"""What can be set by name and changes which jobs come."""

MOST_JOBS: Final = 20_000
"""So many jobs of a run are looked at: two scenarios that differ do so sooner."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Runs under the same rules and settings, by seed."""

    about: ComparedSide
    runs: Mapping[int, StoredRun]


def sides_of(place: str, runs: Sequence[StoredRun], variant: str | None = None) -> list[Side]:
    """Return the sides of one result, called *place*: one for each variant and its settings.

    With *variant* only that one, or those of the rule set of that name. Raises `ResultError`.
    """
    found: dict[str, dict[int, StoredRun]] = {}
    for run in _chosen(runs, variant):
        about = run.about
        name = _name(about.variant, about.settings)
        seeds = found.setdefault(name, {})
        if about.seed in seeds:
            raise ResultError(f"{place} has two runs of {name} with the seed {about.seed}")
        seeds[about.seed] = run
    if not found:
        has = ", ".join(dict.fromkeys(run.about.variant for run in runs)) or "no run at all"
        raise ResultError(f"{place} has no variant {variant}: it has {has}")
    return [Side(about=_about(name, seeds), runs=seeds) for name, seeds in found.items()]


def _chosen(runs: Sequence[StoredRun], variant: str | None) -> list[StoredRun]:
    if variant is None:
        return list(runs)
    by_name = [run for run in runs if run.about.variant == variant]
    return by_name or [run for run in runs if run.about.policy == variant]


def with_names(sides: Sequence[tuple[str, Side]]) -> list[Side]:
    """Return all sides, each with the place of its result, called after what sets them apart.

    That is the variant, the settings that not all have, and the result where two are called alike.
    """
    settings = [set(side.about.settings.items()) for _, side in sides]
    shared = set.intersection(*settings) if settings else set()
    names = [_name(side.about.variant, side.about.settings, shared) for _, side in sides]
    return [
        _called(side, f"{place}: {name}" if names.count(name) > 1 else name)
        for (place, side), name in zip(sides, names, strict=True)
    ]


def _called(side: Side, name: str) -> Side:
    about = msgspec.structs.replace(side.about, name=name)
    return msgspec.structs.replace(side, about=about)


def check_comparable(sides: Sequence[Side]) -> None:
    """Raise `ResultError` unless there are two sides at least, all of the same work."""
    if len(sides) < 2:
        raise ResultError(
            "there is nothing to compare with: name two results, or one with several variants"
        )
    for side in sides:
        for run in side.runs.values():
            if not run.about.complete:
                raise ResultError(
                    f"{side.about.name}: the run {run.about.name} was stopped before its end, so "
                    "its numbers are of a shorter time: simulate again"
                )
    first, *others = sides
    for other in others:
        _check_circumstances(first, other)
        for seed, run in first.runs.items():
            _check_jobs(first, run, other, other.runs[seed])


def _check_circumstances(first: Side, other: Side) -> None:
    one, two = (next(iter(side.runs.values())).about for side in (first, other))
    facts = [
        ("scenarios", one.scenario, two.scenario),
        ("resources", ", ".join(one.resources), ", ".join(two.resources)),
        ("seeds", _listed(first.runs), _listed(other.runs)),
        ("starts", str(one.start_ms), str(two.start_ms)),
    ]
    facts += [
        (f"settings of {name}", one.settings.get(name, "-"), two.settings.get(name, "-"))
        for name in WORK_SETTINGS
    ]
    for what, here, there in facts:
        if here != there:
            raise ResultError(
                f"{first.about.name} and {other.about.name} are not of the same work: their {what} "
                f"differ ({here} and {there}). Simulate both alike"
            )


def _check_jobs(first: Side, one: StoredRun, other: Side, two: StoredRun) -> None:
    """Refuse jobs of the same name that are not the same, and runs without any in common.

    Which jobs came can differ: where work is submitted when other work starts or ends, that depends
    on the rules.
    """
    known = {row.job: _shape(row) for row, _ in zip(one.jobs(), range(MOST_JOBS), strict=False)}
    names = f"{first.about.name} and {other.about.name} are not of the same work"
    common = seen = 0
    for row, _ in zip(two.jobs(), range(MOST_JOBS), strict=False):
        seen += 1
        shape = known.get(row.job)
        if shape is None:
            continue
        common += 1
        if shape != _shape(row):
            raise ResultError(f"{names}: the job {row.job} is not the same. Simulate both alike")
    if known and seen and not common:
        raise ResultError(f"{names}: they have no job in common. Simulate both alike")


def _shape(row: JobRow) -> tuple[object, ...]:
    return (row.queue, row.kind, row.run_ms, row.pods, row.min_pods, tuple(row.requests.items()))


def _listed(seeds: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def _name(
    variant: str, settings: Mapping[str, str], shared: Collection[tuple[str, str]] = ()
) -> str:
    told = [f"{name}={text}" for name, text in settings.items() if (name, text) not in shared]
    return " ".join([variant, *told])


def _about(name: str, runs: Mapping[int, StoredRun]) -> ComparedSide:
    about = next(iter(runs.values())).about
    return ComparedSide(
        name=name, variant=about.variant, policy=about.policy, settings=about.settings
    )
