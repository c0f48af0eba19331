"""Asks how long jobs are protected: resolved minimum run times and what they allow.

Takes cases of the kind ``minruntime`` of the schema ``kai-oracle/1``; each asks several questions
about one tree of queues, and is one outcome.
"""

import json
from decimal import Decimal
from typing import Any

from fairlead.model.axes import QueueName
from fairlead.model.events import QueueChanged
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kai.jobs.min_runtime import (
    GroupPods,
    eviction_stands,
    is_protected,
    may_be_victim,
    preempt_min_runtime_ms,
    reclaim_min_runtime_ms,
)
from fairlead.policy.kai.settings import KaiSettings
from tests.conformance.kai_amounts import AXES, RESOURCES
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "minruntime"
NOW_MS = 10**12


def check(case: Json) -> list[Outcome]:
    """Compare the answer to every query; a malformed case fails, with the reason."""
    identity = named_in(case, "id")
    try:
        state, settings = _state(case), _settings(case)
        if not case["queries"]:
            raise ValueError("the case asks nothing")
        answers = [(query["result"], _answer(state, settings, query)) for query in case["queries"]]
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=KIND, status="failed", note=note)]
    differing = [(number, *pair) for number, pair in enumerate(answers) if pair[0] != pair[1]]
    if not differing:
        return [Outcome(id=identity, kind=KIND, status="passed")]
    return [
        Outcome(
            id=identity,
            kind=KIND,
            status="failed",
            expected=json.dumps({number: want for number, want, _ in differing}),
            got=json.dumps({number: have for number, _, have in differing}),
            note="differs in the queries of these numbers",
        )
    ]


def _answer(state: ClusterState, settings: KaiSettings, query: Json) -> Json:
    victim = state.path(QueueName(query["victimQueue"]))
    reclaimer = state.path(QueueName(query["pendingJobQueue"]))
    ago = query["victimStartedSecondsAgo"]
    started_ms = None if ago is None else NOW_MS - _milliseconds(ago)
    running = query["victimRunningPods"]
    group = GroupPods(
        count=running + query["victimPendingPods"],
        running=running,
        minimum=query["victimMinMember"],
    )
    lengths_ms = {
        "preempt": preempt_min_runtime_ms(state.queues, victim, settings),
        "reclaim": reclaim_min_runtime_ms(state.queues, victim, reclaimer, settings),
    }
    answer: Json = {}
    for action, length_ms in lengths_ms.items():
        protected = is_protected(started_ms, length_ms, NOW_MS)
        answer[f"{action}MinRuntimeSeconds"] = length_ms / 1000
        answer[f"{action}Candidate"] = may_be_victim([group], protected=protected)
        answer[f"{action}EvictionValid"] = eviction_stands(
            [group], [query["evictedPods"]], protected=protected
        )
    return answer


def _state(case: Json) -> ClusterState:
    state = ClusterState(RESOURCES, AXES)
    for queue in case["queues"]:
        preempt, reclaim = (
            queue.get(f"{action}MinRuntimeSeconds") for action in ("preempt", "reclaim")
        )
        state.apply(
            QueueChanged(
                Queue(
                    name=QueueName(queue["name"]),
                    parent=QueueName(queue["parent"]) if queue["parent"] else None,
                    weights=(Decimal(1),) * len(AXES),
                    guaranteed=AXES.zero,
                    ceiling=AXES.unlimited,
                    borrow_limit=AXES.unlimited,
                    lend_limit=AXES.unlimited,
                    preempt_min_runtime_ms=None if preempt is None else _milliseconds(preempt),
                    reclaim_min_runtime_ms=None if reclaim is None else _milliseconds(reclaim),
                )
            )
        )
    return state


def _settings(case: Json) -> KaiSettings:
    return KaiSettings(
        preempt_min_runtime_ms=_milliseconds(case["defaultPreemptSeconds"]),
        reclaim_min_runtime_ms=_milliseconds(case["defaultReclaimSeconds"]),
        reclaim_resolve_method="queue" if case["reclaimResolveMethod"] == "queue" else "lca",
    )


def _milliseconds(seconds: object) -> int:
    return int(exact_number(seconds) * 1000)
