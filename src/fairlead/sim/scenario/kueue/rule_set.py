"""Scenarios under Kueue: its objects, its settings, LocalQueues, and what it does not look at."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.workload_maker import Address, AddressBook, other_queue
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm
from fairlead.sim.scenario.kueue.nodes import unseen_by_kueue
from fairlead.sim.scenario.kueue.objects import fair_sharing_object, kueue_objects
from fairlead.sim.scenario.rule_set import QueueBounds, RuleSet, ScenarioWarning
from fairlead.sim.scenario.setting import Overrides, Parse, given, parse_duration, parse_word
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree


class KueueRuleSet(RuleSet):
    """The rules of Kueue."""

    name: ClassVar[PolicyName] = "kueue"
    settable: ClassVar[Mapping[str, tuple[Parse, str]]] = {
        "fairSharing": (parse_word, "whether fair sharing is on"),
        "preventPreemptionLoops": (parse_word, "whether preemption comes to an end"),
        "minRunTime": (parse_duration, "how long after its start a job is kept"),
        "preemptionDelay": (parse_duration, "the wait before fair sharing evicts"),
        "preemptionCooldown": (parse_duration, "the wait before an evicted job preempts"),
    }
    section: ClassVar[str | None] = "kueue"
    has_fair_sharing: ClassVar[bool] = True
    sees_nodes: ClassVar[bool] = False
    fields_without_effect: ClassVar[tuple[str, ...]] = ("priority", "minRuntime")

    def queue_objects(self, tree: QueueTree, form: PolicyForm | None) -> Iterator[MadeObject]:
        """Yield the objects; fair sharing is on unless *form* says otherwise.

        Without it the weights of inline queues would mean nothing.
        """
        yield from kueue_objects(tree)
        if form is None or form.fair_sharing is not False:
            yield fair_sharing_object()

    def overridden(self, settings: Settings, overrides: Overrides) -> KueueSettings:
        """Return *settings* with other options."""
        assert isinstance(settings, KueueSettings)
        base = KueueOptions() if overrides.get("faithful") else settings.options
        faithful = overrides.get("faithful", settings.faithful)
        options = msgspec.structs.replace(
            base,
            **given(
                no_preemption_loops=overrides.get("preventPreemptionLoops"),
                min_run_time_ms=overrides.get("minRunTime"),
                preemption_delay_ms=overrides.get("preemptionDelay"),
                # Kueue itself has no cooldown, so that to set it changes nothing then.
                preemption_cooldown_ms=None if faithful else overrides.get("preemptionCooldown"),
            ),
        )
        changes = given(fair_sharing=overrides.get("fairSharing"))
        return msgspec.structs.replace(settings, options=options, faithful=faithful, **changes)

    def address_book(self, state: ClusterState) -> AddressBook:
        """Return what finds a LocalQueue as NAMESPACE/NAME, or a ClusterQueue.

        A job of a ClusterQueue comes through the first LocalQueue that leads there.
        """
        addresses: dict[str, Address] = {}
        for _, local in sorted(state.catalogue.local_queues.items()):
            extension = KueueWorkload(local_queue=local.name)
            address = Address(local.namespace, local.cluster_queue, extension)
            addresses[f"{local.namespace}/{local.name}"] = address
            addresses.setdefault(local.cluster_queue, address)

        def address_of(job: Job) -> Address:
            if job.queue not in addresses:
                raise SimulationError(
                    f"job {job.name} is for queue {job.queue}, "
                    "which is neither a LocalQueue nor a ClusterQueue with one; "
                    f"{other_queue(job.queue, addresses)}"
                )
            return addresses[job.queue]

        return address_of

    def queues_for_jobs(self, state: ClusterState) -> set[str]:
        """Return the LocalQueues, and the ClusterQueues that they lead to."""
        locals_ = state.catalogue.local_queues.values()
        named = {f"{local.namespace}/{local.name}" for local in locals_}
        return named | {local.cluster_queue for local in locals_}

    def queue_bounds(self, state: ClusterState) -> QueueBounds:
        """Return the quota that a queue has or could borrow."""
        return _KueueBounds(state)

    def warnings(self, spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
        """Yield what a scenario says of its nodes in vain."""
        return unseen_by_kueue(spec, state)


class _KueueBounds(QueueBounds):
    """All quota that a queue could borrow, of the flavor of which it is most."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self._tree = KueueShares(state).tree
        self._named: dict[str, QueueName] = {name: name for name in state.queues}
        for local in state.catalogue.local_queues.values():
            self._named[f"{local.namespace}/{local.name}"] = local.cluster_queue

    def most(self, queue: str, resource: str, *, preemptible: bool) -> int | None:
        del preemptible
        return max(self._potentials(self._named[queue], resource), default=None)

    def _potentials(self, queue: QueueName, resource: str) -> Iterator[int]:
        """Yield what the queue could hold of each flavor: all pods of a gang have the same."""
        rules = self._state.queues[queue].extension
        assert isinstance(rules, ClusterQueue)
        for group in rules.resource_groups:
            for flavor in group.flavors if resource in group.resources else ():
                axis = self._state.axes.index(resource, flavor)
                if axis is not None:
                    yield self._tree.potential_on(queue, axis)
