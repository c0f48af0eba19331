"""What one side of a conflict between two queues held, and what was due to it."""

from fractions import Fraction

import msgspec

from fairlead.model.axes import Amounts, Axis, Limits, QueueName


class SideNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two queues compared, an entry per axis; a saturation of None is infinite.

    For a loss, *before* is what the rule looked at: the victim's side just before this loss, the
    reclaimer's as the search began. *After* is without what has been lost so far, this loss
    included, and on the reclaimer's side with the request.
    """

    queue: QueueName
    axes: tuple[Axis, ...]
    guaranteed: Limits
    fair_share: Amounts
    allocatable: Limits
    allocated_before: Amounts
    allocated_after: Amounts
    saturation_before: tuple[Fraction | None, ...]
    saturation_after: tuple[Fraction | None, ...]
