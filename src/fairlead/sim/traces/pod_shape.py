"""What each pod of a job asks for, and how many there are.

A job of 32 GPUs on machines of 8 is a gang of 4 pods. All pods of a job are alike, so whole devices
must divide evenly: 9 GPUs with at most 8 a pod are 3 pods of 3, not 2 of 4.5.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.sim.traces.trace_job import CPU, GPU, MOST_PODS, WHOLE_GPU, Asks
from fairlead.sim.traces.trace_rules import MissingAmounts, TraceRules

ASKS_NOTHING: Final = "ask for nothing that the trace tells"
TOO_MANY_PODS: Final = f"would need more than {MOST_PODS:,} pods"

_WHOLE_CPU: Final = 1000


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods; ``requests`` are those of one, in base units, nothing of them 0."""

    pods: int
    requests: dict[str, int]
    shares_gpu: bool  # its pods take part of a device each


def pod_shape(rules: TraceRules, asks: Asks, pods: int) -> PodShape | str:
    """Return the pods of a job that asks for so much, spread over *pods* in its trace, or why not.

    There are as few as the rules allow, and not fewer than in the trace. Law: the pods together ask
    for what the job asks for, less than one base unit a pod more, and for no device more.
    """
    whole = _whole_amounts(rules, asks)
    if not whole:
        return ASKS_NOTHING
    count = _pod_count(whole, rules.pod_at_most, pods)
    if count is None:
        return TOO_MANY_PODS
    requests = {resource: -(-amount // count) for resource, amount in whole.items()}
    shares_gpu = requests.get(GPU, 0) % WHOLE_GPU != 0
    return PodShape(pods=count, requests=requests, shares_gpu=shares_gpu)


def _whole_amounts(rules: TraceRules, asks: Asks) -> dict[str, int]:
    """What the whole job asks for, with what its trace leaves open, and without zeros."""
    told = dict(asks)
    if rules.processors == "gpu" and CPU in told and not told.get(GPU):
        told[GPU] = told.pop(CPU)
    missing = _missing(rules.missing, told)
    return {name: amount for name, amount in (told | missing).items() if amount}


def _missing(rules: MissingAmounts, told: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for amounts, unit, whole in (
        (rules.per_gpu, told.get(GPU, 0), WHOLE_GPU),
        (rules.per_cpu, told.get(CPU, 0), _WHOLE_CPU),
        (rules.per_job, 1, 1),
    ):
        for resource, amount in amounts.items():
            if unit and resource not in told and resource not in found:
                found[resource] = -(-amount * unit // whole)
    return found


def _pod_count(whole: Mapping[str, int], at_most: Mapping[str, int], pods: int) -> int | None:
    bounds = [-(-whole.get(resource, 0) // bound) for resource, bound in at_most.items()]
    fewest = max([pods, *bounds])
    devices, part = divmod(whole.get(GPU, 0), WHOLE_GPU)
    if part or not devices:
        return fewest if fewest <= MOST_PODS else None
    # More pods than devices cannot each have one: then each takes the same part of a device.
    if fewest > devices:
        return fewest if fewest <= MOST_PODS else None
    candidates = range(fewest, min(devices, MOST_PODS) + 1)
    return next((count for count in candidates if devices % count == 0), None)
