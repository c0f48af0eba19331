"""The order in which people look at resources."""

from collections.abc import Iterable

from fairlead.model.axes import Axis


def by_interest(axes: Iterable[Axis]) -> list[Axis]:
    """Return each axis once: GPUs first, because they are scarce, then the others as they came."""
    return sorted(dict.fromkeys(axes), key=lambda axis: not axis.resource.endswith("gpu"))
