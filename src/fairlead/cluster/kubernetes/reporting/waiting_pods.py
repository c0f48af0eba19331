"""What is said about pods that wait, and what has to be said anew after a plan.

Of each pod that waits it is known what its status and its last Event say. A report is made only if
that changes: an Event when another reason applies, the condition also when its numbers differ, once
a minute at most. What a former process said is read from the pod itself.

All of this belongs to the engine's thread. A plan without reasons costs the reservations in it; one
with reasons a look at each workload that waits. Sentences are made when they can be written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.cluster.kubernetes.acting.acts import PodName
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.reporting.outbox import LaneName
from fairlead.cluster.kubernetes.reporting.reports import PodEvent, PodStatus, Report, event_name
from fairlead.cluster.kubernetes.reporting.requests import time_text
from fairlead.cluster.kubernetes.reporting.words import Words
from fairlead.manifest.core.objects import PodObject
from fairlead.model.axes import WorkloadName
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.plan import Decision, LeftPending, Plan, Reserve, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.obstacles import OTHER_SCHEDULER

LaneReport: TypeAlias = tuple[LaneName, Report]
_Codes: TypeAlias = tuple[str, ...]
"""Of a reason and of the claims beside it. There is an Event where they change."""

NEW_NUMBERS_EVERY_MS: Final = 60_000
"""How often the condition of a pod may change where only the numbers of its reason do."""
MOST_MESSAGE_CHARACTERS: Final = 1024  # the API server's bound for the message of an Event

RESERVED: Final = "Reserved"
_SCHEDULING_GATED: Final = "SchedulingGated"
_NOT_SAID: Final = frozenset({OTHER_SCHEDULER, _SCHEDULING_GATED})
"""Reasons of which we say nothing: another scheduler, or the API server, does."""
_NO_NODES: Final[Mapping[PodId, str]] = {}
_NOT_UNSCHEDULABLE: Final = frozenset({HELD_AFTER_FAILURE})
"""Reasons that more nodes would not cure, and that end by themselves: no condition says so."""


class _Judged(msgspec.Struct):
    """What was last said of all pods of a workload that wait."""

    workload: Workload
    decision: LeftPending | Reserve
    codes: _Codes
    nodes: Mapping[PodId, str]
    said_ms: int


class _Wanted(msgspec.Struct, frozen=True):
    """What is to be said of a pod."""

    codes: _Codes
    text: str
    node: str  # to which it is nominated; "": to none
    now_ms: int


class _Said(msgspec.Struct):
    """What the status of a pod says, or is about to say, and its last Event."""

    pod: PodName
    workload: WorkloadName
    message: str = ""
    since: str = ""
    nominated_node: str = ""
    codes: _Codes | None = None  # of the last Event; None: there was none yet
    events: dict[_Codes, PodEvent] = {}  # the last one with the same codes


class WaitingPods:
    """What users were told of pods that wait."""

    def __init__(self, words: Words) -> None:
        """Begin with nothing said; *words* makes the sentences."""
        self._words = words
        self._judged: dict[WorkloadName, _Judged] = {}
        self._said: dict[str, _Said] = {}  # by uid
        self._untold: dict[WorkloadName, LeftPending] = {}  # of the last plan with reasons
        self._nominated: set[str] = set()  # uids of pods whose status names a node
        self._has_looked = False  # for what a former process said

    def reports(
        self, engine: Engine, plan: Plan, decisions: Sequence[Decision]
    ) -> list[LaneReport]:
        """Return what to write at once after *plan*, of which *decisions* are carried out.

        What can wait is kept for `more`.
        """
        if plan.is_cut:
            return []
        if not self._has_looked:
            self._has_looked = True
            self._find_nominated(engine)
        now_ms = plan.taken_ms
        found = list(self._end_nominations(engine, decisions, now_ms))
        waiting: set[WorkloadName] = set()
        untold: dict[WorkloadName, LeftPending] = {}
        is_explained = False
        for each in decisions:
            if isinstance(each, Reserve):
                waiting.add(each.workload)
                if not self._is_told(engine.state, each, now_ms):
                    found += self._of_workload(engine, each, now_ms)
            elif isinstance(each, Wait | Unknown):
                is_explained = True
                waiting.add(each.workload)
                if not self._is_told(engine.state, each, now_ms):
                    untold[each.workload] = each
        if is_explained or not engine.state.has_waiting():
            self._untold = untold
            self._forget_others(waiting)
        return found

    def more(self, engine: Engine, now_ms: int, most: int) -> list[LaneReport]:
        """Return what else to write: about *most* workloads, and no more than *most* reports.

        So sentences are made about as fast as they can be written, of ten thousand workloads too.
        The reports about one workload come together, however many its pods are.
        """
        found: list[LaneReport] = []
        for _ in range(most):
            if not self._untold or len(found) >= most:
                break
            name = next(iter(self._untold))
            found += self._of_workload(engine, self._untold.pop(name), now_ms)
        return found

    def forget(self, uid: str) -> None:
        """Let what was said about a pod count as not said, because it could not be written."""
        said = self._said.pop(uid, None)
        if said is not None:
            self._judged.pop(said.workload, None)

    def _is_told(self, state: ClusterState, decision: LeftPending | Reserve, now_ms: int) -> bool:
        """Return whether all is said about the pods of a decision."""
        if decision.reason.code in _NOT_SAID:
            return True
        known = self._judged.get(decision.workload)
        if known is None or known.workload is not state.workloads.get(decision.workload):
            return False
        if known.decision.reason is decision.reason:  # as where nothing has changed
            return True
        if known.codes != _codes(decision) or known.nodes != _nodes(decision):
            return False
        if now_ms < known.said_ms + NEW_NUMBERS_EVERY_MS:
            return True
        known.said_ms = now_ms
        return known.decision == decision

    def _of_workload(
        self, engine: Engine, decision: LeftPending | Reserve, now_ms: int
    ) -> Iterator[LaneReport]:
        workload = engine.state.workloads.get(decision.workload)
        if workload is None:
            return
        codes, nodes = _codes(decision), _nodes(decision)
        self._judged[workload.name] = _Judged(workload, decision, codes, nodes, now_ms)
        text = bounded(self._words.waiting(decision))
        for pod in _waiting_pods(engine.state, workload):
            found = find_pod(engine, workload, pod)
            if found is not None:
                wanted = _Wanted(codes, text, nodes.get(pod, ""), now_ms)
                yield from self._of_pod(found, workload.name, wanted)

    def _of_pod(
        self, found: PodObject, workload: WorkloadName, wanted: _Wanted
    ) -> Iterator[LaneReport]:
        uid, codes = found.identity.uid, wanted.codes
        said = self._said.get(uid)
        if said is None:
            said = self._said[uid] = _from_object(found, workload)
        if said.codes is None and _has_said(said, wanted):
            said.codes = codes
        said.workload = workload
        is_told = said.codes == codes == (RESERVED,) and said.nominated_node == wanted.node
        message = said.message if is_told or codes[0] in _NOT_UNSCHEDULABLE else wanted.text
        yield from self._status(said, found, message, wanted.node, wanted.now_ms)
        if said.codes != codes:
            said.codes = codes
            said.events[codes] = event = _event(said, wanted)
            yield "waits", event

    def _status(
        self, said: _Said, found: PodObject, message: str, node: str, now_ms: int
    ) -> Iterator[LaneReport]:
        """Yield the status of a pod, if it is to change; promptly where rules depend on it."""
        is_nomination = node != said.nominated_node
        if message == said.message and not is_nomination:
            return
        if not said.message:
            said.since = time_text(now_ms)
        said.message, said.nominated_node = message, node
        uid = said.pod.uid
        if node:
            self._nominated.add(uid)
        else:
            self._nominated.discard(uid)
        report = PodStatus(
            pod=said.pod,
            resource_version=found.identity.resource_version,
            message=message,
            since=said.since,
            nominated_node=node,
        )
        yield ("prompt" if is_nomination else "waits"), report

    def _end_nominations(
        self, engine: Engine, decisions: Iterable[Decision], now_ms: int
    ) -> Iterator[LaneReport]:
        """Yield a status without a node for each pod that waits and is nominated no more."""
        if not self._nominated:
            return
        nominated = {
            place.pod
            for each in decisions
            if isinstance(each, Reserve)
            for place in each.placements
        }
        for uid in sorted(self._nominated - nominated):
            said = self._said.get(uid)
            found = None if said is None else _known_pod(engine, said.pod)
            if said is None or found is None or found.node is not None:
                self._nominated.discard(uid)
            elif not _has_place(engine.state, said.workload, PodId(uid)):
                self._judged.pop(said.workload, None)
                yield from self._status(said, found, said.message, "", now_ms)

    def _find_nominated(self, engine: Engine) -> None:
        """Take over the nominations that a former process wrote. Cost: all pods, once."""
        pods = engine.translator.mirror.of(PodObject).values()
        nominated = {
            each.identity.uid: each for each in pods if each.nominated_node and not each.node
        }
        if not nominated:
            return
        for name, workload in engine.state.workloads.items():
            if workload.obstacle is not None and workload.obstacle.code in _NOT_SAID:
                continue
            for pod in nominated.keys() & set(workload.pods()):
                self._said[pod] = _from_object(nominated[pod], name)
                self._nominated.add(pod)

    def _forget_others(self, waiting: set[WorkloadName]) -> None:
        """Forget what was said of workloads of which no pod waits any more."""
        if len(self._judged) > len(waiting) or len(self._said) > len(waiting):
            self._judged = {name: each for name, each in self._judged.items() if name in waiting}
            self._said = {
                uid: each
                for uid, each in self._said.items()
                if each.workload in waiting or uid in self._nominated
            }


def find_pod(engine: Engine, workload: Workload, pod: PodId) -> PodObject | None:
    """Return the object of a pod of *workload*; None: it is gone, or another one has its name."""
    return _known_pod(engine, PodName(workload.namespace, workload.pod_name(pod), pod))


def _known_pod(engine: Engine, pod: PodName) -> PodObject | None:
    found = engine.translator.mirror.of(PodObject).get(f"{pod.namespace}/{pod.name}")
    return found if found is not None and found.identity.uid == pod.uid else None


def _from_object(found: PodObject, workload: WorkloadName) -> _Said:
    """Return what a former process said about a pod, as far as its status shows it."""
    said = found.unschedulable
    return _Said(
        pod=PodName(found.namespace, found.name, found.identity.uid),
        workload=workload,
        message=said.message if said else "",
        since=said.since if said else "",
        nominated_node=found.nominated_node or "",
    )


def _has_said(said: _Said, wanted: _Wanted) -> bool:
    """Return whether a former process has said what is wanted, with an Event.

    Of a reservation it may have named victims that are leaving by now.
    """
    is_reserved = wanted.codes == (RESERVED,) and said.nominated_node == wanted.node
    return said.message == wanted.text or (is_reserved and said.message != "")


def _event(said: _Said, wanted: _Wanted) -> PodEvent:
    before, now_ms = said.events.get(wanted.codes), wanted.now_ms
    if before is not None:
        again = before.count + 1
        return msgspec.structs.replace(before, message=wanted.text, at_ms=now_ms, count=again)
    return PodEvent(
        pod=said.pod,
        name=event_name(said.pod, "FailedScheduling", *wanted.codes, str(now_ms)),
        type="Warning",
        reason="FailedScheduling",
        message=wanted.text,
        first_ms=now_ms,
        at_ms=now_ms,
    )


def _codes(decision: LeftPending | Reserve) -> _Codes:
    """Return what an Event is written for once.

    A reservation is that, whether victims are asked to leave or leave already.
    """
    match decision:
        case Wait():
            claims = [part for each in decision.claims for part in (each.action, each.reason.code)]
            return decision.reason.code, *claims
        case Unknown():
            return (decision.reason.code,)
        case Reserve():
            return (RESERVED,)


def _nodes(decision: LeftPending | Reserve) -> Mapping[PodId, str]:
    if not isinstance(decision, Reserve):
        return _NO_NODES
    return {each.pod: each.node for each in decision.placements if each.node is not None}


def _waiting_pods(state: ClusterState, workload: Workload) -> list[PodId]:
    """Return the pods that have no place and may have one: a gate is the business of its owner."""
    run = state.runs.get(workload.name)
    placed = run.pods if run is not None else {}
    return [
        pod
        for each in workload.pod_sets
        if not each.gated
        for pod in each.ids()
        if pod not in placed or placed[pod].phase == "reserved"
    ]


def _has_place(state: ClusterState, name: WorkloadName, pod: PodId) -> bool:
    run = state.runs.get(name)
    return run is not None and pod in run.pods and run.pods[pod].phase != "reserved"


def bounded(text: str) -> str:
    """Return *text* as long as the message of an Event may be."""
    if len(text) <= MOST_MESSAGE_CHARACTERS:
        return text
    return text[: MOST_MESSAGE_CHARACTERS - 1] + "…"
