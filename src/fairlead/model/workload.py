"""Work that wants to run: pods in sets, all for one queue.

A workload is a KAI PodGroup with its pods, a Kueue Workload, or a pod (or gang of pods) under an
ElasticQuota. It says what is wanted; what runs where is the state's to know.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Literal, NewType, TypeAlias

import msgspec

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.selector import NodeTerm, PodSpread, PodTerm, PreferredNodes, Toleration

PodId = NewType("PodId", str)
"""One pod of a workload for as long as the pod exists, whatever becomes of the others.

A pod object is known by its UID, or by ``namespace/name`` where it has none; a pod that is only
counted, by the name of its set and a number. Ids have no meaning in their order: pods are compared
by their position in the workload, or by name.
"""

PodKey: TypeAlias = tuple[WorkloadName, PodId]
"""A pod with the name of its workload."""


def numbered_pod(pod_set: str, number: int) -> PodId:
    """Return the id of the pod with *number* in a set whose pods are only counted."""
    return PodId(f"{pod_set}-{number}")


class GpuShare(msgspec.Struct, frozen=True, kw_only=True):
    """A request for part of each of some GPU devices: a fraction, or an amount of memory."""

    devices: int = 1
    thousandths: int | None = None
    memory_mib: int | None = None


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the nodes that may run a pod it prefers; they rule out none."""

    nodes: tuple[PreferredNodes, ...] = ()
    spread: tuple[PodSpread, ...] = ()


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a plan from starting pods or a workload, whatever room and quota there are."""

    code: str  # that of the reason with which it waits
    names: tuple[str, ...] = ()  # what it is about, such as the missing group


class VolumeNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """Where the volumes of a pod let it run.

    A node has to match one alternative of each of ``reach``. A node that has any of the labels in
    ``zones`` needs one of the values of each. With an ``obstacle`` the pod cannot start anywhere.
    The claims in ``exclusive`` are for one pod alone, in the whole cluster; ``attached`` has the
    volumes that a node attaches, by driver, if any node has a limit for that driver.
    """

    reach: tuple[tuple[NodeTerm, ...], ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()  # label keys, each with its values
    obstacle: Obstacle | None = None
    exclusive: tuple[str, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()  # driver and volume

    @property
    def meets_pods(self) -> bool:
        """Whether other pods can keep the pod off a node by the volumes that they use."""
        return bool(self.exclusive or self.attached)


class PodConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of a set may run.

    ``unsupported`` names constraints that the object has and that no filter of ours knows; a pod
    with one waits rather than being placed wrongly.
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    node_terms: tuple[NodeTerm, ...] | None = None  # None: no required affinity
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[tuple[str, int], ...] = ()  # protocol and port
    pod_affinity: tuple[PodTerm, ...] = ()  # near pods that all of these mean
    pod_anti_affinity: tuple[PodTerm, ...] = ()  # near no pod that one of these means
    spread: tuple[PodSpread, ...] = ()  # over domains in which matching pods are counted
    preferences: Preferences | None = None
    volumes: VolumeNeeds | None = None  # None: it has none that matter
    unsupported: tuple[str, ...] = ()
    held_nodes: frozenset[str] = frozenset()  # kept off in this plan, after a start failed there

    @property
    def can_be_helped(self) -> bool:
        """Whether pods on other nodes can open a node for the pod, by being there or leaving."""
        return bool(self.pod_affinity or self.spread)

    def all_spreads(self) -> tuple[PodSpread, ...]:
        """Return the constraints on the spread, and those that are only preferred."""
        return self.spread if self.preferences is None else self.spread + self.preferences.spread


ANYWHERE = PodConstraints()


class PodSet(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are alike; ``requests`` is what one of them asks for, on the state's resources.

    ``min_count`` is the fewest that are of use: the minimum of a KAI sub-group, or the least that
    a Kueue workload accepts in a partial admission. ``labels`` are those that all of them share.
    """

    name: str
    count: int
    min_count: int
    requests: Amounts
    pod_ids: tuple[PodId, ...] = ()  # as many as count, or none: then pods are only counted
    pod_names: tuple[str, ...] = ()  # as many as count, in the order of the pods, or none
    labels: tuple[tuple[str, str], ...] = ()
    constraints: PodConstraints = ANYWHERE
    gpu_share: GpuShare | None = None
    gated: bool = False  # not to be scheduled yet, so not requested either
    sub_group: str = ""  # that of a KAI PodGroup to which the pods belong; "": none
    start_order: int | None = None  # in its job, the highest first; None: after all that have one

    def ids(self) -> tuple[PodId, ...]:
        """Return the pods of the set in their order."""
        return self.first_ids(self.count)

    def first_ids(self, count: int) -> tuple[PodId, ...]:
        """Return the first *count* pods of the set. Cost: as many."""
        if self.pod_ids:
            return self.pod_ids[:count]
        return tuple([numbered_pod(self.name, n) for n in range(min(count, self.count))])


class _CountedPods(msgspec.Struct, frozen=True):
    """A set whose pods are only counted: the pod with number n has ``first + n * step``."""

    count: int
    first: int
    step: int


class PodNumbers(dict[PodId, int]):
    """A number for each pod, however many there are; to be looked up, and never listed.

    A Kueue Workload may ask for two billion pods, of which few ever get a place. So a pod that is
    only counted is found by its id, which is made of its set's name and its number, and is entered
    once it was looked up.
    """

    __slots__ = ("_counted",)

    def __init__(self, known: Mapping[PodId, int], counted: Mapping[str, _CountedPods]) -> None:
        """Enter the pods that are *known* by ids of their own; the others are in *counted* sets."""
        super().__init__(known)
        self._counted = counted

    def __missing__(self, pod: PodId) -> int:
        found = self._find(pod)
        if found is None:
            raise KeyError(pod)
        self[pod] = found
        return found

    def __contains__(self, pod: object) -> bool:
        return super().__contains__(pod) or self._find(pod) is not None

    def _find(self, pod: object) -> int | None:
        """Return the number of a pod that is only counted; None: there is no such pod."""
        if not isinstance(pod, str) or not self._counted:
            return None
        name, _, digits = pod.rpartition("-")
        pods = self._counted.get(name)
        if pods is None or len(digits) > len(str(pods.count)) or not digits.isdecimal():
            return None
        number = int(digits)
        is_one = number < pods.count and numbered_pod(name, number) == pod
        return pods.first + number * pods.step if is_one else None


class PodSets(tuple[PodSet, ...]):
    """The pod sets of one workload, which find each pod by its id.

    Made once and shared by workloads of one template; the indexes are made when first needed.
    """

    @cached_property
    def ids_by_set(self) -> tuple[tuple[PodId, ...], ...]:
        """The pods of each set, in their order there."""
        return tuple([pod_set.ids() for pod_set in self])

    @cached_property
    def ids(self) -> tuple[PodId, ...]:
        """Every pod, by set and by its order there."""
        return tuple([pod for pods in self.ids_by_set for pod in pods])

    @cached_property
    def position(self) -> PodNumbers:
        """To the place of each pod among ``ids``, by which pods are sorted."""
        firsts = [0, *accumulate([each.count for each in self])]
        known = {
            pod: first + at
            for each, first in zip(self, firsts, strict=False)
            for at, pod in enumerate(each.pod_ids)
        }
        return PodNumbers(known, self._counted(firsts, step=1))

    @cached_property
    def set_index(self) -> PodNumbers:
        """To the index of the set that each pod is in."""
        known = {pod: at for at, each in enumerate(self) for pod in each.pod_ids}
        return PodNumbers(known, self._counted(range(len(self)), step=0))

    @cached_property
    def names(self) -> dict[PodId, str]:
        """To the name of each pod that has one; another is called by its id."""
        return {
            pod: name
            for each in self
            if each.pod_names
            for pod, name in zip(each.ids(), each.pod_names, strict=True)
        }

    @cached_property
    def has_distinct_ids(self) -> bool:
        """Whether each pod has an id that no other has.

        Pods that are only counted do if their sets have different names: no number has a dash.
        """
        named = [pod for each in self for pod in each.pod_ids]
        counted = [each for each in self if each.count and not each.pod_ids]
        if len(set(named)) != sum([each.count for each in self if each.pod_ids]):
            return False
        by_name = self._counted(range(len(self)), step=0)
        numbers = PodNumbers({}, by_name)
        return len(by_name) == len(counted) and not any(pod in numbers for pod in named)

    def _counted(self, firsts: Sequence[int], *, step: int) -> dict[str, _CountedPods]:
        """Return the sets whose pods are only counted, by name, with numbers from *firsts* on."""
        return {
            each.name: _CountedPods(each.count, first, step)
            for each, first in zip(self, firsts, strict=False)
            if each.count and not each.pod_ids
        }

    def of(self, pod: PodId) -> PodSet:
        """Return the set that *pod* is in."""
        return self[self.set_index[pod]]

    def in_order(self, pods: Iterable[PodId]) -> list[PodId]:
        """Return *pods*, which are of this workload, by set and by their order there."""
        found = list(pods)
        return sorted(found, key=self.position.__getitem__) if len(found) > 1 else found


class SubGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A named part of a KAI PodGroup with a minimum of its own; leaves hold pods."""

    name: str
    parent: str | None = None
    min_member: int | None = None
    min_sub_group: int | None = None


class KaiJob(msgspec.Struct, frozen=True, kw_only=True, tag="kai"):
    """What only a KAI PodGroup has."""

    is_requeued: ClassVar[bool] = False

    sub_groups: tuple[SubGroup, ...] = ()
    min_sub_group: int | None = None  # how many sub-groups at the top must start; None: all
    staleness_grace_ms: int | None = None  # None: the scheduler's default
    preemption_delay_ms: int = 0
    has_succeeded_pods: bool = False  # so it may lack pods because it is nearly done


class AdmissionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a controller beside Kueue says of a Workload that has quota: ready, or why not."""

    name: str
    state: str  # Pending, Ready, Retry or Rejected
    message: str = ""


class KueueWorkload(msgspec.Struct, frozen=True, kw_only=True, tag="kueue"):
    """What only a Kueue Workload has.

    ``deactivated_by`` is why Kueue itself deactivated it, with Kueue's message; "": its owner did,
    or it is active.
    """

    is_requeued: ClassVar[bool] = True

    local_queue: str
    requeued_ms: int | None = None  # orders it instead of its creation
    back_off_until_ms: int | None = None  # not to be queued before
    max_execution_s: int | None = None
    awaits_checks: bool = False  # it has quota, but is not admitted yet
    checks: tuple[AdmissionCheck, ...] = ()
    deactivated_by: str = ""
    misconfigured: str = ""  # what is wrong with its requests, so that it is not admitted


class ElasticPods(msgspec.Struct, frozen=True, kw_only=True, tag="elastic-quota"):
    """What only pods under an ElasticQuota have, or pods without quota beside them.

    The capacity-scheduling plugin adds up requests otherwise than a node is charged;
    ``plugin_requests`` has that for a pod of each set, by name, where a name with 0 matters too.
    Empty: the same as the requests.
    """

    is_requeued: ClassVar[bool] = False

    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    min_resources: Amounts | None = None
    schedule_timeout_s: int | None = None
    plugin_requests: tuple[dict[str, int], ...] = ()
    not_running: frozenset[PodId] = frozenset()  # have a node, but have not come up there


WorkloadExtension: TypeAlias = KaiJob | KueueWorkload | ElasticPods
"""What one rule set adds. ``is_requeued``: a workload whose pods were all evicted returns to its
queue; otherwise its owner has withdrawn it, and new pods are another workload."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that run for one queue, at least ``min_count`` of them or none."""

    name: WorkloadName
    queue: QueueName
    namespace: str = ""  # of its pods; "": of no matter
    pod_sets: PodSets
    min_count: int
    priority: int = 0
    preemptible: bool = True
    active: bool = True  # False: held back by its owner or an obstacle, so not requested
    obstacle: Obstacle | None = None
    created_ms: int = 0
    extension: WorkloadExtension | None = None

    def pod_count(self) -> int:
        """Return how many pods there are."""
        sets = self.pod_sets
        return sets[0].count if len(sets) == 1 else sum([pod_set.count for pod_set in sets])

    def pods(self) -> tuple[PodId, ...]:
        """Return every pod, by set and by its order there."""
        return self.pod_sets.ids

    def has_pod(self, pod: PodId) -> bool:
        """Return whether *pod* is one of them."""
        return pod in self.pod_sets.set_index

    def pod_name(self, pod: PodId) -> str:
        """Return the name of *pod*."""
        return self.pod_sets.names.get(pod, pod)
