"""What a cycle has done to each pod, and why, until its decisions are made.

Later actions may undo what earlier ones did, so decisions are made at the end: from the place of a
pod when the cycle began, its place now, and the last act that touched it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import (
    Decision,
    Evict,
    FailedClaim,
    LeftPending,
    Move,
    Reason,
    Reserve,
    Start,
    Wait,
)
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState, pods_on_node
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.obstacles import left_pending

Fate: TypeAlias = Literal["evict", "move", "reserve", "start"]
TAKEN_AGAIN: Final = "TakenAgain"
_FATES: Final[tuple[Fate, ...]] = ("evict", "move", "reserve", "start")
_ORDER: Final[dict[Fate, int]] = {fate: number for number, fate in enumerate(_FATES)}


class Act(NamedTuple):
    """Why something was done, and for which job (None: for the job itself)."""

    reason: Reason
    beneficiary: WorkloadName | None = None
    waits_for: tuple[WorkloadName, ...] | None = None  # None: the terminating pods on its nodes


class CycleRecord:
    """Acts in their order, and the last one of every pod."""

    def __init__(self, state: ClusterState) -> None:
        """Begin with nothing done to *state*."""
        self._state = state
        self._before: dict[WorkloadName, dict[PodId, Placed]] = {}
        self._touched: dict[QueueName, list[WorkloadName]] = {}
        self._acts: list[Act] = []
        self._last: dict[PodKey, int] = {}
        self._waits: dict[WorkloadName, tuple[int, Reason]] = {}
        self._failed: dict[WorkloadName, list[FailedClaim]] = {}

    def touch(self, job: WorkloadName) -> None:
        """Remember the places of the pods of *job*, before anything is done to it."""
        if job not in self._before:
            run = self._state.runs.get(job)
            self._before[job] = dict(run.pods) if run else {}
            self._touched.setdefault(self._state.workloads[job].queue, []).append(job)

    def touched(self) -> Mapping[QueueName, Sequence[WorkloadName]]:
        """Return the jobs to which anything may have been done in this cycle, by queue."""
        return self._touched

    def is_settled(self, pod: PodKey) -> bool:
        """Return whether a pod got its present place in this cycle."""
        before = self._before.get(pod[0])
        return before is not None and before.get(pod[1]) != self._place(pod)

    def act(self, act: Act, pods: Sequence[PodKey]) -> None:
        """Record what was done to *pods*, all of jobs that were touched."""
        number = len(self._acts)
        self._acts.append(act)
        for pod in pods:
            self._last[pod] = number

    def wait(self, job: WorkloadName, reason: Reason) -> None:
        """Record why *job* was refused; the last reason counts."""
        self._acts.append(Act(reason))
        self._waits[job] = (len(self._acts) - 1, reason)

    def attempt_failed(self, job: WorkloadName, failed: FailedClaim) -> None:
        """Record that *job* could not take a place from others."""
        self._failed.setdefault(job, []).append(failed)

    def refusals(self) -> dict[WorkloadName, Reason]:
        """Return why jobs were refused, also those that got a place later."""
        return {job: reason for job, (_, reason) in self._waits.items()}

    def undone(self) -> list[PodKey]:
        """Return the pods that got a place in this cycle and lost it again."""
        return [
            (job, pod)
            for job, pod in self._last
            if pod not in self._before[job] and self._place((job, pod)) is None
        ]

    def decisions(self, *, explain: bool = True) -> list[Decision]:
        """Return the decisions, in the order of the acts; within one, room is made first.

        Without *explain* there is no `LeftPending`; with it, a job waits after what was done for
        its other pods.
        """
        if not self._last and not explain:
            return []  # as in most cycles
        fates: dict[tuple[int, int, WorkloadName], list[PodId]] = {}
        for (job, pod), number in self._last.items():
            fate = self._fate((job, pod))
            if fate is not None:
                fates.setdefault((number, _ORDER[fate], job), []).append(pod)
        made: list[tuple[tuple[int, int], Decision]] = [
            ((number, order), self._decision(_FATES[order], job, pods, self._acts[number]))
            for (number, order, job), pods in sorted(fates.items())
        ]
        waits = (*self._waiting(), *self._undone()) if explain else ()
        made += [((number, len(_ORDER)), wait) for number, wait in waits]
        return [decision for _, decision in sorted(made, key=lambda each: each[0])]

    def _undone(self) -> Iterator[tuple[int, Wait]]:
        """Yield a `Wait` for jobs with a pod that got a place and lost it, unless they have one."""
        last = {job: self._last[job, pod] for job, pod in self.undone()}
        for job, number in last.items():
            if job in self._waits:
                continue
            winner = self._acts[number].beneficiary
            names = () if winner is None else (winner,)
            queue = self._state.workloads[job].queue
            reason = Reason(code=TAKEN_AGAIN, queue=queue, names=names)
            yield number, Wait(workload=job, reason=reason)

    def _fate(self, pod: PodKey) -> Fate | None:
        before, now = self._before[pod[0]].get(pod[1]), self._place(pod)
        if before is None:
            if now is None:
                return None
            return "start" if now.is_running() else "reserve"
        if now is None:
            return "evict"
        return "move" if now.phase == "reserved" and before.is_running() else None

    def _place(self, pod: PodKey) -> Placed | None:
        run = self._state.runs.get(pod[0])
        return run.pods.get(pod[1]) if run else None

    def _decision(self, fate: Fate, job: WorkloadName, pods: Sequence[PodId], act: Act) -> Decision:
        workload = self._state.workloads[job]
        path, pods = tuple(self._state.path(workload.queue)), workload.pod_sets.in_order(pods)
        if fate == "evict":
            return Evict(
                workload=job, pods=tuple(pods), beneficiary=act.beneficiary, reason=act.reason
            )
        places = tuple([self._placement(job, pod) for pod in pods])
        match fate:
            case "move":
                before = self._before[job]
                return Move(
                    workload=job,
                    origins=tuple(Placement(p, before[p].node, before[p].share) for p in pods),
                    placements=places,
                    beneficiary=act.beneficiary,
                    reason=act.reason,
                )
            case "reserve":
                nodes, waits_for = {place.node for place in places}, act.waits_for
                if waits_for is None:
                    waits_for = tuple(self._leaving(nodes, job))
                return Reserve(
                    workload=job,
                    placements=places,
                    charged=path,
                    waits_for=waits_for,
                    waits_for_foreign=self._foreign_leaving(nodes),
                    reason=act.reason,
                )
            case "start":
                return Start(workload=job, placements=places, charged=path, reason=act.reason)

    def _placement(self, job: WorkloadName, pod: PodId) -> Placement:
        placed = self._state.runs[job].pods[pod]
        return Placement(pod, placed.node, placed.share)

    def _leaving(self, nodes: set[str | None], job: WorkloadName) -> list[WorkloadName]:
        """Return the other workloads with a terminating pod on one of *nodes*."""
        found = {
            name
            for node in nodes
            if node is not None
            for (name, pod), is_leaving in pods_on_node(self._state, node)
            if is_leaving and self._has_run((name, pod))
        }
        return sorted(found - {job})

    def _foreign_leaving(self, nodes: set[str | None]) -> tuple[PodId, ...]:
        """Return the terminating foreign pods on *nodes*, by name."""
        books = self._state.books
        leaving = [books.foreign[pod] for pod in books.leaving_foreign]
        found = [pod for pod in leaving if pod.node in nodes]
        return tuple([pod.id for pod in sorted(found, key=lambda pod: pod.name)])

    def _has_run(self, pod: PodKey) -> bool:
        """Return whether a pod had its place before the cycle, and not only during it."""
        before = self._before.get(pod[0])
        return before is None or pod[1] in before

    def _waiting(self) -> Iterator[tuple[int, LeftPending]]:
        """Yield a `LeftPending` for refused jobs with a pod that never had a place."""
        for job, (number, reason) in self._waits.items():
            run = self._state.runs.get(job)
            placed = set(run.pods) if run else set()
            known = placed | set(self._before.get(job, ()))
            if any(pod not in known for pod in self._state.workloads[job].pods()):
                last = [self._last[job, pod] for pod in placed if (job, pod) in self._last]
                number = max([number, *last])  # after what was done for its other pods
                failed = tuple(self._failed.get(job, ()))
                yield number, left_pending(self._state.workloads[job], reason, failed)
