"""Admission and preemption under ElasticQuotas, where the plugin's own cost was measured."""

from collections import Counter

from bench.elastic_world import NAMESPACES, NOW_MS, full_cluster, waiting
from bench.harness import Work, benchmark
from fairlead.model.events import WorkloadAdded
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import NodeOutcome
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings

OURS = ElasticQuotaSettings()
EMPTY = 50  # the first namespace without a pod


@benchmark("elastic-quota: admission of one pod", goal_cpu_ms=0.05, peer="plugin 2.5 ms")
def admission() -> Work:
    """Both rules for a pod of an empty namespace, refused because all mins are in use."""
    state, workload = _with(waiting("new", EMPTY))
    context = PlanningContext(state, OURS, NOW_MS)

    def admit() -> None:
        pending = context.pending_pod(workload, workload.pods()[0])
        violation = context.admission.violation(pending)
        assert violation is not None

    return admit


@benchmark("elastic-quota: preemption for 1 GPU", goal_cpu_ms=5.0, peer="plugin 6.5 s")
def one_gpu() -> Work:
    """The best of 1,000 nodes for a pod of one GPU, by our rules."""
    return _preemption(OURS, gpus=1)


@benchmark("elastic-quota: preemption for 8 GPUs", goal_cpu_ms=30.0)
def eight_gpus() -> Work:
    """The best of 1,000 nodes for a pod that needs all of one."""
    return _preemption(OURS, gpus=8)


@benchmark("elastic-quota: preemption for 1 GPU, faithful", goal_cpu_ms=5.0, peer="plugin 6.5 s")
def one_gpu_faithful() -> Work:
    """The same as the plugin decides it."""
    return _preemption(FAITHFUL, gpus=1)


@benchmark("elastic-quota: preemption for 8 GPUs, faithful", goal_cpu_ms=30.0)
def eight_gpus_faithful() -> Work:
    """The same for all GPUs of a node."""
    return _preemption(FAITHFUL, gpus=8)


@benchmark("elastic-quota: 1,000 pods that preempt", goal_cpu_ms=5_000.0, peer="plugin 2.3 h")
def a_thousand() -> Work:
    """A whole plan from nothing: 20 pods of one GPU in each empty namespace, one after another."""
    state = full_cluster()
    for at in range(1_000):
        state.apply(WorkloadAdded(waiting(f"new{at:03}", EMPTY + at % (NAMESPACES - EMPTY))))

    def plan() -> None:
        decided = ElasticQuotaPolicy(OURS).plan(state, NOW_MS).decisions
        kinds = Counter(type(each).__name__ for each in decided)
        assert kinds == {"Evict": 1_000, "Reserve": 1_000}, kinds

    return plan


@benchmark("elastic-quota: a gang of 16 x 8 GPUs on 16 nodes", goal_cpu_ms=1_000.0)
def gang() -> Work:
    """A whole plan from nothing; the min of the gang's namespace is 128 GPUs, the next one's 32."""
    mins = [80] * NAMESPACES
    mins[EMPTY : EMPTY + 2] = [128, 32]
    state = full_cluster(mins)
    state.apply(WorkloadAdded(waiting("gang", EMPTY, gpus=8, pods=16)))

    def plan() -> None:
        decided = ElasticQuotaPolicy(OURS).plan(state, NOW_MS).decisions
        kinds = Counter(type(each).__name__ for each in decided)
        assert kinds == {"Evict": 128, "Reserve": 1}, kinds

    return plan


@benchmark("elastic-quota: 1,000 wait in vain, and one more comes", goal_cpu_ms=25.0)
def one_more() -> Work:
    """1,000 pods of a full namespace wait; the policy knows why, and one more pod comes."""
    state = full_cluster()
    for at in range(1_000):
        state.apply(WorkloadAdded(waiting(f"new{at:03}", at % 50)))
    policy = ElasticQuotaPolicy(OURS)
    policy.plan(state, NOW_MS)
    extra = waiting("extra", 0)

    def plan() -> None:
        with state.trial():
            state.apply(WorkloadAdded(extra))
            decided = policy.plan(state, NOW_MS).decisions
            assert len(decided) == 1_001

    return plan


def _preemption(settings: ElasticQuotaSettings, *, gpus: int) -> Work:
    state, workload = _with(waiting("new", EMPTY, gpus=gpus))
    context = PlanningContext(state, settings, NOW_MS)
    pending = context.pending_pod(workload, workload.pods()[0])
    violation = context.admission.violation(pending)
    context.running.by_lowest_priority()  # the index is kept from plan to plan
    outcomes = PodPreemption(context, pending, violation).outcomes().values()
    plain = min([each for each in outcomes if each.victims], key=lambda each: each.cost)

    def preemption() -> NodeOutcome | None:
        best = PodPreemption(context, pending, violation).best()
        assert best == plain, (best, plain)
        return best

    return preemption


def _with(workload: Workload) -> tuple[ClusterState, Workload]:
    state = full_cluster()
    state.apply(WorkloadAdded(workload))
    return state, workload
