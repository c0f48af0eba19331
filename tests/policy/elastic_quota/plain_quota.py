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
    """Return why the incoming pod is not admitted, or None if it is.

    By our reading, who would be over its min must also leave enough for all who wait.
    """
    in_quota = nominated_in_quota(case)
    now = broken_rule(case, case.pods, in_quota, nominated_all(case, later=False))
    if now is not None or not leaves_room(case) or not _borrows(case):
        return now
    return broken_rule(case, present_pods(case), in_quota, nominated_all(case, later=True))


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


def nominated_all(case: PlainCase, *, later: bool) -> Amounts:
    """Return the same with the waiting pods of other quotas, any priority.

    By our reading these count as far as they are within the min of their quota. *Later*, when who
    is leaving is gone, they count beyond it, too: as far as others leave, and all of it if the
    incoming pod would be over its own min.
    """
    within, beyond = [nominated_in_quota(case)], list[Amounts]()
    for namespace, quota in case.quotas.items():
        pods = present_pods(case) if later else case.pods
        waiting = total(
            pod.quota_charge
            for pod in case.nominated
            if pod.node in case.nodes and pod.namespace == namespace
        )
        if namespace != case.incoming.namespace:
            use = used(case, pods, namespace)
            right = _rightful(case, quota, use, waiting)
            within.append(right)
            beyond.append({name: n - right.get(name, 0) for name, n in waiting.items()})
    more = total(beyond)
    if not later or case.settings.quirks.leaving_counts:
        return total(within)
    if not leaves_room(case) or not _borrows(case):
        gone = [pod for pod in case.pods if pod.is_leaving and pod.namespace in case.quotas]
        free = total(pod.quota_charge for pod in gone)
        more = {name: min(n, free.get(name, 0)) for name, n in more.items()}
    return total([*within, more])


def _rightful(case: PlainCase, quota: PlainQuota, use: Amounts, waiting: Amounts) -> Amounts:
    """Return how much of what pods of a quota wait for is within its min.

    For the plugin that is all, or nothing if the quota is over its min in anything.
    """
    if case.settings.quirks.promise_taken:
        return {} if is_over_min(quota, use) else waiting
    left = {name: max(0, quota.min.get(name, 0) - use.get(name, 0)) for name in waiting}
    return {name: min(amount, left[name]) for name, amount in waiting.items()}


def goes_first(case: PlainCase, pod: PlainPod, *, in_quota: bool = False) -> bool:
    """Return whether a nominated pod comes before the incoming one, on its node or *in_quota*.

    By our reading one of another quota, or of none, does, however important the incoming one is;
    but if both are nominated to the same, the first by importance and name does.
    """
    incoming = case.incoming
    if pod.full_name == incoming.full_name:
        return False
    if not case.settings.quirks.promise_taken:
        if incoming.node in case.nodes and (in_quota or pod.node == incoming.node):
            return (-pod.priority, pod.full_name) < (-incoming.priority, incoming.full_name)
        if not _is_of_same_quota(case, pod):
            return True
    return pod.priority >= incoming.priority


def _is_of_same_quota(case: PlainCase, pod: PlainPod) -> bool:
    """Return whether two pods have one quota, or both have none."""
    incoming = case.incoming
    has_none = {incoming.namespace, pod.namespace}.isdisjoint(case.quotas)
    return has_none or incoming.namespace == pod.namespace


def leaves_room(case: PlainCase) -> bool:
    """Return whether who borrows leaves enough for all who wait."""
    quirks = case.settings.quirks
    return not quirks.promise_taken and not quirks.leaving_counts


def _borrows(case: PlainCase) -> bool:
    return case.incoming.namespace in case.quotas and is_incoming_over_min(case)


def is_incoming_over_min(case: PlainCase) -> bool:
    """Return whether the incoming pod would take its quota over its min."""
    namespace = case.incoming.namespace
    used_now = used(case, present_pods(case), namespace)
    return is_over_min_with(case, case.quotas[namespace], used_now, nominated_in_quota(case))


def present_pods(case: PlainCase) -> list[PlainPod]:
    """Return who counts as there while a place is looked for."""
    counts = case.settings.quirks.leaving_counts
    return [pod for pod in case.pods if counts or not pod.is_leaving]


def _goes_first_in_quota(case: PlainCase, pod: PlainPod) -> bool:
    incoming = case.incoming
    return (
        pod.node in case.nodes
        and pod.namespace == incoming.namespace
        and goes_first(case, pod, in_quota=True)
    )
