"""Asks the order of queues what KAI answered: which of two siblings is served first.

Takes cases of the kind ``order`` of the schema ``kai-oracle/1``. Every pair is compared, both ways
round, with the number of the rule that decides; where KAI has no answer (it prefers the right-hand
queue whichever way it is asked) only age and name may be left to decide. Where the pairs give one
order, its first queue must win the knock-out as well.
"""

import json
from itertools import combinations
from typing import Any

from fairlead.model.axes import QueueName
from fairlead.policy.kai.fair_share.shares import allocatable, whole_unit
from fairlead.policy.kai.ordering.queue_order import (
    Contender,
    QueueNumbers,
    contender,
    deciding_rule,
    per_held,
    precedes,
)
from fairlead.policy.kai.ordering.tournament import Bracket
from tests.conformance.kai_amounts import AXES, amounts, limits, next_job, request
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "order"
UNITS = tuple(whole_unit(axis) for axis in AXES.axes)
NO_RULE = 9  # KAI has none left, where ours go on to the name


def check(case: Json) -> list[Outcome]:
    """Compare every pair of the case; a malformed case fails, with the reason."""
    identity = named_in(case, "id")
    try:
        expected, got = _answers(case)
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=KIND, status="failed", note=note)]
    differing = sorted(key for key in expected if expected[key] != got.get(key))
    if not differing:
        return [Outcome(id=identity, kind=KIND, status="passed")]
    return [
        Outcome(
            id=identity,
            kind=KIND,
            status="failed",
            expected=json.dumps({key: expected[key] for key in differing}),
            got=json.dumps({key: got.get(key) for key in differing}),
            note=str(case.get("why", "")),
        )
    ]


def _answers(case: Json) -> tuple[Json, Json]:
    standings = {queue["name"]: _standing(queue, case["total"]) for queue in case["queues"]}
    result = case["result"]
    exact = result.get("exactArithmetic") or {}
    pairs = [f"{one}|{other}" for one, other in combinations(sorted(standings), 2)]
    if set(result["firstOf"]) != set(pairs):
        raise ValueError("firstOf does not list every pair")
    expected: Json = {}
    got: Json = {}
    for pair in pairs:
        left, right = pair.split("|")
        winner, rule = _meeting(left, right, standings)
        recorded = exact.get(pair, result["firstOf"][pair])
        free = recorded is None
        expected[pair] = "any" if free else recorded
        got[pair] = "any" if free and rule == NO_RULE else winner
        if pair not in exact:  # there the recorded rule is that of the other answer
            expected[f"rule {pair}"], got[f"rule {pair}"] = result["rule"][pair], rule
    if "order" in result and not exact:
        expected["first of all"] = result["order"][0]
        got["first of all"] = _winner_of_all(standings)
    return expected, got


def _meeting(left: str, right: str, standings: dict[str, Contender]) -> tuple[str | None, int]:
    """Who is first, None if the answer depends on who is asked; and the rule that decides."""
    one, other = standings[left], standings[right]
    rule = deciding_rule(one, other)
    if rule != deciding_rule(other, one) or precedes(one, other) == precedes(other, one):
        return None, rule
    is_same_age = rule == 8 and one.age[0] == other.age[0]
    return left if precedes(one, other) else right, NO_RULE if is_same_age else rule


def _winner_of_all(standings: dict[str, Contender]) -> str | None:
    listed = sorted(standings, key=lambda name: standings[name].age)
    bracket = Bracket(len(listed), precedes)
    for place, name in enumerate(listed):
        bracket.enter(place, standings[name])
    winner = bracket.winner()
    return None if winner is None else listed[winner]


def _standing(queue: Json, total: Json) -> Contender:
    guaranteed = limits(queue, "deserved", absent=0)
    ceiling = limits(queue, "limit", absent=None)
    fair_share = amounts(queue, "fairShare")
    most = tuple(map(allocatable, guaranteed, ceiling, fair_share))
    numbers = QueueNumbers(
        name=QueueName(queue["name"]),
        priority=queue["priority"],
        created_ms=int(exact_number(queue["created"]) * 1000),
        guaranteed=guaranteed,
        fair_share=fair_share,
        allocatable=most,
        per_held=per_held(most, request(total), UNITS),
        allocated=amounts(queue, "allocated"),
    )
    victims = map(request, queue.get("victims") or ())
    taken = tuple(map(sum, zip(AXES.zero, *victims, strict=True)))
    return contender(numbers, next_job(queue.get("nextJob")), taken=taken)
