"""What of the work of a scenario has no meaning under one of the rule sets that it runs."""

from collections.abc import Iterator, Sequence

from fairlead.manifest.text.path import Path
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.doubt import Doubt
from fairlead.sim.scenario.work_form import WorkForm
from fairlead.sim.scenario.written_jobs import written_jobs


def evicted_all_the_same(work: Sequence[WorkForm], policy: PolicyName) -> Iterator[Doubt]:
    """Tell where the first ``preemptible: false`` stands, if *policy* does not know such jobs."""
    if policy == "kai":
        return
    paths = list(_kept_jobs(work))
    if paths:
        told = "preemptible: false" + ("" if len(paths) == 1 else f" in {len(paths):,} places")
        message = f"found {told}, which has no effect under {policy}: "
        message += "such jobs are evicted as all others are"
        fix = f"remove it, or do not compare by it under {policy}"
        yield Doubt(paths[0], "no-effect", message, fix)


def _kept_jobs(work: Sequence[WorkForm]) -> Iterator[Path]:
    """Yield where it stands, of logs last."""
    for path, job in written_jobs(work):
        if not job.preemptible:
            yield (*path, "preemptible")
    for place, source in enumerate(work):
        if source.trace is not None and not source.trace.preemptible:
            yield ("spec", "work", place, "trace", "preemptible")
