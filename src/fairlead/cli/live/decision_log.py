"""Logs what is decided: one line for each decision, and one for each that failed.

At the level info a decision has its reason code, which costs microseconds; the sentence with the
numbers is made at the level debug only.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from fairlead.cli.live.logs import FIELDS
from fairlead.cluster.kubernetes.acting.acts import Bind, Outcome
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.reporting.words import Words
from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import (
    Evict,
    LeftPending,
    Move,
    Plan,
    Reason,
    Reserve,
    Start,
    Unknown,
    Wait,
)
from fairlead.model.workload import PodId, Workload
from fairlead.policy.obstacles import OTHER_SCHEDULER

_LOG: Final = logging.getLogger(__name__)


class DecisionLog:
    """Takes note of plans and outcomes, and logs them."""

    def __init__(self, words: Words, log: logging.Logger = _LOG) -> None:
        """Begin with nothing logged; *words* makes the sentences about what waits."""
        self._words = words
        self._log = log
        self._codes: dict[WorkloadName, str] = {}  # of workloads that wait, as logged last

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:
        """Log the decisions of a plan that are carried out. Called by the engine's thread."""
        if not self._log.isEnabledFor(logging.INFO):
            return
        waiting: dict[WorkloadName, str] = {}
        is_explained = False
        for each in carried.decisions:
            workload = engine.state.workloads.get(each.workload)
            if workload is None or each.reason.code == OTHER_SCHEDULER:
                continue  # what another scheduler has to say is not logged here
            if isinstance(each, Wait | Unknown | Reserve):
                is_explained = is_explained or not isinstance(each, Reserve)
                waiting[each.workload] = each.reason.code
                if self._codes.get(each.workload) != each.reason.code:
                    self._log_wait(each, workload)
            else:
                self._log_act(each, workload)
        if is_explained or not engine.state.has_waiting():
            self._codes = waiting
        else:
            self._codes.update(waiting)
        self._log.debug("planned %d decisions in %.1f ms", len(plan.decisions), 1000 * took_s)

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Log nothing."""

    def ended(self, outcome: Outcome) -> None:
        """Log an act that was not done. Called by the event loop."""
        if outcome.result == "done":
            return
        act = outcome.act
        verb = "start" if isinstance(act, Bind) else "evict"
        log = self._log.warning if outcome.result == "refused" else self._log.info
        fields = {"decision": verb, "pod": str(act.target), "result": outcome.result}
        log("%s %s: %s: %s", verb, act.target, outcome.result, outcome.why, extra={FIELDS: fields})

    def _log_act(self, decision: Start | Evict | Move, workload: Workload) -> None:
        match decision:
            case Start():
                for place in decision.placements:
                    on = f" on {place.node}" if place.node is not None else ""
                    fields = {"node": place.node, "queue": workload.queue}
                    self._log_pod("start", workload, place.pod, on, decision.reason, fields)
            case Evict() | Move():
                pods = decision.pods if isinstance(decision, Evict) else _origins(decision)
                beneficiary = decision.beneficiary
                to = f" for {beneficiary}" if beneficiary is not None else ""
                fields = {"for": beneficiary, "queue": workload.queue}
                for pod in pods:
                    self._log_pod("evict", workload, pod, to, decision.reason, fields)

    def _log_pod(
        self,
        verb: str,
        workload: Workload,
        pod: PodId,
        rest: str,
        reason: Reason,
        fields: dict[str, Any],
    ) -> None:
        name = f"{workload.namespace}/{workload.pod_name(pod)}"
        self._log_line(
            f"{verb} {name}{rest} (queue {workload.queue})",
            {"decision": verb, "pod": name, **fields},
            reason.code,
            lambda: reason_text(reason),
        )

    def _log_wait(self, decision: LeftPending | Reserve, workload: Workload) -> None:
        verb = type(decision).__name__.lower()
        self._log_line(
            f"{verb} {workload.name} (queue {workload.queue})",
            {"decision": verb, "workload": workload.name, "queue": workload.queue},
            decision.reason.code,
            lambda: self._words.waiting(decision),
        )

    def _log_line(
        self, said: str, fields: dict[str, Any], code: str, sentence: Callable[[], str]
    ) -> None:
        fields["reason"] = code
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug("%s: %s: %s", said, code, sentence(), extra={FIELDS: fields})
        else:
            self._log.info("%s: %s", said, code, extra={FIELDS: fields})


def _origins(decision: Move) -> list[PodId]:
    return [each.pod for each in decision.origins]
