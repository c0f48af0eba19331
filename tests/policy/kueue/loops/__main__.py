"""``python -m tests.policy.kueue.loops``: look for preemptions that never end."""

import signal
import sys
from time import monotonic

import click

from tests.policy.kueue.loops.complete_world import COMPLETE
from tests.policy.kueue.loops.explore import WORLDS, Found, Source, explore_all
from tests.policy.kueue.loops.follow import MODES, NO_LOOPS, AssignmentMode, follow
from tests.policy.kueue.loops.story import story

_SECONDS_BETWEEN_NEWS = 10.0
_INTERRUPTED = 130


@click.command()
@click.option("--worlds", default=10_000, show_default=True, help="How many worlds by chance.")
@click.option("--seed", default=0, show_default=True, help="The number of the first of them.")
@click.option("--complete", is_flag=True, help=f"All {COMPLETE} worlds of a small size instead.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=NO_LOOPS,
    show_default=True,
    help="As Kueue decides, in our own mode, or with the option against loops.",
)
@click.option("--jobs", default=1, show_default=True, help="How many processes.")
def main(worlds: int, seed: int, complete: bool, mode: AssignmentMode, jobs: int) -> None:
    """Follow small clusters plan by plan and tell the shortest loop.

    Only the option promises that there is none. Ends with 1 if it has one all the same, with 130 if
    it was interrupted.
    """
    source: Source = "complete" if complete else "random"
    numbers = range(seed, COMPLETE) if complete else range(seed, seed + worlds)
    found = _found(source, numbers, mode=mode, jobs=jobs)
    click.echo(_counts(found))
    if found.shortest is not None:
        world = WORLDS[source](found.shortest.world)
        click.echo(f"\nThe shortest loop, in world {found.shortest.world}:\n")
        click.echo(story(world, follow(world, mode)))
    if found.loops and mode == NO_LOOPS:
        sys.exit(1)
    sys.exit(_INTERRUPTED if found.worlds < len(numbers) else 0)


def _found(source: Source, numbers: range, *, mode: AssignmentMode, jobs: int) -> Found:
    """Return what was found until the end, or until the user interrupts."""
    found, last_news = Found(), monotonic()
    try:
        for chunk in explore_all(source, numbers, mode=mode, jobs=jobs):
            found += chunk
            if monotonic() - last_news > _SECONDS_BETWEEN_NEWS:
                last_news = monotonic()
                click.echo(f"{found.worlds} of {len(numbers)} worlds, {found.loops} loop", err=True)
    except KeyboardInterrupt:
        rest = numbers[found.worlds :]
        click.echo(f"interrupted; go on with --seed {rest.start} --worlds {len(rest)}", err=True)
    return found


def _counts(found: Found) -> str:
    return (
        f"{found.worlds} worlds, {found.plans} plans (at most {found.most_plans} in one world): "
        f"{found.evictions} evictions in {found.evicting} worlds, {found.loops} loop, "
        f"{found.nudged} of them in Kueue only with a nudge"
    )


if __name__ == "__main__":
    # Who is only told to end would leave its processes behind, which wait for work for ever.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
