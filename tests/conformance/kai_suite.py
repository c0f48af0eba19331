"""Asks the policy what KAI's own test tables expect (``kai-suite/1``).

Compared is what a table lists: the status of jobs and pods after the last round, and their nodes
where the table looks at them. Of pods that are exchangeable, only how many have which status.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count, islice
from typing import Any

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start
from fairlead.model.selector import LabelRequirement, LabelSelector, NodeTerm, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    GpuShare,
    KaiJob,
    PodConstraints,
    PodId,
    PodSet,
    PodSets,
    SubGroup,
    Workload,
)
from fairlead.policy.kai.api import new_cycle
from fairlead.policy.kai.settings import KaiSettings, PackOrSpread
from tests.conformance.kai_cycle import carry_out, memory_of
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.kai_world import (
    NOW_MS,
    THOUSANDTHS,
    add_nodes,
    add_queues,
    empty_state,
    job_name,
    requests,
)
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
Found = dict[str, tuple[str, str | None]]  # status and node, by pod

OUTSIDE = ("dra", "mig", "topology")  # features that no rule set of ours has
DEVICE_MEMORY_MIB = 100  # of every GPU in the tables
STATUS = {"running": "Running", "leaving": "Releasing", "reserved": "Pipelined"}


def check(case: Json) -> list[Outcome]:
    """Compare one row of a table, if its features are built."""
    identity = named_in(case, "id")
    try:
        kind = "cycles" if case["kind"] == "integration" else "+".join(case["actions"])
        outside = [tag for tag in case["tags"] if tag in OUTSIDE]
        if outside:
            note = "nothing answers this kind yet"
            return [Outcome(identity, f"{kind} with {outside[0]}", "unbuilt", note=note)]
        differences = list(_differences(case, _after_all_rounds(case)))
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(identity, "allocate", "failed", note=note)]
    if not differences:
        return [Outcome(identity, kind, "passed")]
    return [
        Outcome(
            identity,
            kind,
            "failed",
            expected="; ".join(f"{who} {want}" for who, want, _ in differences),
            got="; ".join(f"{who} {have}" for who, _, have in differences),
            note=case["about"],
        )
    ]


def _after_all_rounds(case: Json) -> Found:
    """Return the status of every pod after the last round that the table looks at."""
    state = world(case)
    rounds = case.get("rounds", {"until": 1, "after": 0})
    kept = {job["name"] for job in case["jobs"] if job.get("beingDeleted")}
    found: Found = {}
    for number in range(rounds["until"] + rounds["after"]):
        if number:
            _let_leave(state, kept)
        with state.trial():
            decisions = new_cycle(state, settings(case), NOW_MS).decisions()
        found = _statuses(state, decisions, _failed(case))
        carry_out(state, decisions)
    return found


def _let_leave(state: ClusterState, kept: set[str]) -> None:
    """Between rounds pods that were told to leave are gone, and wait again."""
    for name, run in list(state.runs.items()):
        leaving = tuple(pod for pod, placed in run.pods.items() if placed.phase != "running")
        if leaving and name not in kept:
            state.apply(WorkloadStopped(workload=name, pods=leaving))


def _failed(case: Json) -> set[str]:
    tasks = [task for job in case["jobs"] for task in job["tasks"]]
    return {task["name"] for task in tasks if task["state"] == "Failed"}


def world(case: Json) -> ClusterState:
    """The state that a row describes."""
    _put_on_devices(case)
    state = empty_state()
    add_nodes(state, [{"gpuMemoryMiB": DEVICE_MEMORY_MIB, **node} for node in case["nodes"]])
    add_queues(state, case["queues"])
    for job in case["jobs"]:
        _add_job(state, job)
    return state


def _put_on_devices(case: Json) -> None:
    """Pack running pods of which the row does not say which device they share."""
    used: dict[tuple[str, int], Fraction] = {}
    tasks = [task for job in case["jobs"] for task in job["tasks"] if task.get("node")]
    for task in tasks:
        share = _gpu_share(task)
        if share is None or task["state"] in ("Pending", "Failed"):
            continue
        part = Fraction(share.thousandths or 0, THOUSANDTHS)
        part = part or Fraction(share.memory_mib or 0, DEVICE_MEMORY_MIB)
        if "gpuGroups" not in task:
            free = (n for n in count() if used.get((task["node"], n), 0) + part <= 1)
            task["gpuGroups"] = [str(number) for number in islice(free, share.devices)]
        for group in task["gpuGroups"]:
            key = (task["node"], int(group))
            used[key] = used.get(key, Fraction(0)) + part


def settings(case: Json) -> KaiSettings:
    """The settings under which the row was run; tables may choose plugins one by one."""
    plugins = {
        each["name"]: each.get("arguments", {}) for each in case["config"].get("plugins", ())
    }
    nodes = plugins.get("nodeplacement", {})
    most = case["config"]["maxConsolidationPreemptees"]
    devices: PackOrSpread = "spread" if "gpuspread" in plugins else "binpack"
    return KaiSettings(
        actions=tuple(case["actions"]),
        faithful=True,
        max_consolidation_victims=None if most < 0 else most,
        consolidating_reclaim=case["config"]["consolidatingReclaim"],
        signatures=case["config"]["schedulingSignatures"],
        stale_grace_ms=case["config"]["staleGraceSeconds"] * THOUSANDTHS,
        gpu_placement=nodes.get("gpu", "binpack"),
        cpu_placement=nodes.get("cpu", "binpack"),
        device_placement=devices,
    )


def _add_job(state: ClusterState, job: Json) -> None:
    name = job_name(job["name"])
    tasks = job["tasks"]
    sub_groups = tuple(_sub_groups(job.get("subgroups", {}), None))
    minimum = job.get("min", sum(each.min_member or 0 for each in sub_groups))
    workload = Workload(
        name=name,
        queue=QueueName(job["queue"]),
        pod_sets=PodSets(_pod_set(task) for task in tasks),
        min_count=minimum,
        priority=job["priority"],
        preemptible=job["preemptible"],
        created_ms=job["created"] * THOUSANDTHS,
        extension=KaiJob(sub_groups=sub_groups),
    )
    state.apply(WorkloadAdded(workload))
    state.apply(MemoryChanged(name, memory_of(job)))
    at_ms = NOW_MS - job.get("startedSecondsAgo", 0) * THOUSANDTHS
    for pod, task in zip(workload.pods(), tasks, strict=True):
        if task["state"] not in ("Pending", "Failed"):
            _place(state, name, pod, task, at_ms)


def _place(state: ClusterState, name: WorkloadName, pod: PodId, task: Json, at_ms: int) -> None:
    place = (Placement(pod, task["node"], _device_share(task)),)
    match task["state"]:
        case "Running" | "Releasing":
            state.apply(WorkloadStarted(workload=name, placements=place, at_ms=at_ms))
        case "Pipelined":
            state.apply(WorkloadReserved(workload=name, placements=place, at_ms=at_ms))
        case other:
            raise ValueError(f"no pod of ours is {other}")
    if task["state"] == "Releasing":
        state.apply(WorkloadLeaving(workload=name, pods=(pod,)))


def _pod_set(task: Json) -> PodSet:
    share = _gpu_share(task)
    asked = requests(task)
    if share is not None:
        part = share.thousandths or (share.memory_mib or 0) * THOUSANDTHS // DEVICE_MEMORY_MIB
        asked = (*asked[:2], part * share.devices)
    return PodSet(
        name=task["name"],
        count=1,
        min_count=0,
        requests=asked,
        pod_names=(task["name"],),
        labels=tuple(task.get("labels", {}).items()),
        constraints=_constraints(task),
        gpu_share=share,
        sub_group=task.get("subgroup", ""),
        start_order=task.get("order"),
        gated=task["state"] == "Failed",  # it will not run again, and counts for nothing
    )


def _gpu_share(task: Json) -> GpuShare | None:
    if "fraction" in task:
        devices = exact_number(task["gpus"]) / exact_number(task["fraction"])
        return GpuShare(
            devices=int(devices), thousandths=int(exact_number(task["fraction"]) * THOUSANDTHS)
        )
    memory_mib = task.get("gpuMemoryMiB")
    return None if memory_mib is None else GpuShare(memory_mib=memory_mib)


def _device_share(task: Json) -> DeviceShare | None:
    share = _gpu_share(task)
    if share is None:
        return None
    devices = tuple(int(group) for group in task["gpuGroups"])
    if share.thousandths is not None:
        return DeviceShare(
            devices=devices, part_e9=share.thousandths * WHOLE_DEVICE_E9 // THOUSANDTHS
        )
    part_e9 = (share.memory_mib or 0) * WHOLE_DEVICE_E9 // DEVICE_MEMORY_MIB
    return DeviceShare(devices=devices, part_e9=part_e9)


def _constraints(task: Json) -> PodConstraints:
    """Terms of the tables mean pods with the pod's own labels."""
    selector = LabelSelector(
        requirements=tuple(
            LabelRequirement(key=key, operator="In", values=(value,))
            for key, value in task.get("labels", {}).items()
        )
    )

    def terms(key: str) -> tuple[PodTerm, ...]:
        if key not in task:
            return ()
        return (PodTerm(topology_key=task[key], selector=selector, namespaces=("",)),)

    names = LabelRequirement(
        key="metadata.name", operator="In", values=tuple(task.get("nodeIn", ()))
    )
    return PodConstraints(
        node_terms=(NodeTerm(names=(names,)),) if "nodeIn" in task else None,
        pod_affinity=terms("podAffinity"),
        pod_anti_affinity=terms("podAntiAffinity"),
    )


def _sub_groups(tree: Json, parent: str | None) -> Iterator[SubGroup]:
    for child in tree.get("children", ()):
        yield SubGroup(name=child["name"], parent=parent, min_member=child.get("min"))
        yield from _sub_groups(child, child["name"])


def _statuses(state: ClusterState, decisions: Sequence[Decision], failed: set[str]) -> Found:
    """The status of every pod by name, as the tables call it."""
    found: Found = {}
    for name, workload in state.workloads.items():
        run = state.runs.get(name)
        for pod in workload.pods():
            placed = run.pods.get(pod) if run else None
            status = STATUS[placed.phase] if placed else "Pending"
            pod_name = workload.pod_name(pod)
            status = "Failed" if pod_name in failed else status
            found[pod_name] = (status, placed.node if placed else None)
    for decision in decisions:
        workload = state.workloads[decision.workload]
        if isinstance(decision, Start | Reserve | Move):
            status = "Binding" if isinstance(decision, Start) else "Pipelined"
            for placement in decision.placements:
                found[workload.pod_name(placement.pod)] = (status, placement.node)
        elif isinstance(decision, Evict):
            for pod in decision.pods:
                node = found[workload.pod_name(pod)][1]
                found[workload.pod_name(pod)] = ("Releasing", node)
    return found


def _differences(case: Json, found: Found) -> Iterator[tuple[str, str, str]]:
    pods_of = {job["name"]: [task["name"] for task in job["tasks"]] for job in case["jobs"]}
    compare = case["compare"]
    for job, expected in case["expected"].get("jobs", {}).items():
        wanted = [(expected["status"], expected.get("node"))] * len(pods_of[job])
        yield from _compared(job, wanted, pods_of[job], found, job in compare["node"])
    by_pod = case["expected"].get("tasks", {})
    for job, pods in pods_of.items():
        listed = [pod for pod in pods if pod in by_pod]
        groups = [listed] if job in compare.get("exchangeablePods", ()) else [[p] for p in listed]
        for group in filter(None, groups):
            wanted = [(by_pod[pod]["status"], by_pod[pod].get("node")) for pod in group]
            with_nodes = all(pod in compare["node"] for pod in group)
            yield from _compared(", ".join(group), wanted, group, found, with_nodes)


def _compared(
    who: str,
    wanted: Iterable[tuple[str, str | None]],
    pods: Iterable[str],
    found: Mapping[str, tuple[str, str | None]],
    with_nodes: bool,
) -> Iterator[tuple[str, str, str]]:
    def seen(pair: tuple[str, str | None]) -> tuple[str, str | None]:
        """A pod without a place has no node, whatever the table says."""
        return pair if with_nodes and pair[0] not in ("Pending", "Failed") else (pair[0], None)

    want = Counter(map(seen, wanted))
    have = Counter(seen(found[pod]) for pod in pods)
    if want != have:
        yield who, str(dict(want)), str(dict(have))
