"""Asks for what the capacity-scheduling plugin answered: may a pod start, and who makes room.

One outcome for each kind that a case has an answer for:

* ``used``: what each quota uses;
* ``admission``: whether max or the pool refuses the pod, and the nominated pods counted in it;
* ``fit``: on which nodes there is room, and which of them are feasible in the end;
* ``victims``: may it preempt, and what comes of each node that is looked at;
* ``choice``: the node, the pods deleted and the nominations cleared there;
* ``accounting``: used after a pod came and went.

Where the plugin's answer depends on the order of equal pods, any of the listed ones is right.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fairlead.errors import FairleadError
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import Answer, CaseAnswer, ClaimAnswer, NodeAnswer
from tests.conformance.elastic_engine import engine_answer
from tests.conformance.outcome import Outcome

Json = Mapping[str, Any]
Rights = list[object]

MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    FairleadError,
    LookupError,
    TypeError,
    ValueError,
)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is answered otherwise than recorded, and in which kinds of answer."""

    name: str
    kinds: tuple[str, ...]
    quirks: frozenset[str]  # those that decide it in the record


def check(case: Any) -> list[Outcome]:
    """Compare every kind with the record of the plugin; a malformed case fails, with why."""
    return compared(case, FAITHFUL, engine_answer)


def compared(case: Any, settings: ElasticQuotaSettings, answer: Answer) -> list[Outcome]:
    """Compare every kind that a case has an answer for, whoever answers."""
    identity = str(case.get("name", "?")) if isinstance(case, Mapping) else "?"
    try:
        got = answer(case, settings)
        return [_judged(identity, kind, *found) for kind, found in _pairs(case, got)]
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind="case", status="failed", note=note)]


def differing(
    cases: Iterable[Json], settings: ElasticQuotaSettings, answer: Answer
) -> list[Difference]:
    """List the cases whose answer under these settings is not the recorded one."""
    found = []
    for case in cases:
        outcomes = compared(case, settings, answer)
        kinds = tuple(outcome.kind for outcome in outcomes if outcome.status != "passed")
        if kinds:
            tags = frozenset(case.get("quirks") or ())
            found.append(Difference(name=case["name"], kinds=kinds, quirks=tags))
    return found


def _pairs(case: Json, got: CaseAnswer) -> Iterator[tuple[str, tuple[Rights, object]]]:
    """Return each kind with the answers that are right, and the one that came."""
    result = case["result"]
    for kind, read in ALWAYS.items():
        yield kind, read(result, got)
    if case["nodes"]:  # a row without nodes asks about admission only
        yield "victims", _victims(case, got.claim)
        yield "choice", _choice(case, got.claim)


def _judged(identity: str, kind: str, rights: Rights, got: object) -> Outcome:
    is_right = got in rights
    return Outcome(
        id=identity,
        kind=kind,
        status="passed" if is_right else "failed",
        expected="" if is_right else " or ".join(map(json.dumps, rights)),
        got="" if is_right else json.dumps(got),
    )


def _used(result: Json, got: CaseAnswer) -> tuple[Rights, object]:
    return [_unempty(result["used"])], _unempty(got.used)


def _admission(result: Json, got: CaseAnswer) -> tuple[Rights, object]:
    recorded = result["preFilter"]
    right = {
        "refusal": recorded.get("reason") if recorded["code"] != "Success" else None,
        "in quota": recorded.get("nominatedInQuotaPlusPod") or {},
        "in all": recorded.get("nominatedAllPlusPod") or {},
    }
    ours = {
        "refusal": got.refusal,
        "in quota": dict(got.nominated_in_quota or {}),
        "in all": dict(got.nominated_all or {}),
    }
    return [right], ours


def _fit(result: Json, got: CaseAnswer) -> tuple[Rights, object]:
    right = {
        "fits": {node: said["code"] == "Success" for node, said in result["filter"].items()},
        "feasible": sorted(result["feasibleNodes"]),
    }
    return [right], {"fits": dict(got.fits), "feasible": sorted(got.feasible)}


def _accounting(result: Json, got: CaseAnswer) -> tuple[Rights, object]:
    recorded = {k: v for k, v in result["accounting"].items() if k != "removedPod"}
    return [_unempty(recorded)], _unempty(got.accounting)


def _victims(case: Json, claim: ClaimAnswer | None) -> tuple[Rights, object]:
    """Compare node by node; on some of them several answers are right."""
    recorded = case["result"].get("postFilter")
    if recorded is None or claim is None:
        return [recorded], None if claim is None else _shown(claim)
    alternatives = case.get("nodeAlternatives") or {}
    ours = _shown(claim)
    right = {
        "why not eligible": None if recorded["eligible"] else recorded["notEligibleReason"],
        "nodes": {
            node: _one_of([said, *alternatives.get(node, ())], claim.nodes.get(node))
            for node, said in (recorded.get("nodes") or {}).items()
        },
    }
    return [right], ours


def _one_of(recorded: Iterable[Json], ours: NodeAnswer | None) -> object:
    """Return our answer if it is one of the recorded ones, else the first of these."""
    rights = [_node(each) for each in recorded]
    shown = None if ours is None else _node_shown(ours)
    return shown if shown in rights else rights[0]


def _node(recorded: Json) -> object:
    return {
        "outcome": recorded["outcome"],
        "victims": sorted(recorded.get("victims") or ()),
        "violations": recorded.get("pdbViolations", 0),
    }


def _node_shown(node: NodeAnswer) -> object:
    return {
        "outcome": node.outcome,
        "victims": sorted(node.victims),
        "violations": node.violations,
    }


def _shown(claim: ClaimAnswer) -> object:
    return {
        "why not eligible": claim.why_not_eligible,
        "nodes": {name: _node_shown(node) for name, node in claim.nodes.items()},
    }


def _choice(case: Json, claim: ClaimAnswer | None) -> tuple[Rights, object]:
    """Compare the choice; what follows from it only where one run took that node too."""
    recorded = case["result"].get("postFilter")
    if recorded is None or claim is None:
        return [recorded], None if claim is None else {"code": claim.code}
    ours = {
        "code": claim.code,
        "chosen": claim.chosen,
        "deleted": sorted(claim.deleted),
        "cleared": sorted(claim.cleared),
    }
    chosen = {*(recorded["chosenNodes"] or [None]), *(case.get("chosenNodesAnyListing") or ())}
    nodes = sorted(chosen, key=str)
    return [_consequence(case, claim, recorded, node) for node in nodes], ours


def _consequence(case: Json, claim: ClaimAnswer, recorded: Json, node: str | None) -> object:
    """Return what the choice of a node entails: the run that took it, or else our victims."""
    leaving = {_name(pod) for pod in case["pods"] if pod.get("terminating")}
    victims = claim.nodes[node].victims if node in claim.nodes else ()
    deleted = sorted(set(victims) - leaving)
    cleared = sorted(
        _name(pod)
        for pod in case["nominated"]
        if pod["nominatedNode"] == node and pod["priority"] < case["incoming"]["priority"]
    )
    example = recorded.get("example") or {}
    if example.get("node") == node and node is not None:
        cleared = sorted(example["clearedNominations"])
        if node not in (case.get("nodeAlternatives") or {}):
            deleted = sorted(example["deletedPods"])
    code = recorded["code"] if node is None else "Success"  # of the run that took the node
    return {"code": code, "chosen": node, "deleted": deleted, "cleared": cleared}


def _name(pod: Json) -> str:
    return f"{pod['namespace']}/{pod['name']}"


def _unempty(amounts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return the amounts without the names that have none, which the record leaves out."""
    return {name: dict(each) for name, each in sorted(amounts.items()) if each}


ALWAYS: dict[str, Callable[[Json, CaseAnswer], tuple[Rights, object]]] = {
    "used": _used,
    "admission": _admission,
    "fit": _fit,
    "accounting": _accounting,
}
