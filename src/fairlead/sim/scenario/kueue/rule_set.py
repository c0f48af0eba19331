"""Scenarios under Kueue: a ClusterQueue for each leaf and a Cohort for each other queue.

Kueue lends only quota that some queue or cohort has. So capacity that no queue is guaranteed
becomes quota of a cohort above all others, from which every queue may borrow. Kueue does not look
at nodes: a simulation lets a job run as soon as it holds quota, on more than all nodes have if
there is that much quota.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from fairlead.errors import SimulationError
from fairlead.model.axes import QueueName
from fairlead.model.quantity import format_amount, show_amount
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.workload_maker import Address, AddressBook, other_queue
from fairlead.sim.scenario.form.scenario_form import (
    ClusterForm,
    PolicyForm,
    QueueForm,
    SpecForm,
    WorkForm,
    written_jobs,
)
from fairlead.sim.scenario.rule_set import QueueBounds, RuleSet, ScenarioWarning
from fairlead.sim.scenario.setting import Overrides, Parse, given, parse_duration, parse_word
from fairlead.sim.scenario.variant.nodes import node_groups
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


_API: Final = "kueue.x-k8s.io/v1beta2"
_FLAVOR: Final = "default"
_FAIR_SHARING: Final[dict[str, Any]] = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "fairSharing": {},
}


def kueue_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield the objects: one flavor, the cohorts, and the queues with a LocalQueue each."""
    top = tree.own_name("cluster")
    yield MadeObject(_object("ResourceFlavor", _FLAVOR, {}), None)
    yield MadeObject(_object("Cohort", top, _groups(_quotas(tree.left_over(), {}, {}))), None)
    for queue in tree.queues:
        origin, above = tree.path(queue), queue.parent or top
        if tree.is_leaf(queue):
            yield MadeObject(_cluster_queue(tree, queue, above), origin)
            local = _object("LocalQueue", queue.name, {"clusterQueue": queue.name})
            local["metadata"]["namespace"] = "default"
            yield MadeObject(local, origin)
        else:
            yield MadeObject(_cohort(tree, queue, above), origin)


def fair_sharing_object() -> MadeObject:
    """Return the configuration that turns fair sharing on."""
    return MadeObject(_FAIR_SHARING, ("spec", "queues"))


def _cluster_queue(tree: QueueTree, queue: QueueForm, above: str) -> dict[str, Any]:
    quotas = _quotas(
        tree.guaranteed(queue),
        _borrowed(tree.ceiling(queue), tree.guaranteed(queue)),
        queue.lend_limit or {},
    )
    # A resource without quotas must be covered all the same, or Kueue would admit no use of it.
    for resource, amount in tree.most.items():
        if resource not in tree.shared:
            quotas.append(_quota(resource, amount, None, 0))
    spec = {
        "cohortName": above,
        "namespaceSelector": {},
        "fairSharing": {"weight": queue.weight},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        **_groups(quotas),
    }
    return _object("ClusterQueue", queue.name, spec)


def _cohort(tree: QueueTree, queue: QueueForm, above: str) -> dict[str, Any]:
    whole, below = tree.guaranteed(queue), tree.guaranteed_below(queue.name)
    own = {name: max(0, amount - below.get(name, 0)) for name, amount in whole.items()}
    known = {name: max(amount, below.get(name, 0)) for name, amount in whole.items()}
    quotas = _quotas(own, _borrowed(tree.ceiling(queue), known), queue.lend_limit or {})
    spec = {"parentName": above, "fairSharing": {"weight": queue.weight}, **_groups(quotas)}
    return _object("Cohort", queue.name, spec)


def _borrowed(ceiling: Mapping[str, int], guaranteed: Mapping[str, int]) -> dict[str, int]:
    return {name: max(0, most - guaranteed.get(name, 0)) for name, most in ceiling.items()}


def _quotas(
    guaranteed: Mapping[str, int], borrow: Mapping[str, int], lend: Mapping[str, int]
) -> list[dict[str, Any]]:
    return [
        _quota(resource, amount, borrow.get(resource), lend.get(resource))
        for resource, amount in guaranteed.items()
    ]


def _quota(resource: str, amount: int, borrow: int | None, lend: int | None) -> dict[str, Any]:
    quota = {"name": resource, "nominalQuota": format_amount(resource, amount)}
    if borrow is not None:
        quota["borrowingLimit"] = format_amount(resource, borrow)
    if lend is not None:
        quota["lendingLimit"] = format_amount(resource, lend)
    return quota


def _groups(quotas: list[dict[str, Any]]) -> dict[str, Any]:
    if not quotas:
        return {}
    flavor = {"name": _FLAVOR, "resources": quotas}
    covered = [quota["name"] for quota in quotas]
    return {"resourceGroups": [{"coveredResources": covered, "flavors": [flavor]}]}


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}


_WHATEVER: Final = "under kueue jobs hold quota and run whatever nodes there are"
_ABOVE_ALL: Final = f"{_WHATEVER}, so utilisation may exceed 100 %"
_FIX: Final = "remove it, or do not compare by it under kueue"


def unseen_by_kueue(spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
    """Yield what has less effect under Kueue than it says; *state* is that of the start.

    Each kind is reported once, at its first place.
    """
    if spec.cluster.changes:
        is_less = any(change.lose for change in spec.cluster.changes)
        message = f"found changes of nodes: {_ABOVE_ALL if is_less else _WHATEVER}"
        yield ScenarioWarning(("spec", "cluster", "changes"), "no-effect", message, _FIX)
    yield from _taints(spec.cluster)
    flavors = state.catalogue.flavors.values()
    yield from _labels(spec.work, {key for flavor in flavors for key, _ in flavor.node_labels})
    yield from _more_quota(spec, state)


def _taints(cluster: ClusterForm) -> Iterator[ScenarioWarning]:
    """Yield taints that would keep pods off; no pod of a scenario tolerates any."""
    paths = [
        (*path, "taints")
        for path, group in node_groups(cluster)
        if any(taint.effect != "PreferNoSchedule" for taint in group.taints)
    ]
    if paths:
        message = f"found taints, which keep no job off: {_WHATEVER}"
        yield ScenarioWarning(paths[0], "no-effect", message, _FIX)


def _labels(work: Sequence[WorkForm], of_flavors: Collection[str]) -> Iterator[ScenarioWarning]:
    """Yield labels that no flavor has: Kueue does look at those of flavors."""
    paths = [
        (*path, "nodeLabels")
        for path, job in written_jobs(work)
        if any(key not in of_flavors for key in job.node_labels)
    ]
    if paths:
        where = "nodeLabels" if len(paths) == 1 else f"nodeLabels in {len(paths):,} places"
        message = f"found {where}, which keep no job off other nodes: {_WHATEVER}"
        yield ScenarioWarning(paths[0], "no-effect", message, _FIX)


def _more_quota(spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
    """Yield resources whose quotas add up to more than the nodes of the start have."""
    there = dict(zip(state.resources, state.capacity, strict=True))
    counted = QueueTree(spec.queues, spec.cluster).shared if spec.queues else state.resources
    owned = {resource: _quota_of(resource, state) for resource in counted}
    # Of what no node has, something else is wrong.
    above = [name for name in counted if owned[name] > there.get(name, 0) > 0]
    if above:
        quotas = ", ".join(f"{name} {show_amount(name, owned[name])}" for name in above)
        nodes = ", ".join(f"{name} {show_amount(name, there[name])}" for name in above)
        message = f"found quotas of {quotas} together, where nodes have {nodes}: {_ABOVE_ALL}"
        path = ("spec", "queues" if spec.queues else "manifests")
        fix = "guarantee less, or add nodes, or do not compare what is used under kueue"
        yield ScenarioWarning(path, "overcommitted", message, fix)


def _quota_of(resource: str, state: ClusterState) -> int:
    places = [at for at, axis in enumerate(state.axes.axes) if axis.resource == resource]
    return sum(queue.guaranteed[at] or 0 for queue in state.queues.values() for at in places)
