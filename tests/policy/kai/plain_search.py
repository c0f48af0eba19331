"""The search for victims, written plainly: every scenario is made, each from scratch.

It can take the place of `VictimSolver`. Nothing is remembered between scenarios, none is left out
for want of room, and every evicted job has a turn, whether or not it can find a place. Eviction
order and service order are those of the policy.
"""

from collections.abc import Callable, Sequence

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Placement,
    WorkloadDisplaced,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.fair_share.capacity import refusal
from fairlead.policy.kai.victims.candidates import Candidate, EvictionOrder, VictimGroup, charge_of
from fairlead.policy.kai.victims.reschedule import ServiceOrder
from fairlead.policy.kai.victims.solver import Scenario, Validator


class PlainSearch:
    """Searches for one preemptor; if it succeeds, the state holds what it found."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        line: ServiceOrder,
        preemptor: WorkloadName,
        pods: Sequence[PodId],
        *,
        now_ms: int,
        faithful: bool,
        touch: Callable[[WorkloadName], None],
        new_bounds: object,  # noqa: ARG002  # they are not asked, every scenario is made
    ) -> None:
        self.state = state
        self.finder = finder
        self.line = line
        self.preemptor = preemptor
        self.pods = tuple(sorted(pods, key=state.workloads[preemptor].pod_name))
        self.now_ms = now_ms
        self.faithful = faithful
        self.touch = touch
        sets = state.workloads[preemptor].pod_sets
        self.base = finder.nodes_with_room([sets.of(pod) for pod in pods])
        touch(preemptor)

    def run(
        self,
        line_up: Callable[[], EvictionOrder],
        judge_for: Callable[[Sequence[PodId]], Validator],
    ) -> Scenario | None:
        """Solve one pod after the other; then make the try that stood once more, for good."""
        kept: list[VictimGroup] = []
        scenario: Scenario | None = None
        for count in range(1, len(self.pods) + 1):
            pods = self.pods[:count]
            scenario = self.solve(kept, pods, line_up(), judge_for(pods))
            if scenario is None:
                return None
            gone = scenario.lost | scenario.moved
            kept = [group for group in scenario.considered if gone & set(group.members())]
        assert scenario is not None
        assert self.attempt(scenario.evicted, scenario.considered, self.pods) == scenario
        return scenario

    def solve(
        self,
        kept: list[VictimGroup],
        pods: tuple[PodId, ...],
        line: EvictionOrder,
        judge: Validator,
    ) -> Scenario | None:
        if kept:
            scenario = self.on_trial(kept, kept, pods)
            if scenario is not None and judge(scenario):
                return scenario
        found: list[VictimGroup] = []
        while (candidate := line.pop()) is not None:
            group = next_group(candidate, kept, line)
            if group is None:
                continue
            found.append(group)
            for node in sorted({node for node in group.nodes.values() if node is not None}):
                scenario = self.on_trial([*kept, *with_pods_on(node, found)], [*kept, *found], pods)
                if scenario is not None and judge(scenario):
                    return scenario
                if scenario is not None:
                    break
        return None

    def on_trial(
        self,
        asked: Sequence[VictimGroup],
        considered: Sequence[VictimGroup],
        pods: tuple[PodId, ...],
    ) -> Scenario | None:
        with self.state.trial():
            return self.attempt(asked, considered, pods)

    def attempt(
        self,
        asked: Sequence[VictimGroup],
        considered: Sequence[VictimGroup],
        pods: tuple[PodId, ...],
    ) -> Scenario | None:
        """Evict *asked* and place all jobs again; None if the preemptor finds no place."""
        victims = {group.job for group in asked}
        left = {pod for group in asked for pod in group.members()}
        before = {pod: placed for job in victims for pod, placed in self.placed(job).items()}
        for group in asked:
            self.leave(group, before)
        nodes = self.base | {node for pod in left if (node := before[pod].node) is not None}
        if not self.place_all(victims, pods, nodes, {pod: before[pod] for pod in left}):
            return None
        after = {pod: placed for job in victims for pod, placed in self.placed(job).items()}
        return Scenario(
            evicted=tuple(asked),
            lost=left - set(after),
            moved={pod for pod in left & set(after) if place(before[pod]) != place(after[pod])},
            joined=set(after) - set(before),
            considered=tuple(considered),
        )

    def leave(self, group: VictimGroup, before: dict[PodKey, Placed]) -> None:
        self.touch(group.job)
        for pod in group.pods:
            is_promised = before[group.job, pod].phase == "reserved" and not self.faithful
            event = WorkloadStopped if is_promised else WorkloadDisplaced
            self.state.apply(event(workload=group.job, pods=(pod,)))

    def place_all(
        self,
        victims: set[WorkloadName],
        pods: tuple[PodId, ...],
        nodes: set[str],
        left: dict[PodKey, Placed],
    ) -> bool:
        """Give every job a turn; whether the preemptor has its place in the end."""
        jobs, tournament = self.line(pods, victims)
        is_placed = False
        had_turn: set[WorkloadName] = set()
        while (queue := tournament.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None
            if job not in had_turn and job in {self.preemptor, *victims}:
                had_turn.add(job)
                if self.place(job, jobs.next_pods(job), nodes, left):
                    is_placed = is_placed or job == self.preemptor
                elif job == self.preemptor:
                    return False
            jobs.drop_first(queue)
            tournament.renew(queue)
        return is_placed

    def place(
        self, job: WorkloadName, pods: Sequence[PodId], nodes: set[str], left: dict[PodKey, Placed]
    ) -> bool:
        """Place *pods* on *nodes*, all of them or none."""
        state = self.state
        workload = state.workloads[job]
        path, request = state.path(workload.queue), charge_of(state, job, pods)
        if refusal(state, path, request, preemptible=workload.preemptible) is not None:
            return False
        mark = state.mark()
        for pod in pods:
            spot = self.finder.find(workload, workload.pod_sets.set_index[pod], nodes)
            if spot is None:
                state.roll_back(mark)
                return False
            self.settle(job, Placement(pod, spot.node, spot.share), left.get((job, pod)))
        state.keep(mark)
        return True

    def settle(self, job: WorkloadName, there: Placement, before: Placed | None) -> None:
        """Where it ran it runs on; elsewhere it has a reservation."""
        if before is not None and before.phase == "running" and place(before) == place(there):
            started_ms = before.started_ms
            self.state.apply(WorkloadStarted(workload=job, placements=(there,), at_ms=started_ms))
        else:
            self.state.apply(WorkloadReserved(workload=job, placements=(there,), at_ms=self.now_ms))

    def placed(self, job: WorkloadName) -> dict[PodKey, Placed]:
        run = self.state.runs.get(job)
        return {(job, pod): placed for pod, placed in run.pods.items()} if run else {}


def next_group(
    candidate: Candidate, kept: Sequence[VictimGroup], line: EvictionOrder
) -> VictimGroup | None:
    """Return what a candidate gives up first, unless that is kept; with the rest it stands on."""
    group = VictimGroup(candidate.job, candidate.evicted_first(), candidate.costs, candidate.nodes)
    of_kept = {pod for each in kept for job, pod in each.members() if job == candidate.job}
    is_kept = not of_kept.isdisjoint(group.pods)
    gone = of_kept if is_kept else set(group.pods)
    rest = tuple([pod for pod in candidate.pods if pod not in gone])
    if rest:
        line.put_back(candidate._replace(pods=rest))
    return None if is_kept else group


def with_pods_on(node: str, found: Sequence[VictimGroup]) -> list[VictimGroup]:
    """Return all groups of those jobs that have a pod of a group on *node*."""
    jobs = {group.job for group in found if node in [group.nodes[pod] for pod in group.pods]}
    return [group for group in found if group.job in jobs]


def place(one: Placed | Placement) -> tuple[object, ...]:
    return one.node, one.share
