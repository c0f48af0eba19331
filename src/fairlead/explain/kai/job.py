"""Why a job starts, waits or is evicted under the KAI rules: gates, nodes, claims."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.explain.jobs.answer import TurnBefore, claim_sections, job_answer, turns_section
from fairlead.explain.jobs.nodes import NodeStanding, node_standings, node_table, room_document
from fairlead.explain.plan.pods import places_section
from fairlead.explain.plan.report import decision_documents
from fairlead.explain.text.amounts import AxisNumbers, number_text
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Tally, Unknown
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import (
    Contender,
    KaiCycle,
    Ratio,
    deciding_rule,
    new_cycle,
    planned_restraint,
    precedes,
)
from fairlead.policy.kai.settings import KaiSettings

Phrase = Callable[[str, Contender, str, Contender], str]


def why_before(cycle: KaiCycle, first: WorkloadName, other: WorkloadName) -> str:
    """Return why it is the turn of *first* and not of *other*, which waits as well."""
    if cycle.may_find_room(first) and not cycle.may_find_room(other):
        return f"it may find capacity, and {other} cannot"
    queue, other_queue = (cycle.state.workloads[name].queue for name in (first, other))
    if queue == other_queue:
        return _inside_queue(cycle, first, other)
    sides = _below_common_ancestor(cycle, queue, other_queue)
    one, two = map(cycle.tournament.contender, sides)
    if two is None:
        return f"jobs of {sides[0]} may find capacity, and no job of {sides[1]} can"
    if one is None or not precedes(one, two):
        return "the order of other queues decided between them"  # before is not transitive
    phrase = _PHRASES[deciding_rule(one, two)]
    return phrase(sides[0], one, sides[1], two)


def _inside_queue(cycle: KaiCycle, first: WorkloadName, other: WorkloadName) -> str:
    one, two = (cycle.state.workloads[name] for name in (first, other))
    if one.priority != two.priority:
        return f"higher priority in the same queue: {one.priority} against {two.priority}"
    full, other_full = (
        cycle.jobs.gang(name).fullness(cycle.state.runs.get(name)) for name in (first, other)
    )
    if full != other_full:
        return "further below its minimum, in the same queue"
    if one.created_ms != two.created_ms:
        return "older, in the same queue"
    return "first by name, in the same queue"


def _below_common_ancestor(
    cycle: KaiCycle, one: QueueName, two: QueueName
) -> tuple[QueueName, QueueName]:
    """Return the two queues, on the way to *one* and to *two*, that are siblings."""
    up, other_up = (cycle.state.path(queue)[::-1] for queue in (one, two))
    return next((a, b) for a, b in zip(up, other_up, strict=False) if a != b)


def _shares(one: Ratio, two: Ratio) -> str:
    return f"{number_text(Fraction(*one))} against {number_text(Fraction(*two))}"


_PHRASES: Final[dict[int, Phrase]] = {
    1: lambda a, _one, b, _two: f"{a} is not over its fair share, and {b} is",
    2: lambda a, _one, b, _two: f"{a} stays within its quota with its next job, {b} does not",
    3: lambda a, one, b, two: (
        f"{a} has a higher priority than {b}: {-one.precedence[2]} against {-two.precedence[2]}"
    ),
    4: lambda _a, _one, b, _two: f"{b} would use a resource of which it may use nothing",
    5: lambda a, one, b, two: (
        f"{a} has a smaller dominant share than {b} with its next job: "
        + _shares(one.share_with_job, two.share_with_job)
    ),
    6: lambda a, one, b, two: (
        f"{a} has a smaller dominant share than {b}: " + _shares(one.share, two.share)
    ),
    7: lambda a, _one, b, _two: f"{a} is entitled to less than {b}",
    8: lambda a, one, b, two: (
        f"{a} is older than {b}" if one.age[0] != two.age[0] else f"{a} comes before {b} by name"
    ),
}


class GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue on the path and one axis that the job asks for.

    ``is_within_quota`` is None where the quota is no gate, because the job can be preempted.
    """

    queue: QueueName
    numbers: AxisNumbers
    is_within_limit: bool
    is_within_quota: bool | None


class OwnTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What was weighed when the job had its last turn."""

    turn: int
    pods: tuple[str, ...]  # that were to start together
    gates: tuple[GateLine, ...]
    nodes: tuple[Tally, ...]  # what they are to the first of those pods
    standings: tuple[NodeStanding, ...]  # the same, node by node


def turns_of(cycle: KaiCycle, job: WorkloadName) -> list[int]:
    """Let *cycle* happen and return the numbers of the turns that *job* has in it, from 1.

    Its state must be on trial.
    """
    turns: list[WorkloadName] = []
    cycle.decisions(turns.append)
    return [number for number, name in enumerate(turns, start=1) if name == job]


class JobWatch:
    """Listens to a cycle, turn by turn, decision by decision."""

    def __init__(self, cycle: KaiCycle, job: WorkloadName, turns: Sequence[int]) -> None:
        """Watch for *job*, which will have these *turns* in *cycle*."""
        self.before: list[TurnBefore] = []
        self.own: OwnTurn | None = None
        self.decisions: list[Decision] = []
        self.victims: list[Evict | Move] = []  # what others do for its sake
        self._cycle = cycle
        self._job = job
        self._turn_number = 0
        self._last = max(turns, default=0)

    def run(self) -> None:
        """Let the cycle happen; its state must be on trial."""
        for decision in self._cycle.decisions(self._turn):
            if decision.workload == self._job:
                self.decisions.append(decision)
            elif isinstance(decision, Evict | Move) and decision.beneficiary == self._job:
                self.victims.append(decision)

    def _turn(self, job: WorkloadName) -> None:
        self._turn_number += 1
        if self._turn_number == self._last:
            self.own = self._weighed()
        elif self._turn_number < self._last and job != self._job:
            self.before.append(
                TurnBefore(
                    turn=self._turn_number,
                    workload=job,
                    queue=self._cycle.state.workloads[job].queue,
                    why=why_before(self._cycle, job, self._job),
                )
            )

    def _weighed(self) -> OwnTurn:
        state, finder = self._cycle.state, self._cycle.context.finder
        workload = state.workloads[self._job]
        pods = self._cycle.jobs.next_pods(self._job)
        first = workload.pod_sets.set_index[pods[0]]
        return OwnTurn(
            turn=self._turn_number,
            pods=tuple(workload.pod_name(pod) for pod in pods),
            gates=tuple(self._gates()),
            nodes=finder.tallies(workload, first),
            standings=node_standings(state, finder, workload, first),
        )

    def _gates(self) -> Iterator[GateLine]:
        cycle, state = self._cycle, self._cycle.state
        workload = state.workloads[self._job]
        request = cycle.jobs.request(self._job)
        for name in state.path(workload.queue):
            queue, sums = state.queues[name], state.sums[name]
            for at, more in enumerate(request):
                if more <= 0:
                    continue
                limit, quota = queue.ceiling[at], queue.guaranteed[at]
                fits_quota = quota is None or sums.non_preemptible[at] + more <= quota
                yield GateLine(
                    queue=name,
                    numbers=AxisNumbers(
                        state.axes.axes[at],
                        {
                            "allocated": sums.allocated[at],
                            "nonPreemptible": sums.non_preemptible[at],
                            "request": more,
                            "limit": limit,
                            "quota": quota,
                            "fairShare": cycle.context.shares[name].fair_share[at],
                        },
                    ),
                    is_within_limit=limit is None or sums.allocated[at] + more <= limit,
                    is_within_quota=None if workload.preemptible else fits_quota,
                )


def explain_kai_job(
    state: ClusterState, settings: KaiSettings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return all that one cycle at *now_ms* weighs for *job*; *state* is left as it was."""
    restraint = planned_restraint(state, settings, now_ms)
    with state.trial():
        turns = turns_of(new_cycle(state, settings, now_ms, restraint), job)
    with state.trial():
        watch = JobWatch(new_cycle(state, settings, now_ms, restraint), job, turns)
        watch.run()
    own = watch.own
    sections = [places_section(state, job)] if job in state.runs else []
    if own is not None:
        sections += [_order(len(turns), own, watch.before), _gates(own)]
        if not any(isinstance(each, Unknown) for each in watch.decisions):
            sections.append(node_table(own.pods[0], own.standings, own.nodes))
    sections += claim_sections(state, watch.decisions, watch.victims)
    return Explanation(
        answer=job_answer(state, job, watch.decisions),
        sections=tuple(sections),
        data={
            "job": job,
            "queue": state.workloads[job].queue,
            "decisions": decision_documents(state, watch.decisions),
            "victims": decision_documents(state, watch.victims),
            "turns": len(turns),
            "turn": _turn_document(own),
            "before": watch.before,
        },
    )


def _order(turns: int, own: OwnTurn, before: list[TurnBefore]) -> Section:
    title = f"Its turn was number {own.turn}"
    if turns > 1:
        title = f"It had {turns} turns, the last was number {own.turn}"
    return turns_section(title, before)


def _gates(own: OwnTurn) -> Section:
    head = ("QUEUE", "RESOURCE", "GATES", "ALLOCATED", "REQUEST", "LIMIT", "QUOTA", "FAIR SHARE")
    pods = f"{len(own.pods)} pods together" if len(own.pods) > 1 else "1 pod"
    return Section(
        title=f"Limits and quotas of its queue and the queues above, for {pods}",
        table=(head, *map(_gate_row, own.gates)),
        words=3,
    )


def _gate_row(line: GateLine) -> tuple[str, ...]:
    refused = []
    if not line.is_within_limit:
        refused.append("over the limit")
    if line.is_within_quota is False:
        (held,) = line.numbers.texts("nonPreemptible")
        refused.append(f"over the quota, of which {held} is not preemptible")
    texts = line.numbers.texts("allocated", "request", "limit", "quota", "fairShare")
    return (line.queue, str(line.numbers.axis), " and ".join(refused) or "pass", *texts)


def _turn_document(own: OwnTurn | None) -> dict[str, object] | None:
    """Return the turn as programs read it; None where the job had none."""
    if own is None:
        return None
    return {
        "turn": own.turn,
        "pods": own.pods,
        "gates": [_gate_document(line) for line in own.gates],
        "nodes": own.nodes,
        "rooms": [room_document(standing) for standing in own.standings],
    }


def _gate_document(line: GateLine) -> dict[str, object]:
    return {
        "queue": line.queue,
        **line.numbers.document(),
        "withinLimit": line.is_within_limit,
        "withinQuota": line.is_within_quota,
    }
