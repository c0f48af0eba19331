"""The runs of a sweep: combinations of settings, under each variant, with each seed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec

from fairlead.errors import SimulationError
from fairlead.sim.run.run_variant import RunOrder
from fairlead.sim.scenario.scenario import Scenario, Variant
from fairlead.sim.scenario.settings import Effects, WithoutEffect, with_settings
from fairlead.usage.entries import Entry

MOST_RUNS: Final = 100_000
"""More is surely a mistake."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run: all values of what is swept over, and what holds for all of them."""

    scenario: Scenario
    variants: Sequence[Variant]
    over: Mapping[str, Sequence[str]]
    settings: Mapping[str, str] = {}
    seed: int | None = None  # None: that of the scenario
    seeds: int | None = None  # so many from it on
    history: tuple[Entry, ...] = ()  # what was used before the start


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a sweep: a variant, a value of each setting, and its runs, one for each seed."""

    variant: str
    swept: dict[str, str]  # the settings that differ between combinations
    runs: dict[str, RunOrder]


def combinations(sweep: Sweep) -> list[Combination]:
    """Return all combinations, the last setting that is swept over changing first.

    Raises `SimulationError` for a setting or value that is none, and for more runs than anyone can
    mean.
    """
    values = [list(each) for each in sweep.over.values()]
    count = len(sweep.variants) * (sweep.seeds or 1)
    for each in values:
        count *= len(each)
    if count > MOST_RUNS:
        raise SimulationError(f"found {count:,} runs, expected at most {MOST_RUNS:,}: sweep less")
    return [
        _combination(sweep, variant, dict(zip(sweep.over, chosen, strict=True)))
        for variant in sweep.variants
        for chosen in product(*values)
    ]


def _combination(sweep: Sweep, variant: Variant, swept: dict[str, str]) -> Combination:
    settings = {**sweep.settings, **swept}
    changed = with_settings(sweep.scenario, settings)  # also raises what is wrong with them
    first = changed.spec.seed if sweep.seed is None else sweep.seed
    name = "-".join((variant.name, *(f"{each}={text}" for each, text in swept.items())))
    return Combination(
        variant=variant.name,
        swept=swept,
        runs={
            name if sweep.seeds is None else f"{name}-seed-{each}": RunOrder(
                scenario=sweep.scenario,
                variant=variant.name,
                seed=each,
                settings=settings,
                history=sweep.history,
            )
            for each in range(first, first + (sweep.seeds or 1))
        },
    )


def all_runs(rows: Sequence[Combination]) -> Iterator[tuple[str, RunOrder]]:
    """Yield every run with its name, in the order in which they are listed."""
    for row in rows:
        yield from row.runs.items()


def without_effect(sweep: Sweep) -> Iterator[WithoutEffect]:
    """Yield each variant and setting whose values are all the same under it.

    Cost: reading the cluster once for each variant.
    """
    # What is set at all can matter to others, as a window does to k; to which value does not.
    together = {**sweep.settings, **{name: values[0] for name, values in sweep.over.items()}}
    for variant in sweep.variants:
        effects = Effects(sweep.scenario, variant)
        for name, values in sweep.over.items():
            first, *others = [effects.of({**together, name: value}) for value in values]
            if others and all(each == first for each in others):
                yield effects.none_of(name, together)
