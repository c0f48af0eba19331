"""What the status of a Workload says between cycles reaches the state."""

from textwrap import dedent

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import KueueMemory
from fairlead.model.workload import KueueWorkload
from tests.manifest.test_assemble_kueue import cluster_queue, local_queue, sound, workload


def test_what_happened_to_a_workload_is_handed_on() -> None:
    status = dedent("""\
        status:
          requeueState: {requeueAt: "1970-01-01T00:01:00Z"}
          conditions:
          - {type: QuotaReserved, status: "False", reason: WaitingForPreemptedWorkloads}
          - type: Evicted
            status: "True"
            reason: PodsReadyTimeout
            lastTransitionTime: "1970-01-01T00:00:30Z"
          - type: Preempted
            status: "True"
            reason: InCohortFairSharing
            lastTransitionTime: "1970-01-01T00:00:29Z"
        """)
    state = sound(cluster_queue("a"), local_queue("jobs", "a"), workload("w") + status)
    assert state.workloads[WorkloadName("team/w")].extension == KueueWorkload(
        local_queue="jobs",
        requeued_ms=30_000,
        back_off_until_ms=60_000,
    )
    memory = state.memories[WorkloadName("team/w")]
    assert memory == KueueMemory(preempting=True, preempted_ms=29_000)


def test_who_is_evicted_and_still_has_quota_is_leaving() -> None:
    status = dedent("""\
        status:
          conditions:
          - {type: QuotaReserved, status: "True", lastTransitionTime: "1970-01-01T00:00:10Z"}
          - {type: Evicted, status: "True", reason: Preempted}
          admission:
            clusterQueue: a
            podSetAssignments:
            - {name: main, count: 1, flavors: {cpu: f}, resourceUsage: {cpu: 1}}
        """)
    state = sound(cluster_queue("a"), local_queue("jobs", "a"), workload("w") + status)
    (placed,) = state.runs[WorkloadName("team/w")].pods.values()
    assert (placed.phase, placed.started_ms) == ("leaving", 10_000)
