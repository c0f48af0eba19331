"""How KAI's queues, pod groups and shards with pods and nodes become a cluster state."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from operator import attrgetter
from typing import Final

import msgspec

from fairlead.manifest.bundle import Bundle, Kind, SettingsSection, UntypedDocument, one_object
from fairlead.manifest.core.objects import (
    ByResource,
    NamespaceObject,
    NodeObject,
    Object,
    PodObject,
    PriorityClassObject,
    SettingsObject,
    full_name,
)
from fairlead.manifest.core.owners.kinship import Kinship
from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import standing
from fairlead.manifest.core.pod_selectors import ChangedSelectors
from fairlead.manifest.core.tree_checks import refuse_cycles
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.advise_on_k import advise_on_k
from fairlead.manifest.kai.assembly.jobs import (
    Job,
    NodePool,
    choose_pool,
    named_group,
    one_per_pool,
    sort_group,
    sort_pods,
    warn_of_empty_group,
    warn_of_other_scheduler,
)
from fairlead.manifest.kai.assembly.priority import KaiPriorities
from fairlead.manifest.kai.assembly.queue_demand import Demands
from fairlead.manifest.kai.assembly.queues import (
    PARENT_PATH,
    advise_on_queues,
    check_queues_of_jobs,
    kai_tree,
    model_queue,
)
from fairlead.manifest.kai.assembly.usage import KaiUsage, settle_usage
from fairlead.manifest.kai.assembly.workload import KaiWorkload
from fairlead.manifest.kai.devices.assigned_shares import NodeDevices
from fairlead.manifest.kai.devices.shared_gpus import SharedGpus
from fairlead.manifest.kai.grouping.grouping import Grouper
from fairlead.manifest.kai.notation import CLAIMED_GPUS, KAI_AXES, kai_axes
from fairlead.manifest.kai.objects import (
    USUAL_NAMES,
    KaiConfigObject,
    KaiPodGroupObject,
    KaiQueueObject,
    KaiShardObject,
)
from fairlead.manifest.kai.reading.own_usage import USAGE_SECTION, read_own_usage
from fairlead.manifest.kai.reading.pod_group import read_kai_pod_group
from fairlead.manifest.kai.reading.queue import (
    is_share_simulation,
    read_kai_queue,
    read_share_simulation,
)
from fairlead.manifest.kai.reading.shard import read_kai_config, read_kai_shard
from fairlead.manifest.translate.align import without_cycles
from fairlead.manifest.translate.family import (
    AssemblyRules,
    DeviceChanges,
    Family,
    Made,
    Measures,
    Mirror,
    Remarks,
    Unit,
    UnitChange,
    UnitContent,
    UnitKey,
)
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.execution.reconcile import ObservedWorkload
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.policy.kai.settings import KaiSettings

_SETTINGS = frozenset({KaiShardObject, KaiConfigObject, SettingsObject})


class KaiFamily(Family[Job]):
    """KAI's objects. A unit is a PodGroup with the pods that name it, or a pod without a group."""

    head_types = (KaiPodGroupObject,)
    queue_types = (KaiQueueObject,)
    catalogue_types = (NamespaceObject,)
    looked_at_to_make = frozenset({KaiConfigObject, PriorityClassObject})

    def __init__(self, mirror: Mirror, rules: AssemblyRules) -> None:
        """Read the objects of *mirror* as *rules* say."""
        super().__init__(mirror, rules)
        self.pool = NodePool(None)
        self.usage_settings = KaiUsage(settings=KaiSettings(), source=None)
        self.tree: list[KaiQueueObject] = []  # the queues that take part
        self._accepted: Mapping[str, KaiQueueObject] = {}
        self._shared_gpus = SharedGpus(())
        self._priorities = KaiPriorities(())
        self._devices = NodeDevices()

    @property
    def settings(self) -> KaiSettings:
        """What shard, Config and our own settings say together."""
        return self.usage_settings.settings

    def refresh(self, changed: Set[type], remarks: Remarks) -> bool:
        """Take in shards, settings, queues, priority classes and the memory of devices."""
        before = self.pool
        if changed & _SETTINGS:
            remarks.note("settings", self._read_settings)
        is_other = not before.is_same(self.pool)
        if KaiQueueObject in changed or is_other:
            remarks.note("queues", self._read_tree)
        if PriorityClassObject in changed:
            self._priorities = KaiPriorities(self.mirror.of(PriorityClassObject).values())
        if NodeObject in changed or is_other:
            self._shared_gpus = SharedGpus(self.nodes().values())
        return is_other

    def _read_settings(self, findings: Findings) -> None:
        config = self.mirror.single(KaiConfigObject)
        names = config.names if config else USUAL_NAMES
        shards = list(self.mirror.of(KaiShardObject).values())
        self.pool = choose_pool(shards, self.rules.shard, names, findings)
        own = self.mirror.single(SettingsObject)
        self.usage_settings = settle_usage(self.pool.shard, config, own, findings)

    def _read_tree(self, findings: Findings) -> None:
        queues = self.mirror.of(KaiQueueObject)
        refuse_cycles(list(queues.values()), "Queue", lambda _: PARENT_PATH, findings)
        self._accepted = without_cycles(queues, self._accepted)
        own = [each for each in self._accepted.values() if self.pool.has(each.labels)]
        there = {name for name, each in queues.items() if self.pool.has(each.labels)}
        self.tree = kai_tree(own, there, queues.keys() - there, findings)

    def nodes(self) -> dict[str, NodeObject]:
        """Return the nodes of the pool by name."""
        nodes = self.mirror.of(NodeObject).items()
        return {name: node for name, node in nodes if self.has_node(node)}

    def demands(self) -> Demands:
        """Return what queues ask for in total, where no pod is there to say so."""
        are_there = bool(self.mirror.of(PodObject)) or bool(self.mirror.of(KaiPodGroupObject))
        return Demands(self.tree, has_jobs=are_there or not self.rules.queue_totals)

    def make(self, owner: OwnerObject, kinship: Kinship, findings: Findings) -> Made:
        """Return the pods of the roles that KAI would schedule, in the groups that KAI makes."""
        found = standing(owner, kinship)
        names = self.pool.names
        roles = [each for each in owner.roles if each.template.spec.scheduler == names.scheduler]
        if found == "due" and len(roles) < len(owner.roles):
            warn_of_other_scheduler(owner, names, findings)
        if found != "due" or not roles:
            return Made(standing="other-scheduler" if found == "due" else found)
        pods = [pod for role in roles for pod in made_pods(owner, role)]
        grouper = Grouper(names, self._priorities.names())
        objects = grouper.grouped(pods, [owner, *kinship.chain(owner)])
        return Made(standing="due", objects=tuple(objects))

    def unit_of(self, each: Object) -> UnitKey:
        """Return the group of an object, or the pod itself."""
        if isinstance(each, PodObject):
            group = named_group(each)
            return ("group", group) if group else ("pod", full_name(each))
        assert isinstance(each, KaiPodGroupObject), each
        return "group", full_name(each)

    def affected_units(
        self, old: Object | None, new: Object | None, units: Collection[Unit[Job]]
    ) -> Iterable[Unit[Job]]:
        """Return all units after a priority class changed, and units that ask for GPU memory."""
        match old if new is None else new:
            case PriorityClassObject():
                return units
            case NodeObject() if self._gpu_memory(old) != self._gpu_memory(new):
                return [unit for unit in units if _asks_for_memory(unit.pods.values())]
        return ()

    def _gpu_memory(self, node: Object | None) -> int | None:
        if isinstance(node, NodeObject) and self.has_node(node):
            return node.gpu_memory_mib
        return None

    def sort(self, unit: Unit[Job], findings: Findings) -> UnitContent[Job]:
        """Return the jobs of a unit, with every share of a GPU charged."""
        pods = unit.pods_by_name()
        if isinstance(unit.head, KaiPodGroupObject):
            found = sort_group(unit.head, pods, self.pool)
        else:
            group = unit.key[1] if unit.key[0] == "group" else ""
            found = sort_pods(pods, group, self.pool, findings, self.rules)
        if not found.parts:
            return found
        jobs = tuple([self._charged_job(job, findings) for job in found.parts])
        return msgspec.structs.replace(found, parts=jobs)

    def _charged_job(self, job: Job, findings: Findings) -> Job:
        """Return the job with shares of GPUs and claimed GPUs counted; few jobs have any."""
        if all(pod.gpu_share is None and not pod.claimed_gpus for pod in job.pods):
            return job
        pods = tuple([self._shared_gpus.charged(_with_claimed(pod), findings) for pod in job.pods])
        return msgspec.structs.replace(job, pods=pods)

    def workload_name(self, part: Job) -> WorkloadName:
        """Return the name of a job."""
        return WorkloadName(part.name)

    def constraints(self, part: Job) -> Iterable[PodConstraints]:
        """Return the constraints of the pods of a job."""
        return [pod.constraints for pod in part.pods]

    def amounts(self, part: Job) -> Iterable[ByResource]:
        """Return what the pods of a job ask for."""
        return [pod.requests for pod in part.pods]

    def other_amounts(self) -> Iterable[ByResource]:
        """Return what queues ask for in total."""
        return self.demands().amounts()

    def is_affected(self, part: Job, changed: ChangedSelectors) -> bool:
        """Return whether pods of a job have a label that is looked at now, or not any more."""
        return any(changed.affect_labels(pod.labels) for pod in part.pods)

    def _node(self, name: str) -> NodeObject | None:
        node = self.mirror.of(NodeObject).get(name)
        return node if node is not None and self.has_node(node) else None

    def update_devices(
        self, units: Sequence[UnitChange[Job]], nodes: Set[str], remarks: Remarks
    ) -> DeviceChanges:
        """Assign the shared devices of nodes again on which something changed."""
        return self._devices.update_devices(units, nodes, self._node, remarks)

    def charged(self, pod: PodObject) -> PodObject:
        """Return a foreign pod with every device that it holds among its requests."""
        return self._devices.charged(pod)

    def has_node(self, node: NodeObject) -> bool:
        """Return whether a node is in the pool of the shard."""
        return self.pool.has(node.labels)

    def queue_axes(self) -> Set[Axis]:
        """Return KAI's axes, which are always the same."""
        return {Axis(axis) for axis in KAI_AXES}

    def axes(self, resources: tuple[str, ...], needed: Set[Axis]) -> QuotaAxes:
        """Return KAI's axes, on which every vendor's GPU counts."""
        return kai_axes(resources)

    def queues(self, axes: QuotaAxes) -> Sequence[Queue]:
        """Return the queues of the tree."""
        return [model_queue(queue) for queue in self.tree]

    def usage(self) -> Mapping[QueueName, tuple[int, ...]]:
        """Return the past use that a share simulation brings along."""
        return {
            QueueName(queue.name): tuple([queue.usage_e9[axis] for axis in KAI_AXES])
            for queue in self.tree
            if queue.usage_e9 is not None
        }

    def catalogue(self) -> Catalogue:
        """Return the namespaces."""
        namespaces = self.mirror.of(NamespaceObject).items()
        return Catalogue(namespaces={name: dict(each.labels) for name, each in namespaces})

    def check_units(self, units: Sequence[Unit[Job]], findings: Findings) -> None:
        """Report what other pools have, jobs without a usable queue, and groups without pods."""
        others = sorted(name for unit in units for name in unit.found.in_other_pools)
        nodes, queues = self.mirror.of(NodeObject), self.mirror.of(KaiQueueObject)
        self.pool.report_left_out([*nodes.values()], [*queues.values()], others, findings)
        jobs = sorted((job for unit in units for job in unit.found.parts), key=attrgetter("name"))
        own = {name: each for name, each in queues.items() if self.pool.has(each.labels)}
        check_queues_of_jobs(jobs, list(own.values()), queues.keys() - own.keys(), findings)
        for unit in sorted(units, key=attrgetter("key")):
            if isinstance(unit.head, KaiPodGroupObject) and not unit.pods:
                warn_of_empty_group(unit.head, findings)

    def complete(self, state: ClusterState, findings: Findings) -> None:
        """Add what queues ask for without pods, and advise on the tree and on k."""
        for event in self.demands().events(state.resources):
            state.apply(event)
        advise_on_queues(self.tree, state.total() if state.nodes else None, findings)
        advise_on_k(self.usage_settings, state, findings)

    def observe(self, part: Job, measures: Measures, findings: Findings) -> ObservedWorkload:
        """Return a job as its objects show it."""
        looked_at = measures.selectors.labels
        workload = KaiWorkload(part, self._priorities, findings, labels_looked_at=looked_at)
        return workload.observed(measures.resources, self._devices.shares)


def _with_claimed(pod: PodObject) -> PodObject:
    """Return a pod with the GPUs that it claims among its requests."""
    if not pod.claimed_gpus:
        return pod
    requests = {**pod.requests, CLAIMED_GPUS: pod.claimed_gpus}
    return msgspec.structs.replace(pod, requests=requests)


def _asks_for_memory(pods: Iterable[PodObject]) -> bool:
    shares = (pod.gpu_share for pod in pods)
    return any(share is not None and share.memory_mib is not None for share in shares)


def _shards(objects: Iterable[Object]) -> Sequence[str]:
    """Return the shards by name, first the one for what is in no pool; one for each pool."""
    found = [each for each in objects if isinstance(each, KaiShardObject)]
    return [each.name for each in one_per_pool(found)]


KAI: Final = Bundle(
    policy="kai",
    queues="KAI Queue",
    queue_label="kai.scheduler/queue",
    kinds={
        ("scheduling.run.ai", "Queue"): one_object(read_kai_queue, "v2", is_queue=True),
        ("scheduling.run.ai", "PodGroup"): one_object(read_kai_pod_group, "v2alpha2"),
        ("kai.scheduler", "SchedulingShard"): one_object(read_kai_shard, "v1"),
        ("kai.scheduler", "Config"): one_object(read_kai_config, "v1"),
    },
    untyped=UntypedDocument(
        title="share simulation",
        matches=is_share_simulation,
        kind=Kind(read=read_share_simulation, versions=(), policy="kai", is_queue=True),
    ),
    # No other rule set looks at past use yet.
    section=SettingsSection(name=USAGE_SECTION, title="past usage", read=read_own_usage),
    family=KaiFamily,
    shards=_shards,
)
