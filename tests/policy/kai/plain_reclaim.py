"""The rules of reclaim restated as plainly as can be; the judge must agree with this.

Every queue's remaining amount is kept, every sibling on the way up is looked at, and saturation is
the fraction that it is said to be.
"""

from fractions import Fraction

from fairlead.model.axes import Limits
from fairlead.policy.kai.reclaimable import Loss
from tests.policy.kai.reclaim_world import Numbers, World

Vector = list[int]
RESOURCES = ("cpu", "gpu")
BOTH = range(len(RESOURCES))
INFINITE = Fraction(10**12)  # more than any share of numbers as small as these


def plain_verdict(world: World) -> str:
    """Say what allows each loss, or which rule refuses where: ``loss a b``."""
    refusal = refused_guarantee(world)
    if refusal:
        return refusal
    queues = {each.name: each for each in world.queues}
    left = {name: list(each.holds) for name, each in queues.items()}
    taken: dict[str, Vector] = {}
    strategies = []
    for loss in world.losses:
        own, other = sides(queues, world.reclaimer.queue, loss.queue)
        strategy = allowed_by(world, queues[own], queues[other], left[other])
        if strategy is None:
            return f"loss {own} {other}"
        strategies.append(strategy)
        take(queues, loss, left, taken)
    return refused_saturation(world, left, taken) or " ".join(["stands", *strategies])


def path(queues: dict[str, Numbers], name: str) -> list[str]:
    parent = queues[name].parent
    return [name, *(path(queues, parent) if parent else [])]


def sides(queues: dict[str, Numbers], one: str, other: str) -> tuple[str, str]:
    """The highest queue of each path that is not on the other."""
    here, there = path(queues, one), path(queues, other)
    return (
        next(name for name in reversed(here) if name not in there),
        next(name for name in reversed(there) if name not in here),
    )


def allowed_by(world: World, own: Numbers, other: Numbers, left: Vector) -> str | None:
    if not is_within(left, may_hold(other)):
        return "fairShare"
    with_request = [own.holds[at] + world.reclaimer.request[at] for at in BOTH]
    if is_within(with_request, own.quota) and not is_within(left, other.quota):
        return "quota"
    return None


def is_within(held: Vector, limits: Limits) -> bool:
    return not [1 for at in BOTH if (limit := limits[at]) is not None and held[at] > limit]


def may_hold(each: Numbers) -> Limits:
    """The larger of quota and fair share, and no more than the limit."""
    due = [
        None if quota is None else max(quota, fair)
        for quota, fair in zip(each.quota, each.fair, strict=True)
    ]
    known = [
        [bound for bound in pair if bound is not None] for pair in zip(due, each.limit, strict=True)
    ]
    return tuple(min(pair) if pair else None for pair in known)


def take(
    queues: dict[str, Numbers], loss: Loss, left: dict[str, Vector], taken: dict[str, Vector]
) -> None:
    for name in path(queues, loss.queue):
        taken.setdefault(name, [0 for _ in BOTH])
        for at in BOTH:
            left[name][at] -= loss.amounts[at]
            taken[name][at] += loss.amounts[at]


def refused_saturation(
    world: World, left: dict[str, Vector], taken: dict[str, Vector]
) -> str | None:
    queues = {each.name: each for each in world.queues}
    request = world.reclaimer.request
    for own in path(queues, world.reclaimer.queue):
        siblings = [
            name for name in taken if name != own and queues[name].parent == queues[own].parent
        ]
        for other in siblings:
            for at in BOTH:
                if request[at] == 0 and taken[other][at] == 0:
                    continue
                full = fullness(left[own][at] + request[at], queues[own].fair[at])
                less_full = fullness(left[other][at], queues[other].fair[at])
                is_due = queues[other].fair[at] > 0
                if full > 1 and is_due and full * world.multiplier >= less_full:
                    return f"saturation {own} {other} {RESOURCES[at]}"
    return None


def fullness(held: int, fair: int) -> Fraction:
    if fair == 0:
        return INFINITE if held > 0 else Fraction(0)
    return Fraction(held, fair)


def refused_guarantee(world: World) -> str | None:
    if world.reclaimer.preemptible:
        return None
    queues = {each.name: each for each in world.queues}
    for name in path(queues, world.reclaimer.queue):
        for at in BOTH:
            quota = queues[name].quota[at]
            needed = queues[name].fixed[at] + world.reclaimer.request[at]
            if quota is not None and needed > quota:
                return f"guarantee {name} {RESOURCES[at]}"
    return None
