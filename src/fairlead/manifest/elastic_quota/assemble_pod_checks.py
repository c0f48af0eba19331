"""Warns about pods under ElasticQuotas that are not treated as they themselves say."""

from collections.abc import Iterable, Sequence

from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.read_gpu_share import FRACTION, MEMORY
from fairlead.manifest.elastic_quota.assemble_gangs import Gang
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.path import Path, quote


def warn_of_gpu_shares(pods: Iterable[PodObject], findings: Findings) -> None:
    """Report once that parts of a device, which KAI's annotations ask for, are passed over."""
    asking = [pod for pod in pods if pod.gpu_share is not None and is_live(pod)]
    if not asking:
        return
    first, others = asking[0], len(asking) - 1
    annotation = FRACTION if FRACTION in first.annotations else MEMORY
    where = f", here and in {others} other pod{'s' if others > 1 else ''}" if others else ""
    first.source.report(
        findings,
        "warning",
        "no-effect",
        ("metadata", "annotations", annotation),
        f"found {annotation}{where}, which has no effect: only KAI gives out parts of a device",
        "ask for whole devices in a container, such as nvidia.com/gpu: 1",
    )


def warn_of_unequal_priorities(gang: Gang, priorities: Sequence[int], findings: Findings) -> None:
    """Report pods of a gang that differ in priority, *priorities* being those of its pods.

    They start together, so they are as important as the foremost of them.
    """
    highest, lowest = max(priorities), min(priorities)
    if gang.group is None or highest == lowest:
        return
    most, least = (gang.pods[priorities.index(each)] for each in (highest, lowest))
    least.source.report(
        findings,
        "warning",
        "contradiction",
        _place_of_priority(least),
        f"found priority {lowest}, while {most.name} of the same PodGroup has {highest}; "
        f"all its pods count with {highest}",
        f"give all pods of {quote(gang.group.name)} the same priority",
    )


def _place_of_priority(pod: PodObject) -> Path:
    if pod.priority is not None:
        return ("spec", "priority")
    return ("spec", "priorityClassName") if pod.priority_class else ("spec",)
