"""Why one job had its turn before another."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from fairlead.explain.amount_text import number_text
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kai.api import Contender, KaiCycle, Ratio, deciding_rule, precedes

Phrase = Callable[[str, Contender, str, Contender], str]


def why_before(cycle: KaiCycle, first: WorkloadName, other: WorkloadName) -> str:
    """Return why it is the turn of *first* and not of *other*, which waits as well."""
    if cycle.may_find_room(first) and not cycle.may_find_room(other):
        return f"there may be room for it, and there is none for {other}"
    queue, other_queue = (cycle.state.workloads[name].queue for name in (first, other))
    if queue == other_queue:
        return _inside_queue(cycle, first, other)
    sides = _below_common_ancestor(cycle, queue, other_queue)
    one, two = map(cycle.tournament.contender, sides)
    if two is None:
        return f"there may be room for others of {sides[0]}, and for nobody of {sides[1]}"
    if one is None or not precedes(one, two):
        return "others in the tree decided between them"  # before is not transitive
    phrase = _PHRASES[deciding_rule(one, two)]
    return phrase(sides[0], one, sides[1], two)


def _inside_queue(cycle: KaiCycle, first: WorkloadName, other: WorkloadName) -> str:
    one, two = (cycle.state.workloads[name] for name in (first, other))
    if one.priority != two.priority:
        return f"higher priority in the same queue: {one.priority} against {two.priority}"
    full, other_full = (
        cycle.jobs.gang(name).fullness(cycle.state.runs.get(name)) for name in (first, other)
    )
    if full != other_full:
        return "further below its minimum, in the same queue"
    if one.created_ms != two.created_ms:
        return "older, in the same queue"
    return "first by name, in the same queue"


def _below_common_ancestor(
    cycle: KaiCycle, one: QueueName, two: QueueName
) -> tuple[QueueName, QueueName]:
    """Return the two queues, on the way to *one* and to *two*, that are siblings."""
    up, other_up = (cycle.state.path(queue)[::-1] for queue in (one, two))
    return next((a, b) for a, b in zip(up, other_up, strict=False) if a != b)


def _shares(one: Ratio, two: Ratio) -> str:
    return f"{number_text(Fraction(*one))} against {number_text(Fraction(*two))}"


_PHRASES: Final[dict[int, Phrase]] = {
    1: lambda a, _one, b, _two: f"{a} is not over its fair share, and {b} is",
    2: lambda a, _one, b, _two: f"{a} stays within its quota with its next job, {b} does not",
    3: lambda a, one, b, two: (
        f"{a} has the higher priority than {b}: {-one.precedence[2]} against {-two.precedence[2]}"
    ),
    4: lambda _a, _one, b, _two: f"{b} would hold what it may hold nothing of",
    5: lambda a, one, b, two: (
        f"{a} has the smaller dominant share than {b} with its next job: "
        + _shares(one.share_with_job, two.share_with_job)
    ),
    6: lambda a, one, b, two: (
        f"{a} has the smaller dominant share than {b}: " + _shares(one.share, two.share)
    ),
    7: lambda a, _one, b, _two: f"{a} may hold less than {b}",
    8: lambda a, one, b, two: (
        f"{a} is older than {b}" if one.age[0] != two.age[0] else f"{a} comes before {b} by name"
    ),
}
