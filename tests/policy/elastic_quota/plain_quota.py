"""Who is over min or max, and whether the pool is exhausted, straight after the text.

Every sum is taken anew from the pods that are there, so nothing can be forgotten.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from tests.policy.elastic_quota.plain_case import (
    CORE,
    Amounts,
    PlainCase,
    PlainPod,
    PlainQuota,
    total,
)


def used(case: PlainCase, pods: Iterable[PlainPod], namespace: str) -> Amounts:
    """Return what the pods of a namespace are charged, unless the case itself says it."""
    fixed = case.quotas[namespace].used_fixed
    if fixed is not None:
        return fixed
    return total(pod.quota_charge for pod in pods if pod.namespace == namespace)


def refusal(case: PlainCase) -> Literal["over-max", "pool-exhausted"] | None:
    """Return why the incoming pod is not admitted, or None if it is."""
    return broken_rule(
        case, case.pods, nominated_in_quota(case), nominated_all(case, also_over_min=False)
    )


def broken_rule(
    case: PlainCase, pods: Sequence[PlainPod], in_quota: Amounts, in_all: Amounts
) -> Literal["over-max", "pool-exhausted"] | None:
    """Return which rule *in_quota* more of this quota, *in_all* more of all quotas, would break.

    A pod of a namespace without a quota breaks none.
    """
    quota = case.quotas.get(case.incoming.namespace)
    if quota is None:
        return None
    if is_over_max(case, quota, used(case, pods, case.incoming.namespace), in_quota):
        return "over-max"
    return "pool-exhausted" if is_over_pool(case, pods, in_all) else None


def is_over_max(case: PlainCase, quota: PlainQuota, used_now: Amounts, more: Amounts) -> bool:
    """Return whether used and *more* exceed max in a resource that is looked at."""
    if quota.max is None:
        return False
    limits = dict(quota.max)
    if case.settings.quirks.max_core_zero:
        limits = {**dict.fromkeys(CORE, 0), **limits}
    sums = total([used_now, more])
    return any(
        sums.get(resource, 0) > limits[resource]
        for resource in looked_at(case, more)
        if resource in limits
    )


def is_over_min_with(case: PlainCase, quota: PlainQuota, used_now: Amounts, more: Amounts) -> bool:
    """Return whether used and *more* exceed min in a resource that is looked at."""
    sums = total([used_now, more])
    return any(
        sums.get(resource, 0) > quota.min.get(resource, 0) for resource in looked_at(case, more)
    )


def is_over_min(quota: PlainQuota, used_now: Amounts) -> bool:
    """Return whether used alone exceeds min in any resource."""
    return any(amount > quota.min.get(resource, 0) for resource, amount in used_now.items())


def is_over_pool(case: PlainCase, pods: Sequence[PlainPod], more: Amounts) -> bool:
    """Return whether what all quotas use and *more* exceed the sum of all mins."""
    sums = total([*(used(case, pods, namespace) for namespace in case.quotas), more])
    pool = total(quota.min for quota in case.quotas.values())
    names = set(sums) if case.settings.quirks.pool_all else asked(case)
    return any(sums.get(resource, 0) > pool.get(resource, 0) for resource in names)


def looked_at(case: PlainCase, more: Amounts) -> set[str]:
    """Return the resources that a comparison with max, or with min, looks at."""
    return {*CORE, *more} if case.settings.quirks.scalar_if_asked else asked(case)


def asked(case: PlainCase) -> set[str]:
    """Return the resources that the incoming pod asks for with more than 0."""
    return {resource for resource, amount in case.incoming.quota_charge.items() if amount > 0}


def nominated_in_quota(case: PlainCase) -> Amounts:
    """Return the requests of the waiting pods of its quota that go first, and its own."""
    charges = [pod.quota_charge for pod in case.nominated if _goes_first_in_quota(case, pod)]
    return total([*charges, case.incoming.quota_charge])


def nominated_all(case: PlainCase, *, also_over_min: bool) -> Amounts:
    """Return the same with the waiting pods of other quotas, any priority.

    With *also_over_min*, who is leaving is gone; then those of a quota over its min count as well,
    as far as others leave.
    """
    leaving = [pod for pod in case.pods if pod.is_leaving] if also_over_min else []
    present = [pod for pod in case.pods if pod not in leaving]
    within: list[PlainPod] = []
    over: list[PlainPod] = []
    for pod in case.nominated:
        is_of_another = pod.namespace in case.quotas and pod.namespace != case.incoming.namespace
        if pod.node in case.nodes and is_of_another:
            is_over = is_over_min(case.quotas[pod.namespace], used(case, present, pod.namespace))
            (over if is_over else within).append(pod)
    sums = total([*(pod.quota_charge for pod in within), nominated_in_quota(case)])
    if also_over_min:
        free = total([pod.quota_charge for pod in leaving if pod.namespace in case.quotas])
        claimed = total([pod.quota_charge for pod in over])
        sums = total([sums, {name: min(n, free.get(name, 0)) for name, n in claimed.items()}])
    return sums


def goes_first(case: PlainCase, pod: PlainPod) -> bool:
    """Return whether a nominated pod comes before the incoming one.

    By our reading the first by name does, of two that are nominated and as important.
    """
    incoming = case.incoming
    if pod.full_name == incoming.full_name:
        return False
    if pod.priority != incoming.priority:
        return pod.priority > incoming.priority
    if case.settings.quirks.leaving_counts or incoming.node not in case.nodes:
        return True
    return pod.full_name < incoming.full_name


def _goes_first_in_quota(case: PlainCase, pod: PlainPod) -> bool:
    incoming = case.incoming
    return pod.node in case.nodes and pod.namespace == incoming.namespace and goes_first(case, pod)
