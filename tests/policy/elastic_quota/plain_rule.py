"""The rules of capacity scheduling, restated as simply as the text that tells them.

Slow on purpose: nothing is kept, every sum is taken anew from the list of pods. It knows each
quirk of the plugin as a switch and answers for one pod; the engine must answer the same.
"""

from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.conformance.elastic_answers import ByResource, CaseAnswer
from tests.policy.elastic_quota.plain_case import Json, PlainCase, read_case, total, without_zeros
from tests.policy.elastic_quota.plain_claim import claim, fits, why_not_eligible
from tests.policy.elastic_quota.plain_quota import (
    nominated_all,
    nominated_in_quota,
    refusal,
    used,
)


def plain_answer(case: Json, settings: ElasticQuotaSettings) -> CaseAnswer:
    """Return everything that is recorded about a case, as the text has it."""
    plain = read_case(case, settings)
    has_quota = plain.incoming.namespace in plain.quotas
    why_refused = refusal(plain)
    feasible = tuple(
        node for node in plain.nodes if why_refused is None and fits(plain, node, plain.pods)
    )
    return CaseAnswer(
        used={name: without_zeros(used(plain, plain.pods, name)) for name in plain.quotas},
        refusal=why_refused,
        nominated_in_quota=without_zeros(nominated_in_quota(plain)) if has_quota else None,
        nominated_all=(without_zeros(nominated_all(plain, later=False)) if has_quota else None),
        fits={node: fits(plain, node, plain.pods) for node in plain.nodes},
        feasible=feasible,
        claim=None if feasible else claim(plain),
        accounting=_accounting(plain),
    )


def plain_eligibility(case: Json, settings: ElasticQuotaSettings) -> bool:
    """Return whether the incoming pod may take a place from others, be there need or not."""
    return why_not_eligible(read_case(case, settings)) is None


def _accounting(case: PlainCase) -> dict[str, ByResource]:
    """Return used after a pod came and went: the incoming one, and the first that has a quota."""
    books = {}
    incoming = case.incoming
    if incoming.namespace in case.quotas:
        before = used(case, case.pods, incoming.namespace)
        after = total([before, incoming.quota_charge])
        books["usedAfterReserve"] = books["usedAfterReserveTwice"] = after
        books["usedAfterUnreserve"] = before
    removed = next((pod for pod in case.pods if pod.namespace in case.quotas), None)
    if removed is not None:
        rest = [pod for pod in case.pods if pod != removed]
        books["usedAfterRemovePod"] = used(case, rest, removed.namespace)
        books["usedAfterAddPod"] = used(case, case.pods, removed.namespace)
    return {name: without_zeros(amounts) for name, amounts in books.items()}
