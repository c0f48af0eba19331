"""What the rules grant every queue at one moment, as a simulation tells it at regular times.

What happens says who holds what. What is due to whom only the rules know, so it comes from outside
and is taken to hold until it is told again.
"""

import msgspec

from fairlead.model.axes import Amounts


class EntitlementSample(msgspec.Struct, frozen=True, kw_only=True):
    """What queues are entitled to and ask for, on the resources that are measured, in their order.

    An inner queue that is not named has what its children have together; a leaf that is not named
    has nothing. Demand is what a queue holds and what it waits for.
    """

    at_ms: int
    entitled: dict[str, Amounts]
    demand: dict[str, Amounts]
    fair_share: dict[str, Amounts] = {}
    usage_e9: dict[str, Amounts] = {}  # part of the cluster's capacity, in thousand millionths
