"""Which of two sibling queues is served first under KAI's rules.

Eight rules are applied in turn, and the first one in which the two queues differ decides. All that
a rule compares is computed once, as the queue's `Contender` with the job that it would start next;
comparing two contenders is then cheap. Shares are ratios of whole numbers and compared by cross
multiplication, so two queues tie exactly when they are equal.

Rule 7 is a partial order, which makes the whole comparison intransitive: three queues may beat each
other in a circle. So the first of many depends on which queues meet (see `tournament`); a sort
would answer differently for every listing.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare, whole_units

Ratio: TypeAlias = tuple[int, int]
"""Numerator and denominator, the latter above 0."""

Precedence: TypeAlias = tuple[bool, bool, int, bool]
"""Rules 1 to 4: over its fair share, exceeds its guarantee, minus its priority, is barred."""

NO_SHARE: Final[Ratio] = (0, 1)
WITHOUT_ROOM: Final = 1000
"""Where nothing may be held, a share is this many times what is held, in whole units."""


class QueueNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """What the order compares about a queue, with vectors on the quota axes.

    ``per_held`` turns an amount held into a share of what may be held: times the numerator, by the
    denominator. Only ``allocated`` changes while jobs start; it may be the state's own list, so
    that one object serves a queue as long as the fair shares hold.
    """

    name: QueueName
    priority: int
    created_ms: int
    guaranteed: Limits
    fair_share: Amounts
    allocatable: Limits
    per_held: tuple[Ratio, ...]
    allocated: Sequence[int]


class Contender(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A queue as it is compared with its siblings, with the job that it would start next.

    ``precedence`` holds rules 1 to 4: whether it is over its fair share, whether it would exceed
    its guarantee, minus its priority, and whether it would hold a resource of which it may hold
    nothing.
    """

    precedence: Precedence
    share_with_job: Ratio
    share: Ratio
    allocatable: Limits
    age: tuple[int, QueueName]


def queue_numbers(
    state: ClusterState, share: KaiShare, total: Amounts, units: Amounts | None = None
) -> QueueNumbers:
    """Return the numbers of a queue; ``allocated`` follows the state by itself.

    *total* is the cluster's capacity on the quota axes, *units* are those of shares there; None:
    they are read from *state*.
    """
    queue = state.queues[share.queue]
    units = whole_units(state) if units is None else units
    return QueueNumbers(
        name=queue.name,
        priority=queue.priority,
        created_ms=queue.created_ms,
        guaranteed=queue.guaranteed,
        fair_share=share.fair_share,
        allocatable=share.allocatable,
        per_held=per_held(share.allocatable, total, units),
        allocated=state.sums[queue.name].allocated,
    )


def per_held(allocatable: Limits, total: Amounts, units: Amounts) -> tuple[Ratio, ...]:
    """Return, per axis, by what an amount held is multiplied and divided to give a share.

    It is divided by what the queue may hold, or by the *total* where that has no limit. Where the
    divisor would be 0 the share is `WITHOUT_ROOM` times the amount in whole *units*.
    """
    divisors = [
        whole if most is None else most for most, whole in zip(allocatable, total, strict=True)
    ]
    return tuple(
        [
            (1, divisor) if divisor else (WITHOUT_ROOM, unit)
            for divisor, unit in zip(divisors, units, strict=True)
        ]
    )


def contender(numbers: QueueNumbers, job: Amounts, *, taken: Amounts | None = None) -> Contender:
    """Return a queue with *job* as its next.

    *taken* is what the victims chosen so far would give back; only rule 5 subtracts it from the
    allocation. A share is the largest of any axis, and at least 0: more may be taken from a queue
    than it holds, as a victim that is chosen twice counts twice. Cost: a pass over the axes.
    """
    held_now, most = numbers.allocated, numbers.allocatable
    is_over, is_within, is_barred = True, True, False
    top, bottom = with_top, with_bottom = NO_SHARE
    given = (0,) * len(job) if taken is None else taken
    facts = numbers.fair_share, numbers.guaranteed, most, numbers.per_held
    rows = zip(held_now, job, given, *facts, strict=True)
    for held, asked, less, fair_share, guaranteed, allocatable, (factor, divisor) in rows:
        if held <= fair_share:  # one axis within its share is enough
            is_over = False
        then = held + asked
        if guaranteed is not None and then > guaranteed:
            is_within = False
        if allocatable == 0 and then > 0:
            is_barred = True
        if held * factor * bottom > top * divisor:
            top, bottom = held * factor, divisor
        then = (then - less) * factor
        if then * with_bottom > with_top * divisor:
            with_top, with_bottom = then, divisor
    return Contender(
        precedence=(is_over, not is_within, -numbers.priority, is_barred),
        share_with_job=(with_top, with_bottom),
        share=(top, bottom),
        allocatable=most,
        age=(numbers.created_ms, numbers.name),
    )


def precedes(one: Contender, other: Contender) -> bool:
    """Return whether the queue of *one* is served before that of *other*.

    Of two queues exactly one precedes the other, because names differ. Not transitive. Cost: one
    comparison of tuples and at most two cross multiplications, unless the queues tie up to there.
    """
    if one.precedence != other.precedence:
        return one.precedence < other.precedence
    order = _compared(one.share_with_job, other.share_with_job)
    if order == 0:
        order = _compared(one.share, other.share)
    if order == 0 and one.allocatable != other.allocatable:
        order = _which_is_smaller(one.allocatable, other.allocatable)
    return order < 0 if order else one.age < other.age


def deciding_rule(one: Contender, other: Contender) -> int:
    """Return the number of the rule that decides between two queues; 8 is age, then name."""
    for number, (left, right) in enumerate(
        zip(one.precedence, other.precedence, strict=True), start=1
    ):
        if left != right:
            return number
    if _compared(one.share_with_job, other.share_with_job):
        return 5
    if _compared(one.share, other.share):
        return 6
    return 7 if _which_is_smaller(one.allocatable, other.allocatable) else 8


def _compared(one: Ratio, other: Ratio) -> int:
    """Return less than, more than or exactly 0 as *one* is smaller, larger or equal."""
    return one[0] * other[1] - other[0] * one[1]


def _which_is_smaller(one: Limits, other: Limits) -> int:
    """Return -1 if *one* is nowhere larger and somewhere smaller, 1 for the reverse, else 0."""
    order = 0
    for left, right in zip(one, other, strict=True):
        if left == right:
            continue
        here = -1 if right is None or (left is not None and left < right) else 1
        if order and order != here:
            return 0
        order = here
    return order
