"""What the rules grant queues from some moment on, as a simulation tells it when it changes.

What happens says who holds what. What is due to whom only the rules know, so it comes from outside.
"""

import msgspec

from fairlead.model.axes import Amounts


class EntitlementChange(msgspec.Struct, frozen=True, kw_only=True):
    """What queues are entitled to and ask for, on the resources that are measured, in their order.

    What is told of a queue holds until something else is told of it. An inner queue of which
    nothing was told yet has what its children have together; a leaf has nothing. Demand is what a
    queue holds and what it waits for.
    """

    at_ms: int
    entitled: dict[str, Amounts] = {}
    demand: dict[str, Amounts] = {}
    fair_share: dict[str, Amounts] = {}
    usage_e9: dict[str, Amounts] = {}  # part of the cluster's capacity, in thousand millionths
