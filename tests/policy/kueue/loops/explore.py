"""Follows very many worlds, on several cores, and keeps count."""

import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final, Literal, NamedTuple, TypeAlias

from tests.policy.kueue.loops.complete_world import complete_world
from tests.policy.kueue.loops.follow import AssignmentMode, Course, follow
from tests.policy.kueue.loops.random_world import random_world
from tests.policy.kueue.loops.small_world import SmallWorld

Source: TypeAlias = Literal["complete", "random"]
WORLDS: Final[Mapping[Source, Callable[[int], SmallWorld]]] = {
    "complete": complete_world,
    "random": random_world,
}
CHUNK: Final = 500


class Loop(NamedTuple):
    """Where to find a loop again; of two the shorter is less: fewer workloads, then fewer plans."""

    workloads: int
    plans: int
    world: int


class Found(NamedTuple):
    """What was seen in some worlds."""

    worlds: int = 0
    plans: int = 0
    evicting: int = 0  # worlds in which a workload was evicted
    evictions: int = 0
    most_plans: int = 0  # in one world
    loops: int = 0
    nudged: int = 0  # loops that Kueue would be in only with a nudge from outside
    shortest: Loop | None = None

    def __add__(self, other: object) -> "Found":
        """Return what was seen in both."""
        assert isinstance(other, Found)
        shortest = [each for each in (self.shortest, other.shortest) if each is not None]
        return Found(
            worlds=self.worlds + other.worlds,
            plans=self.plans + other.plans,
            evicting=self.evicting + other.evicting,
            evictions=self.evictions + other.evictions,
            most_plans=max(self.most_plans, other.most_plans),
            loops=self.loops + other.loops,
            nudged=self.nudged + other.nudged,
            shortest=min(shortest, default=None),
        )


def explore(source: Source, numbers: range, *, mode: AssignmentMode) -> Found:
    """Return what becomes of the worlds of these numbers in that mode."""
    found = Found()
    for number in numbers:
        world = WORLDS[source](number)
        found += _seen(number, world, follow(world, mode))
    return found


def explore_all(
    source: Source, numbers: range, *, mode: AssignmentMode, jobs: int
) -> Iterator[Found]:
    """Yield what becomes of them, chunk by chunk in the order of their numbers."""
    chunks = [numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK)]
    look = partial(explore, source, mode=mode)
    if jobs == 1:
        yield from map(look, chunks)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_leave_interrupts_alone)
    try:
        yield from pool.map(look, chunks)
    finally:
        pool.shutdown(cancel_futures=True)


def _seen(number: int, world: SmallWorld, progress: Course) -> Found:
    evictions = len(progress.evictions())
    loops = progress.loops_from is not None
    return Found(
        worlds=1,
        plans=len(progress.plans),
        evicting=int(evictions > 0),
        evictions=evictions,
        most_plans=len(progress.plans),
        loops=int(loops),
        nudged=int(progress.needs_a_nudge()),
        shortest=Loop(len(world.workloads), len(progress.loop()), number) if loops else None,
    )


def _leave_interrupts_alone() -> None:
    """Let the process that started this one say what is to be said about an interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
