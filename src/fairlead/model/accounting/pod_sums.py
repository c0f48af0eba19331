"""What some pods of a workload ask for, or cost its queue, added up.

Callers give the number of pods for each set of the workload. Nearly all workloads have one set.
"""

from collections.abc import Sequence

from fairlead.model.axes import Amounts
from fairlead.model.run import Run
from fairlead.model.workload import PodId, Workload


def count_by_set(workload: Workload, pods: Sequence[PodId]) -> list[int]:
    """Return how many of *pods* are of each set."""
    counts = [0] * len(workload.pod_sets)
    if len(counts) == 1:
        return [len(pods)]
    set_index = workload.pod_sets.set_index
    for pod in pods:
        counts[set_index[pod]] += 1
    return counts


def asked_for(workload: Workload, counts: Sequence[int]) -> Amounts | None:
    """Return what *counts* pods per set ask for while they wait, and less for a negative count.

    None: nothing, as held-back pods do.
    """
    if not workload.active:
        return None
    pod_sets = workload.pod_sets
    if len(pod_sets) == 1:
        is_asking = counts[0] and not pod_sets[0].gated
        return multiplied([pod_sets[0].requests], counts) if is_asking else None
    asking = [0 if s.gated else count for s, count in zip(pod_sets, counts, strict=True)]
    return multiplied([pod_set.requests for pod_set in pod_sets], asking) if any(asking) else None


def cost(run: Run, pods: Sequence[PodId], counts: Sequence[int]) -> Amounts:
    """Return what *pods*, which are *counts* per set, cost the queue."""
    if not run.own_charges:
        return multiplied(run.charges, counts)
    nothing = (0,) * len(run.charges[0])
    return tuple(map(sum, zip(nothing, *map(run.charge, pods), strict=True)))


def multiplied(vectors: Sequence[Amounts], counts: Sequence[int]) -> Amounts:
    """Return the sum of *vectors*, each taken as often as *counts* says."""
    if len(vectors) == 1:  # worth a short way
        count = counts[0]
        return vectors[0] if count == 1 else tuple([amount * count for amount in vectors[0]])
    scaled = [[amount * n for amount in v] for v, n in zip(vectors, counts, strict=True)]
    return tuple(map(sum, zip(*scaled, strict=True)))
