"""What a cycle may skip because it is in vain: the seam between rules and pruning.

`Prefilter` is what the rules ask ("may this attempt succeed?"); `TryEverything` is the plain
answer. `policy.py` puts in the one with bounds, which must not change a decision.
"""

from collections.abc import Set
from typing import NamedTuple, Protocol

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.sources import PlainSources, Sources
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.jobs.start_job import Shortage
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.attempt import ActionName, Attempt, AttemptContext
from fairlead.policy.kai.victims.candidates import EligibleCandidates
from fairlead.policy.kai.victims.solver import NewBounds, NoBounds


class KnownInfeasible(Protocol):
    """Remembers classes of jobs for which there is no room."""

    def all(self) -> Set[JobClass]:
        """Return the classes that have no room now, as far as known."""

    def add(self, job_class: JobClass, shortage: Shortage) -> None:
        """Remember what a class lacks, as of the last `all` call."""


class TurnFilter(Protocol):
    """Says whose attempts of one action may succeed, while jobs have their turns."""

    def is_any_left(self) -> bool:
        """Return whether the attempt of any job with a turn to come may succeed."""

    def may_succeed(self, queue: QueueName, job_class: JobClass) -> bool:
        """Return whether the attempt of a job of that class in *queue* may succeed."""

    def note_change(self, queues: Set[QueueName]) -> None:
        """Note that an attempt succeeded and changed jobs of these *queues*.

        It may admit other jobs, or fewer.
        """


class ActionPrefilter(Protocol):
    """Says which attempts of one action are in vain."""

    def turn_filter(self, jobs: PendingJobs) -> TurnFilter:
        """Return the filter for the turns of *jobs*."""

    def may_succeed(self, attempt: Attempt, pods: tuple[PodId, ...]) -> bool:
        """Return whether a search for *pods* may succeed."""

    def note_change(self) -> None:
        """Note that an attempt succeeded: the state has changed."""


class ActionInputs(NamedTuple):
    """What a prefilter may look at in one action."""

    context: CycleContext
    action: ActionName
    attempts: AttemptContext
    candidates: EligibleCandidates
    most_victims: int | None  # jobs that one attempt may evict; None: all


class Prefilter(Protocol):
    """Says which work of a cycle is in vain."""

    @property
    def infeasible(self) -> KnownInfeasible:
        """The classes of jobs for which there is no room."""

    @property
    def new_bounds(self) -> NewBounds:
        """What makes the bounds of a search."""

    @property
    def skips_vain_turns(self) -> bool:
        """Whether turns of the allocate action that come to nothing are left out."""

    def for_action(self, inputs: ActionInputs) -> ActionPrefilter:
        """Return the prefilter of one action."""


class TryEverything:
    """The plain prefilter: nothing is known to be in vain."""

    skips_vain_turns = False
    new_bounds: NewBounds = NoBounds

    @property
    def infeasible(self) -> "TryEverything":
        """Nothing is remembered."""
        return self

    def all(self) -> Set[JobClass]:
        """Return that no class is known to have no room."""
        return frozenset()

    def add(self, job_class: JobClass, shortage: Shortage) -> None:
        """Remember nothing."""

    def for_action(self, inputs: ActionInputs) -> "TryEveryAttempt":
        """Return the plain prefilter of an action."""
        return TryEveryAttempt()


class TryEveryAttempt:
    """The plain prefilter of an action: every attempt is made."""

    def turn_filter(self, jobs: PendingJobs) -> "TryEveryTurn":
        """Return the plain filter of turns."""
        return TryEveryTurn()

    def may_succeed(self, attempt: Attempt, pods: tuple[PodId, ...]) -> bool:
        """Return that it may."""
        return True

    def note_change(self) -> None:
        """Nothing to note."""


class TryEveryTurn:
    """The plain filter of turns: every job has its turn."""

    def is_any_left(self) -> bool:
        """Return that one may be."""
        return True

    def may_succeed(self, queue: QueueName, job_class: JobClass) -> bool:
        """Return that it may."""
        return True

    def note_change(self, queues: Set[QueueName]) -> None:
        """Nothing to note."""


class Backend(NamedTuple):
    """Where a cycle reads its state, and what it may skip."""

    sources: Sources
    prefilter: Prefilter


def plain_backend(state: ClusterState, settings: KaiSettings) -> Backend:
    """Return the backend without speed: everything is read from scratch and tried."""
    return Backend(PlainSources(state, settings), TryEverything())
