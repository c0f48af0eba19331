"""Schedules pods one after another by the plain rule until nothing changes any more."""

from collections.abc import Mapping
from typing import Any

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plain_rule import plain_answer

Json = dict[str, Any]


def plain_run(row: Mapping[str, Any], settings: ElasticQuotaSettings = FAITHFUL) -> set[str]:
    """Return the names of the pods that have a node in the end; who is driven out is gone.

    Law: each pod that starts or is driven out never comes back, so it ends. Cost: one plain
    answer for each waiting pod and change.
    """
    running = [dict(pod) for pod in row["pods"]]
    waiting = sorted((dict(pod) for pod in row["added"]), key=lambda pod: -pod["priority"])
    while any(_try(pod, row, running, waiting, settings) for pod in waiting):
        pass
    return {pod["name"] for pod in running}


def _try(
    pod: Json,
    row: Mapping[str, Any],
    running: list[Json],
    waiting: list[Json],
    settings: ElasticQuotaSettings,
) -> bool:
    """Let a waiting pod start, or make room for it; return whether anything changed."""
    case = {
        **row,
        "pods": running,
        "nominated": [each for each in waiting if "nominatedNode" in each and each is not pod],
        "pdbs": row.get("pdbs", []),
        "incoming": pod,
    }
    answer = plain_answer(case, settings)
    if answer.feasible:
        wanted = pod.pop("nominatedNode", None)
        pod["node"] = wanted if wanted in answer.feasible else _emptiest(answer.feasible, running)
        waiting.remove(pod)
        running.append(pod)
        return True
    claim = answer.claim
    if claim is None or claim.chosen is None:
        return False
    running[:] = [each for each in running if _name(each) not in claim.deleted]
    for each in waiting:
        if _name(each) in claim.cleared:
            del each["nominatedNode"]
    pod["nominatedNode"] = claim.chosen
    return bool(claim.deleted)


def _emptiest(nodes: tuple[str, ...], running: list[Json]) -> str:
    return min(nodes, key=lambda node: (sum(pod["node"] == node for pod in running), node))


def _name(pod: Json) -> str:
    return f"{pod['namespace']}/{pod['name']}"
