"""Asks both searches for victims what Kueue answered: who gives way to the incoming workload.

``targets`` is the answer with fair sharing, ``classical`` the one without, ``preempting`` on which
resources the incoming workload does not fit. Targets are compared as sets, with their reasons;
where Kueue's own answer varies, any of the listed ones is right.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import BorrowWithinCohort, ClusterQueue, QueuePreemption
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor, Usage
from tests.conformance.kueue_need import lacking_axes
from tests.conformance.kueue_nodes import MALFORMED, World, requests_of, world_of
from tests.conformance.outcome import Outcome

Json = dict[str, Any]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A case as the searches see it."""

    snapshot: Snapshot
    preemptor: Preemptor
    settings: KueueSettings
    names: dict[WorkloadName, str]  # a workload is known by its unique identifier


def check(case: Any) -> list[Outcome]:
    """Compare every kind that the case has an answer for; a malformed case fails, with why."""
    kinds = asked(case)
    identity = str(case.get("name", "?")) if isinstance(case, dict) else "?"
    outcomes = []
    for kind in kinds:
        try:
            rights, got = CHECKS[kind](case)
        except MALFORMED as problem:
            note = f"malformed case: {type(problem).__name__}: {problem}"
            outcomes.append(Outcome(id=identity, kind=kind, status="failed", note=note))
            continue
        is_right = got in rights
        outcomes.append(
            Outcome(
                id=identity,
                kind=kind,
                status="passed" if is_right else "failed",
                expected="" if is_right else " or ".join(map(json.dumps, rights)),
                got="" if is_right else json.dumps(got),
            )
        )
    return outcomes


def asked(case: Any) -> list[str]:
    """Return the kinds that a case has an answer for; an absent list of targets is an answer.

    Where the incoming workload says what it lacks, that is part of the question.
    """
    if not isinstance(case, dict) or not isinstance(case.get("incoming"), dict):
        return []
    unasked = {
        "preempting": "preempting" in case["incoming"],
        "targets": case.get("fairSharing") is False,
    }
    return [kind for kind in CHECKS if not unasked.get(kind)]


def question_of(case: Json) -> Question:
    """Return the snapshot of a case and its incoming workload."""
    world = world_of(case)
    number = {axis: position for position, axis in enumerate(world.axes)}
    incoming = case["incoming"]
    queue = QueueName(f"cq:{incoming['cq']}")
    usage = usage_of(incoming, number)
    given = incoming.get("preempting")
    need = (
        lacking_axes(world.tree, queue, usage)
        if given is None
        else frozenset(number[axis] for axis in requests_of(incoming) if resource(axis) in given)
    )
    preemptor = Preemptor(
        name=WorkloadName(incoming["name"]),
        queue=queue,
        priority=incoming.get("priority", 0),
        usage=usage,
        queued_ms=incoming.get("createdAt", 0) * 1000,
        need=need,
    )
    admitted = case.get("admitted") or ()
    return Question(
        snapshot=snapshot_of(case, world),
        preemptor=preemptor,
        settings=KueueSettings(
            fair_sharing=True,
            strategies=tuple(case.get("strategies") or BOTH_STRATEGIES),
            feature_gates=tuple((case.get("gates") or {}).items()),
            faithful=True,
        ),
        names={admitted_workload(each, number).name: each["name"] for each in admitted},
    )


def snapshot_of(case: Json, world: World) -> Snapshot:
    """Return the tree, the rules and the holders of a case."""
    number = {axis: position for position, axis in enumerate(world.axes)}
    return Snapshot(
        tree=world.tree,
        parents={QueueName(node.name): _parent(node.parent) for node in world.nodes},
        rules={
            QueueName(f"cq:{queue['name']}"): ClusterQueue(
                preemption=_preemption(queue.get("preemption") or {})
            )
            for queue in case["clusterQueues"]
        },
        admitted=[admitted_workload(each, number) for each in case.get("admitted") or ()],
    )


def admitted_workload(admitted: Json, number: Mapping[str, int]) -> AdmittedWorkload:
    """Return an admitted workload; equal ones give way in the order of their identifiers."""
    return AdmittedWorkload(
        name=WorkloadName(admitted.get("uid") or admitted["name"]),
        queue=QueueName(f"cq:{admitted['cq']}"),
        priority=admitted.get("priority", 0),
        usage=usage_of(admitted, number),
        queued_ms=admitted.get("createdAt", 0) * 1000,
        reserved_ms=admitted.get("admittedAt", 0) * 1000,
        is_evicted=bool(admitted.get("evicted")),
    )


def usage_of(workload: Json, number: Mapping[str, int]) -> Usage:
    """Return what a workload uses, in the order of the axes."""
    amounts = {number[axis]: amount for axis, amount in requests_of(workload).items() if amount}
    return tuple(sorted(amounts.items()))


def resource(axis: str) -> str:
    """Return the resource of a ``flavor/resource``."""
    return axis.split("/", 1)[1]


def _parent(name: str | None) -> QueueName | None:
    return None if name is None else QueueName(name)


def _preemption(rules: Json) -> QueuePreemption:
    borrow = rules.get("borrowWithinCohort") or {}
    return QueuePreemption(
        within_cluster_queue=rules.get("withinClusterQueue", "Never"),
        reclaim_within_cohort=rules.get("reclaimWithinCohort", "Never"),
        borrow_within_cohort=BorrowWithinCohort(
            policy=borrow.get("policy", "Never"),
            max_priority_threshold=borrow.get("maxPriorityThreshold"),
        ),
    )


def _check_preempting(case: Json) -> tuple[list[object], object]:
    world = world_of(case)
    number = {axis: position for position, axis in enumerate(world.axes)}
    incoming = case["incoming"]
    queue = QueueName(f"cq:{incoming['cq']}")
    lacking = lacking_axes(world.tree, queue, usage_of(incoming, number))
    expected = sorted(case["result"].get("preempting") or ())
    return [expected], sorted(resource(world.axes[axis]) for axis in lacking)


def _check_targets(case: Json) -> tuple[list[object], object]:
    asked = question_of(case)
    result = case["result"]
    rights = [result.get("targets"), *(result.get("alternatives") or ())]
    got = fair_targets(asked.snapshot, asked.preemptor, asked.settings)
    return [_listed(each) for each in rights], _named(got, asked)


def _check_classical(case: Json) -> tuple[list[object], object]:
    asked = question_of(case)
    recorded = case["result"]["classical"]
    rights = [recorded.get("targets"), *(recorded.get("alternatives") or ())]
    got = classical_targets(asked.snapshot, asked.preemptor)
    return [_listed(each) for each in rights], _named(got, asked)


def _listed(targets: Sequence[Json] | None) -> object:
    return sorted(f"{each['name']}: {each['reason']}" for each in targets or ())


def _named(targets: Sequence[Target], asked: Question) -> object:
    return sorted(f"{asked.names[each.workload.name]}: {each.reason}" for each in targets)


CHECKS: dict[str, Callable[[Json], tuple[list[object], object]]] = {
    "preempting": _check_preempting,
    "targets": _check_targets,
    "classical": _check_classical,
}
