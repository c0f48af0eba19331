"""What the jobs of a source are like: what they ask for, and how long they run.

Several shapes are a mix, from which each job is drawn by weight: four single pods for every gang,
say. Run time goes with the shape, because large jobs rarely run as long as small ones.
"""

from fractions import Fraction

import msgspec

from fairlead.sim.work.number import Number, Real, mean_number, whole_weights


class JobShape(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of job asks for; every number may be drawn anew for each job."""

    pods: Number = 1
    min_pods: int | None = None  # None: all of them, a gang; fewer: elastic
    requests: dict[str, int]  # of each pod, in base units
    run_ms: Number | None  # with all pods; None: for ever
    asked_ms: Number | None = None  # the run time that its owner asks for
    priority: int = 0
    preemptible: bool = True
    checkpoint_ms: int | None = None  # how often progress is made safe; None: never
    node_labels: dict[str, str] = {}
    weight: Real = 1  # how often this shape is drawn, against the others of its mix

    @property
    def fewest_pods(self) -> int:
        """Below this a draw of pods is moved up to it."""
        return 1 if self.min_pods is None else self.min_pods


SHORTEST_MS = 1
"""No job runs for less: one that takes no time could be followed by another for ever, at once."""


def mean_resource_time(shapes: tuple[JobShape, ...], resource: str) -> Fraction | None:
    """What a job of the mix uses of a resource, in base units times milliseconds, on average.

    None: there is no mean, because of a job that runs for ever or a tail that is too heavy.
    """
    means = [_resource_time(shape, resource) for shape in shapes]
    weights = whole_weights([shape.weight for shape in shapes])
    total = Fraction(0)
    for mean, weight in zip(means, weights, strict=True):
        if weight == 0:
            continue
        if mean is None:
            return None
        total += mean * weight
    return total / sum(weights)


def _resource_time(shape: JobShape, resource: str) -> Fraction | None:
    request = shape.requests.get(resource, 0)
    if request == 0:
        return Fraction(0)
    if shape.run_ms is None:
        return None
    pods = mean_number(shape.pods, lowest=shape.fewest_pods)
    run_ms = mean_number(shape.run_ms, lowest=SHORTEST_MS)
    # Pods and run time are drawn apart, so the mean of the product is the product of the means.
    return None if pods is None or run_ms is None else request * pods * run_ms
