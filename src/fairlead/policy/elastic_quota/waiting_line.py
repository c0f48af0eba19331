"""Who waits, by what they want and of which kind they are, each kind in the order of turns."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.model.accounting.pod_sums import count_by_set
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import ElasticPods, Workload
from fairlead.policy.elastic_quota.asker import turn_of
from fairlead.policy.elastic_quota.readiness import Readiness
from fairlead.policy.elastic_quota.wants import Wants

Turn: TypeAlias = tuple[int, int, str]  # ends with the name
Hope: TypeAlias = Literal["may claim", "may fit", "over max"]
"""May take from others; may start where pool and nodes have room; neither, whatever they have."""


class Kind(NamedTuple):
    """All about a workload that decides what comes of its turn, but for when that is."""

    queue: QueueName | None
    namespace: str
    priority: int
    never_preempts: bool
    needs_others: bool  # some pod must be near pods that are there
    wants: Wants
    details: Hashable


class KindLine:
    """Workloads of one kind that wait."""

    def __init__(self, kind: Kind) -> None:
        """Begin with nobody of *kind*."""
        self.kind: Final = kind
        self.turns: Final[list[Turn]] = []
        self.hope: Hope = "may claim"

    def after(self, turn: Turn | None) -> Turn | None:
        """Return who has its turn next after *turn*; None: at first."""
        at = 0 if turn is None else bisect_right(self.turns, turn)
        return self.turns[at] if at < len(self.turns) else None


class SameWants:
    """Lines of those who want the same, of whatever queue they are."""

    def __init__(self, wants: Wants) -> None:
        """Begin with nobody who wants *wants*."""
        self.wants: Final = wants
        self.lines: Final[dict[Kind, KindLine]] = {}
        self.claiming: Final[dict[KindLine, None]] = {}  # those that may take from others


class WaitingLine:
    """All who wait in one state and may be tried."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self.groups: Final[dict[Wants, SameWants]] = {}
        self.of_queue: Final[dict[QueueName | None, dict[Kind, KindLine]]] = {}
        self.promised: Final[list[Turn]] = []  # who waits for a node, by an earlier plan
        self.unjudged: Final[dict[KindLine, None]] = {}  # new kinds, of unknown hopes
        self._seen: dict[WorkloadName, tuple[Turn, KindLine | None]] = {}

    def put(self, workload: Workload, kind: Kind | None) -> None:
        """Let *workload* wait; None: it was promised nodes, and is like nobody else."""
        turn = turn_of(workload)
        line = None if kind is None else self._line_of(kind)
        insort(self.promised if line is None else line.turns, turn)
        self._seen[workload.name] = (turn, line)

    def drop(self, name: WorkloadName) -> None:
        """Let a workload wait no more, if it did."""
        seen = self._seen.pop(name, None)
        if seen is None:
            return
        turn, line = seen
        turns = self.promised if line is None else line.turns
        del turns[bisect_left(turns, turn)]
        if line is not None and not turns:
            self._forget(line)

    def _line_of(self, kind: Kind) -> KindLine:
        group = self.groups.get(kind.wants)
        if group is None:
            group = self.groups[kind.wants] = SameWants(kind.wants)
        line = group.lines.get(kind)
        if line is None:
            line = group.lines[kind] = KindLine(kind)
            self.of_queue.setdefault(kind.queue, {})[kind] = line
            self.unjudged[line] = None
        return line

    def _forget(self, line: KindLine) -> None:
        kind = line.kind
        group = self.groups[kind.wants]
        del group.lines[kind]
        del self.of_queue[kind.queue][kind]
        group.claiming.pop(line, None)
        self.unjudged.pop(line, None)
        if not group.lines:
            del self.groups[kind.wants]


def kind_of(workload: Workload, queue: QueueName | None, ready: Readiness, wants: Wants) -> Kind:
    """Return of which kind *workload*, which is nominated to no node, is."""
    own = workload.extension
    details: Hashable = None
    never_preempts = False
    if isinstance(own, ElasticPods):
        never_preempts = own.preemption_policy == "Never"
        details = (own.min_resources, own.schedule_timeout_s)
    counts = count_by_set(workload, ready.pods)
    sets = [
        (count, each.requests, each.constraints)
        for count, each in zip(counts, workload.pod_sets, strict=True)
    ]
    return Kind(
        queue=queue,
        namespace=workload.namespace,
        priority=workload.priority,
        never_preempts=never_preempts,
        needs_others=any(each.constraints.pod_affinity for each in workload.pod_sets),
        wants=wants,
        details=(details, ready.needed, tuple(sets)),
    )
