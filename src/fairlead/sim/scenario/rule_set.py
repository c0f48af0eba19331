"""What a rule set adds to scenarios: the one interface by which the simulator asks for it.

Each rule set has a sub-package beside this module that implements `RuleSet`, and one line in
`rule_sets`. No other module of the simulator names a rule set.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.path import Path
from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, Settings
from fairlead.sim.engine.workload_maker import AddressBook
from fairlead.sim.measures.follow_shares import RuleShares
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm
from fairlead.sim.scenario.setting import Overrides, Parse
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree
from fairlead.usage.settings import UsageSettings

Effect: TypeAlias = tuple[Any, ...]
"""What settings change of a run: with equal effects, runs are equal."""


class ScenarioWarning(NamedTuple):
    """Something that can be simulated, and whose results would mislead: where, code, what, fix."""

    path: Path
    code: str
    message: str
    fix: str


class ExpectedJob(NamedTuple):
    """A job that the work may have in any of the queues, with the pods with which it starts."""

    name: str
    queues: tuple[str, ...]
    requests: Mapping[str, int]  # of each pod
    most_pods: int
    fewest_pods: int  # of another such job
    is_fixed: bool  # no such job ever has more or fewer pods
    preemptible: bool


class PeerSimulation(Protocol):
    """What a file of another simulator asks for."""

    def run(self, write: Callable[[str], None]) -> None:
        """Run it, and write its table line by line."""


class QueueBounds:
    """The most that a queue may ever hold, by its limits and those of the queues above it."""

    def __init__(self, state: ClusterState) -> None:
        """Take the queues of *state*."""
        self._state = state

    def most(self, queue: str, resource: str, *, preemptible: bool) -> int | None:
        """Return the bound on *resource* for jobs of *queue*; None: there is none.

        Cost: the levels above the queue.
        """
        axis = self._state.axes.index(resource)
        if axis is None:
            return None
        path = self._state.path(QueueName(queue))
        bounds = (self._bounds(name, axis, preemptible) for name in path)
        return min((bound for each in bounds for bound in each if bound is not None), default=None)

    def _bounds(self, queue: QueueName, axis: int, preemptible: bool) -> tuple[int | None, ...]:
        del preemptible
        return (self._state.queues[queue].ceiling[axis],)


class RuleSet(ABC):
    """One rule set as scenarios need it. What most rule sets share is the default."""

    name: ClassVar[PolicyName]
    settable: ClassVar[Mapping[str, tuple[Parse, str]]] = {}
    """Its own settings by name, each with its parser and its meaning."""
    section: ClassVar[str | None] = None
    """Its section of ``fairlead/v1`` Settings; None: it has none."""
    usage_axes: ClassVar[tuple[str, ...]] = ()
    """What past use is counted in; none: past use does not count."""
    has_fair_sharing: ClassVar[bool] = False
    """Whether ``fairSharing`` is an option."""
    sees_nodes: ClassVar[bool] = True
    """Whether jobs need room on nodes."""
    keeps_non_preemptible: ClassVar[bool] = False
    """Whether a job with ``preemptible: false`` is never evicted."""
    fields_without_effect: ClassVar[tuple[str, ...]] = ()
    """Fields of inline queues that its objects cannot express."""

    @abstractmethod
    def queue_objects(self, tree: QueueTree, form: PolicyForm | None) -> Iterator[MadeObject]:
        """Yield the objects that stand for the inline queues of a scenario."""

    @abstractmethod
    def overridden(self, settings: Settings, overrides: Overrides) -> Settings:
        """Return *settings* with the *overrides* that this rule set knows.

        Raises `SimulationError` for a value that a file could not have either.
        """

    @abstractmethod
    def address_book(self, state: ClusterState) -> AddressBook:
        """Return what finds the queue of a job in *state*."""

    def queues_for_jobs(self, state: ClusterState) -> set[str]:
        """Return all names by which a job can name its queue."""
        return {name for name in state.queues if not state.children(name)}

    def queue_bounds(self, state: ClusterState) -> QueueBounds:
        """Return what bounds the jobs of each queue, however empty the cluster is."""
        return QueueBounds(state)

    def queue_advice(self, tree: QueueTree) -> Iterator[tuple[Path, str]]:
        """Yield where inline queues say something else that has no meaning, and what."""
        del tree
        yield from ()

    def warnings(self, spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
        """Yield how results would mislead; *state* is that of the start."""
        del spec, state
        yield from ()

    def usage_advice(
        self, settings: Settings, state: ClusterState, jobs: Sequence[ExpectedJob]
    ) -> tuple[str, str] | None:
        """Return how past use counts in vain beside *jobs*, and the fix; None: it does not."""
        del settings, state, jobs
        return None

    def usage(self, settings: Settings) -> UsageSettings | None:
        """Return how past use counts under *settings*; None: it does not."""
        del settings
        return None

    def effect(self, settings: Settings, overrides: Overrides) -> Effect:
        """Return what of *settings* and *overrides* can change a run."""
        del overrides
        return (settings,)

    def needs_usage(self, setting: str) -> bool:
        """Return whether *setting* has an effect only where past use counts."""
        del setting
        return False

    def rule_shares(self, state: ClusterState, settings: Settings) -> RuleShares | None:
        """Return the fair shares that the rules themselves compute; None: they have none."""
        del state, settings
        return None

    def is_simulator_file(self, document: Document) -> bool:
        """Return whether *document* is a file of the simulator of the peer."""
        del document
        return False

    def read_simulator_file(self, document: Document, findings: Findings) -> PeerSimulation:
        """Return what a file of that simulator asks for; of use only without errors."""
        raise NotImplementedError(f"{self.name} has no simulator whose files are read")
