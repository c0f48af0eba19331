"""A loop as a person would tell it: the cluster, and what happens plan by plan."""

from collections.abc import Iterator

from fairlead.model.plan import Plan
from tests.policy.kueue.loops.follow import Course
from tests.policy.kueue.loops.small_world import SmallWorld
from tests.policy.kueue.plan_world import told


def story(world: SmallWorld, course: Course) -> str:
    """Return the story of *course*, which the tables at its head are enough to repeat."""
    return f"{world.told()}\n\n" + "\n".join(_plans(course))


def _plans(course: Course) -> Iterator[str]:
    for number, decisions in enumerate(course.plans):
        lines = told(Plan(taken_ms=0, decisions=tuple(decisions))) or ["nothing"]
        yield f"plan {number + 1:<3} " + "\n         ".join(lines)
    if course.loops_from is None:
        yield "and all is at rest"
    else:
        yield f"and again from plan {course.loops_from + 1}"
