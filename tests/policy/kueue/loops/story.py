"""A loop as a person would tell it: the cluster, and what happens plan by plan."""

from collections.abc import Iterator

from fairlead.model.plan import Plan
from tests.policy.kueue.loops.follow import Course
from tests.policy.kueue.loops.small_world import SmallWorld
from tests.policy.kueue.plan_world import told


def story(world: SmallWorld, progress: Course) -> str:
    """Return the story of *course*, which the tables at its head are enough to repeat."""
    return f"{world.told()}\n\n" + "\n".join(_plans(progress))


def _plans(progress: Course) -> Iterator[str]:
    for number, decisions in enumerate(progress.plans):
        lines = told(Plan(taken_ms=0, decisions=tuple(decisions))) or ["nothing"]
        yield f"plan {number + 1:<3} " + "\n         ".join(lines)
    if progress.loops_from is None:
        yield "and all is at rest"
    else:
        yield f"and again from plan {progress.loops_from + 1}"
