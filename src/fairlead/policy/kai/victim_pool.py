"""The jobs that hold something and could be asked to give it up, leaf by leaf.

A search looks at the head of each line and seldom far beyond, and there are many searches in a
cycle. So a line is made once and kept until something in that leaf changes.
"""

from collections.abc import Callable, Mapping, Set
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.node_books import PodKey
from fairlead.model.run import Placed, Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.gang import Fullness, Gang
from fairlead.policy.kai.pending_jobs import JobKey


class Candidate(NamedTuple):
    """A job that may give way, with its pods that have a place, by name, and what each costs."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    gang: Gang
    costs: Mapping[PodId, Amounts]  # its queue, on the quota axes
    nodes: Mapping[PodId, str | None]
    nothing: Amounts  # what a pod counts for in the order of queues that has only a reservation
    reserved: Set[PodId]

    def first_to_go(self) -> tuple[PodId, ...]:
        """Return what the job gives up first: one pod that it can spare, else all it has."""
        if len(self.pods) == 1:
            return self.pods
        spare = self.gang.spare(self.pods)
        return self.pods if spare is None else (spare,)

    def cost(self) -> Amounts:
        """Return what its pods that run cost its queue together; a reservation costs nothing yet.

        So KAI orders queues, although it charges them for reservations.
        """
        if len(self.pods) == 1 and not self.reserved:
            return self.costs[self.pods[0]]
        costs = [self.costs[pod] for pod in self.pods if pod not in self.reserved]
        return tuple(map(sum, zip(*costs, strict=True))) if costs else self.nothing


Entry: TypeAlias = tuple[JobKey, Candidate]

Known: TypeAlias = tuple[Mapping[PodId, Placed], Entry | None]
"""Where the pods of a job were when it was looked at, and what it is in the line."""

NOT_KNOWN: Final[Known] = ({}, None)


class VictimPool:
    """Preemptible jobs with a place, in the order of service: the last would give way first."""

    def __init__(
        self,
        state: ClusterState,
        gang_of: Callable[[WorkloadName], Gang],
        is_settled: Callable[[PodKey], bool] | None = None,
    ) -> None:
        """Look at nothing yet. Jobs with a pod that *is_settled* says so of are not asked.

        What it says of a pod must stay the same while the pods of that job are where they are.
        """
        self._state = state
        self._gang_of = gang_of
        self._is_settled = is_settled
        self._lines: dict[QueueName, list[Entry]] = {}
        self._lowest: dict[QueueName, int | None] = {}
        self._known: dict[WorkloadName, Known] = {}
        self.settled: set[WorkloadName] = set()  # who was found to be so

    def line(self, queue: QueueName) -> list[Entry]:
        """Return the line of a leaf, which nobody else may change.

        Cost: nothing until something changes in the leaf; then a glance at each of its workloads.
        """
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = self._made(queue)
        return line

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those in the line of a leaf; None if nobody is there.

        Cost: once, a short look at its workloads; the line itself is not made for it.
        """
        if queue not in self._lowest:
            state = self._state
            running = [state.workloads[name] for name in state.queued(queue) if name in state.runs]
            priorities = [each.priority for each in running if each.preemptible]
            self._lowest[queue] = min(priorities, default=None)
        return self._lowest[queue]

    def forget(self, queue: QueueName) -> None:
        """Take notice that something changed in *queue*."""
        self._lines.pop(queue, None)
        self._lowest.pop(queue, None)

    def entry(self, candidate: Candidate) -> Entry:
        """Return a candidate with its place in the order of service, by the pods it still has."""
        workload = self._state.workloads[candidate.job]
        spare = len(candidate.pods) - candidate.gang.minimum()
        fullness = Fullness.AT if spare == 0 else Fullness.ABOVE if spare > 0 else Fullness.BELOW
        key = (-workload.priority, fullness, workload.created_ms, workload.name)
        return key, candidate

    def _made(self, queue: QueueName) -> list[Entry]:
        """Line up a leaf; of its jobs, only those are looked at whose pods were elsewhere before.

        Also whether a pod is settled changes only with its place.
        """
        runs, known = self._state.runs, self._known
        entries = []
        for name in self._state.queued(queue):
            run = runs.get(name)
            if run is None:
                continue
            pods, entry = known.get(name, NOT_KNOWN)
            if pods != run.pods:
                entry = self._entry_of(name, run)
                known[name] = (dict(run.pods), entry)
            if entry is not None:
                entries.append(entry)
        entries.sort(key=place_in_line)
        return entries

    def _entry_of(self, name: WorkloadName, run: Run) -> Entry | None:
        """Return a job with its pods that may be asked; None if there are none."""
        workload = self._state.workloads[name]
        if not workload.preemptible:
            return None
        pods = [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]
        if not pods:
            return None
        # Also for the sake of one pod: if the others had to go, it would be left of a gang alone.
        if self._is_settled is not None and any(self._is_settled((name, pod)) for pod in pods):
            self.settled.add(name)
            return None
        ordered = tuple(pods if len(pods) == 1 else sorted(pods, key=workload.pod_name))
        costs = {pod: run.charge(pod) for pod in ordered}
        nodes = {pod: run.pods[pod].node for pod in ordered}
        return self.entry(
            Candidate(
                job=name,
                pods=ordered,
                gang=self._gang_of(name),
                costs=costs,
                nodes=nodes,
                nothing=self._state.axes.zero,
                reserved=frozenset(run.reserved),
            )
        )


def place_in_line(entry: Entry) -> JobKey:
    """Return what entries are ordered by."""
    return entry[0]
