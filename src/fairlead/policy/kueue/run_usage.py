"""What a workload that has quota is charged, axis by axis."""

from fairlead.model.run import Run
from fairlead.policy.kueue.workloads import Usage


def run_usage(run: Run) -> Usage:
    """Return what the workload is charged for all its pods, those that are leaving included."""
    if len(run.charges) == 1:  # nearly all workloads, and worth a short way
        count = len(run.pods)
        return tuple(
            [(at, amount * count) for at, amount in enumerate(run.charges[0]) if amount and count]
        )
    counts = [0] * len(run.charges)
    for pod in run.pods:
        counts[run.pod_sets.set_index[pod]] += 1
    totals: dict[int, int] = {}
    for charge, count in zip(run.charges, counts, strict=True):
        for axis, amount in enumerate(charge):
            if amount and count:
                totals[axis] = totals.get(axis, 0) + amount * count
    return tuple(sorted(totals.items()))
