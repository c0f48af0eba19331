"""Asks the tournament in which order Kueue let heads have their turns.

Takes cases of the schema ``kueue-oracle/1``: every head has the flavor that the case gives it, and
what is used stays as it is from one turn to the next. Where Kueue's own answer varied, because it
draws lots among equals, the case counts apart.
"""

import json
from typing import Any

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.order import Head, order_gates
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from tests.conformance.kueue_nodes import MALFORMED, requests_of, world_of
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "order"


def check(case: Any) -> list[Outcome]:
    """Compare the turns of all heads, if the case has an order; a malformed one fails, with why."""
    result = case.get("result") if isinstance(case, dict) else None
    if not isinstance(result, dict) or KIND not in result:
        return []
    identity = str(case.get("name", "?"))
    if result.get("orderTies"):
        return [Outcome(identity, KIND, "apart", note="Kueue's own answer varies")]
    try:
        got = _order(case)
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(identity, KIND, "failed", note=note)]
    expected = result[KIND]
    if expected == got:
        return [Outcome(identity, KIND, "passed")]
    wanted, told = json.dumps(expected), json.dumps(got)
    return [Outcome(identity, KIND, "failed", expected=wanted, got=told)]


def _order(case: Json) -> list[str]:
    world = world_of(case)
    parents = {
        QueueName(node.name): None if node.parent is None else QueueName(node.parent)
        for node in world.nodes
    }
    number = {axis: position for position, axis in enumerate(world.axes)}
    heads = [_head(head, number) for head in case["heads"]]
    gates = order_gates((case.get("gates") or {}).items())
    tournament = Tournament(Snapshot(world.tree, parents, {}, ()), heads, gates)
    return list(iter(tournament.pop, None))


def _head(head: Json, number: dict[str, int]) -> Head:
    asked = requests_of(head).items()
    return Head(
        name=WorkloadName(head["name"]),
        queue=QueueName(f"cq:{head['cq']}"),
        priority=head.get("priority", 0),
        queued_ms=head.get("createdAt", 0) * 1_000,
        usage=tuple(sorted((number[axis], amount) for axis, amount in asked if amount)),
    )
