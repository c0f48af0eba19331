"""Sums and comparisons of amounts as the plain rule makes them, asked without a whole case."""

from collections.abc import Sequence

from fairlead.policy.elastic_quota.settings import FAITHFUL
from tests.conformance.elastic_answers import ByResource
from tests.conformance.elastic_arithmetic import Step
from tests.policy.elastic_quota.plain_case import PlainCase, PlainPod, PlainQuota
from tests.policy.elastic_quota.plain_quota import is_over_max, is_over_min, is_over_min_with


class PlainArithmetic:
    """Answers as the plugin does, quirks included."""

    def over_min(self, used: ByResource, minimum: ByResource | None) -> bool:
        """Return whether used alone is over min."""
        return is_over_min(_quota(minimum, None), dict(used))

    def over_min_with(
        self, used: ByResource, minimum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over min with a request more."""
        quota = _quota(minimum, None)
        return is_over_min_with(_case(request), quota, dict(used), dict(request))

    def over_max_with(
        self, used: ByResource, maximum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over max with a request more."""
        quota = _quota(None, maximum)
        return is_over_max(_case(request), quota, dict(used), dict(request))

    def used_after(
        self, namespace: str, used: ByResource, known: frozenset[str], steps: Sequence[Step]
    ) -> list[ByResource]:
        """Return what the quota uses after each step; a pod counts once, and is given back once."""
        counted = set(known)
        sums = dict(used)
        after: list[ByResource] = []
        for step in steps:
            is_start = step.verb == "reserve"
            is_own = step.pod.split("/")[0] == namespace
            if is_own and is_start != (step.pod in counted):
                counted ^= {step.pod}
                for resource, amount in step.request.items():
                    sums[resource] = sums.get(resource, 0) + (amount if is_start else -amount)
            after.append(dict(sums))
        return after


def _quota(minimum: ByResource | None, maximum: ByResource | None) -> PlainQuota:
    return PlainQuota(
        min=dict(minimum or {}),
        max=None if maximum is None else dict(maximum),
        used_fixed=None,
    )


def _case(request: ByResource) -> PlainCase:
    """Return a case of nothing but the pod that asks."""
    pod = PlainPod(
        name="asks",
        namespace="ns1",
        priority=0,
        quota_charge=dict(request),
        node_charge=dict(request),
        node=None,
        start=None,
        labels={},
        is_leaving=False,
        never_preempts=False,
    )
    return PlainCase(
        nodes={}, quotas={}, pods=(), nominated=(), budgets=(), incoming=pod, settings=FAITHFUL
    )
