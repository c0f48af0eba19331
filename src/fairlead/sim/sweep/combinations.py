"""Which runs a sweep consists of: combinations of settings, under each variant, with each seed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec

from fairlead.errors import SimulationError
from fairlead.sim.run_variant import RunOrder
from fairlead.sim.scenario.scenario import Scenario, Variant
from fairlead.sim.scenario.with_settings import with_settings

MOST_RUNS: Final = 100_000
"""More is surely a slip."""


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a sweep: a variant, a value of each setting, and its runs, one for each seed."""

    variant: str
    swept: dict[str, str]  # the settings that differ between combinations
    runs: dict[str, RunOrder]


def combinations(
    scenario: Scenario,
    variants: Sequence[Variant],
    over: Mapping[str, Sequence[str]],
    settings: Mapping[str, str],
    seed: int | None,
    seeds: int | None,
) -> list[Combination]:
    """Return all combinations, the last setting of *over* changing first.

    *settings* hold for all of them. Raises `SimulationError` for a setting or value that is none,
    and for more runs than anybody can mean.
    """
    values = [list(each) for each in over.values()]
    count = len(variants) * (seeds or 1)
    for each in values:
        count *= len(each)
    if count > MOST_RUNS:
        raise SimulationError(f"found {count:,} runs, expected at most {MOST_RUNS:,}: sweep less")
    return [
        _combination(scenario, variant, dict(zip(over, chosen, strict=True)), settings, seed, seeds)
        for variant in variants
        for chosen in product(*values)
    ]


def _combination(
    scenario: Scenario,
    variant: Variant,
    swept: dict[str, str],
    settings: Mapping[str, str],
    seed: int | None,
    seeds: int | None,
) -> Combination:
    together = {**settings, **swept}
    first = with_settings(scenario, together).spec.seed if seed is None else seed
    name = "-".join((variant.name, *(f"{each}={text}" for each, text in swept.items())))
    return Combination(
        variant=variant.name,
        swept=swept,
        runs={
            name if seeds is None else f"{name}-seed-{each}": RunOrder(
                scenario=scenario, variant=variant.name, seed=each, settings=together
            )
            for each in range(first, first + (seeds or 1))
        },
    )


def all_runs(rows: Sequence[Combination]) -> Iterator[tuple[str, RunOrder]]:
    """Yield every run with its name, in the order in which they are told."""
    for row in rows:
        yield from row.runs.items()
