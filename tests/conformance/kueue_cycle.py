"""Asks a full cycle what Kueue answered: the flavors, mode and outcome of every head.

Compared by name, since full ties may fall either way. Where Kueue's own answer varied, the case
counts apart.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.queue import ClusterQueue, FlavorFungibility, ResourceGroup
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Demand, PendingWorkload
from tests.conformance.kueue_nodes import MALFORMED, world_of
from tests.conformance.kueue_targets import admitted_workload, snapshot_of
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "cycle"
MODES = {"NO_FIT": "NoFit", "PREEMPT": "Preempt", "FIT": "Fit"}


def check(case: Any) -> list[Outcome]:
    """Compare what became of every head, if that is recorded."""
    result = case.get("result") if isinstance(case, dict) else None
    return [_compare(case)] if isinstance(result, dict) and KIND in result else []


def _compare(case: Json) -> Outcome:
    identity = str(case.get("name", "?"))
    if case["result"].get("cycleTies"):
        return Outcome(identity, KIND, "apart", note="Kueue's own answer varies")
    try:
        expected = {each["name"]: _recorded(each) for each in case["result"][KIND]}
        got = {str(turn.nomination.pending.name): _evicted(turn, case) for turn in turns(case)}
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return Outcome(identity, KIND, "failed", note=note)
    if expected == got:
        return Outcome(identity, KIND, "passed")
    keys = [key for key in expected | got if expected.get(key) != got.get(key)]
    return Outcome(
        identity,
        KIND,
        "failed",
        expected=json.dumps({key: expected.get(key) for key in keys}),
        got=json.dumps({key: got.get(key) for key in keys}),
    )


def turns(case: Json) -> list[Turn]:
    """Run the cycle of a case."""
    world = world_of(case)
    axes = QuotaAxes([_axis(name) for name in world.axes])
    snapshot = _with_flavors(snapshot_of(case, world), case)
    settings = KueueSettings(
        fair_sharing=case.get("fairSharing") is not False,
        strategies=tuple(case.get("strategies") or BOTH_STRATEGIES),
        feature_gates=tuple((case.get("gates") or {}).items()),
        faithful=True,
    )
    cycle = KueueCycle(snapshot, axes, settings)
    return list(cycle.run([_waiting(each) for each in case["heads"]]))


def _axis(name: str) -> Axis:
    flavor, resource = name.split("/", 1)
    return Axis(resource, flavor)


def _waiting(head: Json) -> PendingWorkload:
    return PendingWorkload(
        name=WorkloadName(head["name"]),
        queue=QueueName(f"cq:{head['cq']}"),
        priority=head.get("priority", 0),
        queued_ms=head.get("createdAt", 0) * 1000,
        demands=(Demand(head["requests"]),),
    )


def _with_flavors(snapshot: Snapshot, case: Json) -> Snapshot:
    rules: dict[QueueName, ClusterQueue] = {}
    for queue in case["clusterQueues"]:
        name = QueueName(f"cq:{queue['name']}")
        groups = tuple(
            ResourceGroup(
                resources=tuple(group[0]["resources"]),
                flavors=tuple(entry["flavor"] for entry in group),
            )
            for group in queue.get("resourceGroups") or ()
        )
        fungibility = queue.get("flavorFungibility") or {}
        rules[name] = replace(
            snapshot.rules[name],
            resource_groups=groups,
            fungibility=FlavorFungibility(
                when_can_borrow=fungibility.get("whenCanBorrow", "MayStopSearch"),
                when_can_preempt=fungibility.get("whenCanPreempt", "TryNextFlavor"),
                preference=fungibility.get("preference", "BorrowingOverPreemption"),
            ),
        )
    snapshot.rules = rules
    return snapshot


def _recorded(head: Json) -> Json:
    return {
        "mode": head["mode"],
        "flavors": head.get("flavors") or {},
        "borrow": head.get("borrow", 0),
        "outcome": head["outcome"],
        "targets": sorted(f"{t['name']}: {t['reason']}" for t in head.get("targets") or ()),
    }


def _evicted(turn: Turn, case: Json) -> Json:
    nomination = turn.nomination
    assignment = nomination.assignment
    number: Mapping[str, int] = {name: at for at, name in enumerate(world_of(case).axes)}
    names = {
        admitted_workload(each, number).name: each["name"] for each in case.get("admitted") or ()
    }
    mode = "DeferredFit" if turn.outcome == "deferred" else MODES[nomination.mode().name]
    return {
        "mode": mode,
        "flavors": dict(assignment.flavors[0]) if assignment else {},
        "borrow": assignment.borrow if assignment else 0,
        "outcome": turn.outcome,
        "targets": sorted(f"{names[t.workload.name]}: {t.reason}" for t in turn.targets),
    }
