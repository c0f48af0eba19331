"""Which resources a page shows, in which order, and in which units."""

from collections.abc import Sequence
from typing import Final

from fairlead.model.quantity import is_gpu, is_memory_like, scale_of
from fairlead.sim.measures.summary import Summary
from fairlead.sim.report.report_page import ShownResource

MOST_RESOURCES: Final = 4
GIB: Final = 2**30


def shown_resources(
    resources: Sequence[str], summaries: Sequence[Summary]
) -> tuple[ShownResource, ...]:
    """Return the resources that somebody held in some run, GPUs first, at most four.

    If nobody held anything, the first one is shown, so that there is something to look at.
    """
    held = [
        name
        for name in resources
        if any(summary.of_cluster.allocated.get(name, 0) for summary in summaries)
    ]
    ordered = sorted(held or resources[:1], key=lambda name: not is_gpu(name))
    return tuple(map(shown, ordered[:MOST_RESOURCES]))


def shown(resource: str) -> ShownResource:
    """Return how *resource* is told to people."""
    if is_memory_like(resource):
        return ShownResource(name=resource, unit="GiB", scale=GIB)
    if is_gpu(resource):
        return ShownResource(name=resource, unit="GPU", scale=scale_of(resource))
    unit = "core" if resource == "cpu" else resource
    return ShownResource(name=resource, unit=unit, scale=scale_of(resource))
