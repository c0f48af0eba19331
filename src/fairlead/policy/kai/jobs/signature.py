"""Which jobs need not claim a place, because one like them claimed it in vain.

A search for victims that finds none is the dearest part of a cycle, and a backlog is mostly jobs
that are alike. Whoever asks for no less than a job that is like it, and that failed in the same
action, is skipped.

Two jobs are alike if nothing but what they ask for can make a difference. KAI is content with less,
and so skips jobs that would have got a place. It knows the constraints of pods, but not their
namespace and labels, which matter to the affinity of others; not the minimum of a job, so one that
needs all of its pods speaks for one that needs a single pod; not its priority, nor whether it is
preemptible. Consolidation goes by one list for all queues, although each has its own limit. Of
requests that are neither smaller nor larger it takes the second for the larger. And it goes on
after a success, by which room may have become free that nobody asked for.

Neither of the two looks at the place of a job in its queue, which shapes the order in which victims
are put back. On random clusters that made no difference.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, Workload
from fairlead.policy.kai.incremental.pod_terms import PodAffinityTerms

Ask: TypeAlias = tuple[Amounts, ...]
"""What each pod requests, in an order in which pods of two jobs can be held against each other."""


class Signature(NamedTuple):
    """What jobs that are alike have in common, and what one of them asks for."""

    key: Hashable
    ask: Ask


class Failure(NamedTuple):
    """A job that found no place, and what it asked for."""

    job: WorkloadName
    ask: Ask


class FailedAttempts:
    """The claims of one action that failed.

    Law: the job that speaks for another is of the same key, and asks for no more. Cost: a look at
    the pods of the job, however many have failed; once, at each node of the state.
    """

    def __init__(
        self,
        state: ClusterState,
        terms: PodAffinityTerms | None = None,
        *,
        across_queues: bool = False,
        faithful: bool = False,
    ) -> None:
        """Begin an action on *state*, in which nobody has failed.

        *terms* are those of that state; None: they are looked for here. *across_queues* is for
        consolidation, in which a job may move any other, but not itself. *faithful*: two jobs are
        alike wherever KAI takes them for it, also where that is wrong.
        """
        self._state = state
        self._terms = terms or PodAffinityTerms(state)
        self._across_queues = across_queues
        self._faithful = faithful
        self._least: dict[Hashable, Failure] = {}  # of each key the one that asked for least
        self._equal: dict[Signature, WorkloadName] = {}

    @cached_property
    def _looked_at(self) -> tuple[bool, frozenset[str]]:
        """Whether any pod looks at pods around it, and at which of their labels."""
        return self._terms.looked_at()

    def refused_like(self, job: WorkloadName, pods: Sequence[PodId]) -> WorkloadName | None:
        """Return who failed before and is answer enough for *pods* of *job*, the next to start."""
        signature = self._signature(job, pods)
        least = self._least.get(signature.key)
        if least is None or self._stands_alone(job):
            return None
        if self._faithful:
            return None if _is_easier(signature.ask, least.ask) else least.job
        if _asks_no_more(least.ask, signature.ask):
            return least.job
        return self._equal.get(signature)

    def note_failure(self, job: WorkloadName, pods: Sequence[PodId]) -> None:
        """Remember that *pods* of *job* found no place."""
        if self._stands_alone(job):
            return
        signature = self._signature(job, pods)
        self._equal[signature] = job
        least = self._least.get(signature.key)
        if least is None or _asks_no_more(signature.ask, least.ask):
            self._least[signature.key] = Failure(job, signature.ask)

    def note_success(self) -> None:
        """Take in that a claim was met: what failed before may succeed now, but KAI goes on."""
        if not self._faithful:
            self._least.clear()
            self._equal.clear()

    def _stands_alone(self, job: WorkloadName) -> bool:
        """Return whether nobody is like *job*: others could move its pods, which it cannot."""
        run = self._state.runs.get(job)
        if run is None or self._faithful or not self._across_queues:
            return False
        return any(placed.phase != "leaving" for placed in run.pods.values())

    def _signature(self, job: WorkloadName, pods: Sequence[PodId]) -> Signature:
        workload = self._state.workloads[job]
        if self._faithful:
            return self._peer_signature(workload)
        sets = [workload.pod_sets.set_index[pod] for pod in pods]
        shapes = {at: self._shape(workload.pod_sets[at]) for at in set(sets)}
        # Of pods that are all alike, more are harder to place; of others, only the same many.
        places = tuple([shapes[at] for at in sets])
        key = (
            workload.queue,
            workload.priority,
            workload.preemptible,
            workload.namespace if self._looked_at[0] else None,
            places[:1] if len(set(shapes.values())) == 1 else places,
        )
        return Signature(key, tuple([workload.pod_sets[at].requests for at in sets]))

    def _shape(self, asked: PodSet) -> Hashable:
        """Return all about a pod that decides its place, but for the amounts."""
        labels = [label for label in asked.labels if label[0] in self._looked_at[1]]
        return asked.gpu_share, asked.constraints, tuple(labels)

    def _peer_signature(self, workload: Workload) -> Signature:
        """Return what KAI compares: all that is without a place, whether it starts next or not."""
        run = self._state.runs.get(workload.name)
        placed = run.pods if run else {}
        away: dict[str, Counter[Hashable]] = {}
        waiting: list[Amounts] = []
        sets = workload.pod_sets
        for asked, pods in zip(sets, sets.ids_by_set, strict=True):
            held = sum([pod in placed and placed[pod].phase != "leaving" for pod in pods])
            if held < asked.count:
                away.setdefault(asked.sub_group, Counter())[asked.constraints] += asked.count - held
            if not asked.gated:
                waiting += [asked.requests for pod in pods if pod not in placed]
        groups = Counter([frozenset(group.items()) for group in away.values()])
        queue = None if self._across_queues else workload.queue
        key = (queue, frozenset(groups.items()))
        return Signature(key, tuple(sorted(waiting)))


def _asks_no_more(one: Ask, other: Ask) -> bool:
    """Return whether each pod of *one* has its own in *other* that requests as much or more."""
    return len(one) <= len(other) and all(map(_is_within, one, other))


def _is_easier(one: Ask, other: Ask) -> bool:
    """Return whether KAI would try *one* although *other* failed.

    It does so if it has fewer pods, or if one of them requests less than its own in *other*.
    """
    if len(one) < len(other):
        return True
    return any(row != than and _is_within(row, than) for row, than in zip(one, other, strict=False))


def _is_within(row: Amounts, other: Amounts) -> bool:
    return all(amount <= most for amount, most in zip(row, other, strict=True))
