"""From the answer of an API server, or its absence, to what became of an act.

A write of which no answer came may have been carried out. It is never repeated blindly: the pod is
read until it shows the effect, or shows twice that there is none.
"""

from asyncio import sleep
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Outcome
from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    TooManyRequestsError,
    UnauthorizedError,
)
from fairlead.errors import ClusterError
from fairlead.manifest.text.values import Mapping

BUDGET_CAUSE: Final = "DisruptionBudget"
_BETWEEN_LOOKS_S: Final = 1.0

ReadPod = Callable[[], Awaitable[Mapping | None]]


def is_budget(problem: ApiError) -> bool:
    """Return whether a disruption budget forbids an eviction, rather than the server a request."""
    return isinstance(problem, TooManyRequestsError) and BUDGET_CAUSE in problem.causes


def is_conflict(problem: ApiError) -> bool:
    """Return whether the pod of an act is not as the act demands: changed, another one, or gone."""
    return isinstance(problem, NotFoundError | ConflictError)


def refusal(act: Act, problem: ApiError) -> Outcome:
    """Return the outcome of an act that the server certainly did not carry out.

    No right, a namespace that is terminating, a request of a wrong form: no node changes that.
    """
    return Outcome(
        act=act,
        result="refused",
        why=str(problem),
        retry_after_ms=1000 * (problem.retry_after_s or 0),
        is_on_any_node=isinstance(problem, RefusedError | UnauthorizedError | InvalidError),
    )


def judge_conflict(act: Bind | Evict, found: Mapping | None, problem: ApiError) -> Outcome:
    """Return the outcome of an act that the server did not carry out for the pod as *found*.

    What came first makes another plan, at once. If nothing did, the same plan would fail again and
    again, so the act counts as refused.
    """
    outcome = judge(act, found, str(problem))
    if outcome is not None:
        return outcome
    assert found is not None, "a pod that is gone is never to be asked for again"
    has_changed = (
        isinstance(act, Evict)
        and _part(found, "metadata").get("resourceVersion") != act.resource_version
    )
    if has_changed:
        return Outcome(act=act, result="overtaken", why=str(problem))
    return refusal(act, problem)


async def find_out(act: Bind | Evict, read: ReadPod, pauses: Backoff, problem: ApiError) -> Outcome:
    """Return what became of an act whose answer was lost in *problem*, however long it takes."""
    looks = 0
    while True:
        try:
            found = await read()
        except ClusterError as again:
            await sleep(pauses.next_s(again.retry_after_s or 0))
            continue
        outcome = judge(act, found, str(problem))
        if outcome is not None:
            return outcome
        looks += 1
        if looks > 1:  # the request is not on its way any more
            return Outcome(act=act, result="refused", why=f"it had no effect: {problem}")
        await sleep(_BETWEEN_LOOKS_S)


def judge(act: Bind | Evict, found: Mapping | None, why: str) -> Outcome | None:
    """Return the outcome of an act that the pod as *found* shows; None: it shows no effect."""
    if isinstance(act, Evict):
        is_leaving = found is None or _part(found, "metadata").get("deletionTimestamp") is not None
        return Outcome(act=act, result="done") if is_leaving else None
    node = None if found is None else _part(found, "spec").get("nodeName")
    if node == act.node:
        return Outcome(act=act, result="done")
    is_over = found is None or node or _part(found, "metadata").get("deletionTimestamp")
    return Outcome(act=act, result="overtaken", why=why) if is_over else None


def _part(found: Mapping, key: str) -> dict[str, Any]:
    part = found.get(key)
    return part if isinstance(part, dict) else {}
