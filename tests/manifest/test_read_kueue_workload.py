"""A Workload says what is wanted; its status says what has quota, and is believed."""

from textwrap import dedent, indent

import pytest

from fairlead.manifest.kueue.objects import KueueWorkloadObject
from fairlead.manifest.kueue.reading.workload import read_kueue_workload
from tests.manifest.yaml_text import cursor_of, remarks

GI = 2**30
SECOND = "1970-01-01T00:00:0{}Z"


def read(spec: str, status: str = "{}") -> tuple[KueueWorkloadObject, list[str]]:
    cursor, findings = cursor_of(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\n"
        f"metadata: {{namespace: team, name: w, creationTimestamp: '{SECOND.format(1)}'}}\n"
        f"spec:\n{indent(dedent(spec), '  ')}\nstatus:\n{indent(dedent(status), '  ')}\n"
    )
    found = read_kueue_workload(cursor)
    assert found is not None
    return found, remarks(findings)


def pods(count: int = 4, more: str = "") -> str:
    """Return a spec with one pod set; each pod asks for 2 cores and 1 Gi."""
    return dedent(f"""
        queueName: jobs
        podSets:
        - name: main
          count: {count}
          template:
            spec:
              containers: [{{name: c, resources: {{requests: {{cpu: 2, memory: 1Gi}}}}}}]
    """) + indent(dedent(more), "  ")


def condition(kind: str, second: int, reason: str = "", status: str = "True") -> str:
    return (
        f"- {{type: {kind}, status: '{status}', reason: '{reason}', message: m, "
        f"observedGeneration: 1, lastTransitionTime: '{SECOND.format(second)}'}}"
    )


def admitted(assignment: str, *conditions: str) -> str:
    return "\n".join(
        [
            "conditions:",
            *(conditions or (condition("QuotaReserved", 5), condition("Admitted", 6))),
            "admission:",
            "  clusterQueue: q",
            f"  podSetAssignments: [{assignment}]",
        ]
    )


def test_a_pending_workload_asks_for_its_pods() -> None:
    found, told = read("""
        queueName: jobs
        priority: 7
        maximumExecutionTimeSeconds: 60
        podSets:
        - count: 2
          template:
            metadata: {labels: {a: b}}
            spec:
              priorityClassName: not-read-here
              nodeSelector: {zone: b}
              overhead: {cpu: 100m}
              containers:
              - {name: c, resources: {requests: {cpu: 1}}}
              - {name: d, resources: {limits: {nvidia.com/gpu: 1}}}
        - name: helper
          count: 3
          minCount: 1
          template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
        """)
    assert told == []
    assert (found.namespace, found.name, found.local_queue) == ("team", "w", "jobs")
    assert (found.priority, found.max_execution_s, found.created_ms) == (7, 60, 1000)
    assert (found.active, found.finished, found.evicted) == (True, False, False)
    assert (found.admitted_ms, found.admitted_by, found.requeued_ms) == (None, "", None)
    main, other = found.pod_sets
    # 1 core + 0.1 overhead; the GPU's limit stands in for its request
    assert dict(main.requests) == {"cpu": 1100, "nvidia.com/gpu": 1000, "pods": 1}
    assert (main.name, main.count, main.min_count, main.admitted) == ("main", 2, 2, 0)
    assert main.constraints.node_selector == (("zone", "b"),)
    assert (other.name, other.count, other.min_count) == ("helper", 3, 1)


def test_what_is_admitted_is_what_the_status_says() -> None:
    """Kueue charged 10 cores for 4 pods, so one costs 2.5, whatever the template says."""
    found, told = read(
        pods(4),
        admitted(
            "{name: main, count: 4, flavors: {cpu: spot, memory: spot}, "
            "resourceUsage: {cpu: 10, memory: 4Gi}, topologyAssignment: {levels: [rack]}}"
        ),
    )
    assert told == []
    (main,) = found.pod_sets
    assert dict(main.requests) == {"cpu": 2500, "memory": GI, "pods": 1}
    assert (main.count, main.admitted) == (4, 4)
    assert dict(main.flavors) == {"cpu": "spot", "memory": "spot"}
    assert (found.admitted_by, found.admitted_ms) == ("q", 5000)


@pytest.mark.parametrize(
    ("story", "assignment", "count", "admitted_pods"),
    [
        ("all of them where no count is given", "{flavors: {cpu: f}}", 4, 4),
        ("fewer in a partial admission", "{count: 3, flavors: {cpu: f}}", 4, 3),
        ("none at all", "{count: 0}", 4, 0),
    ],
)
def test_how_many_pods_have_quota(
    story: str, assignment: str, count: int, admitted_pods: int
) -> None:
    found, told = read(pods(4), admitted(assignment))
    assert told == []
    assert (found.pod_sets[0].count, found.pod_sets[0].admitted) == (count, admitted_pods)


def test_a_total_that_cannot_be_shared_evenly_leaves_the_requests_alone() -> None:
    found, told = read(pods(4), admitted("{flavors: {cpu: f}, resourceUsage: {cpu: 8001m}}"))
    assert told == [
        "warning contradiction $.status.admission.podSetAssignments[0].resourceUsage.cpu"
    ]
    assert found.pod_sets[0].requests["cpu"] == 2000


def test_pods_that_finished_early_hold_and_ask_for_nothing() -> None:
    """Of 4 admitted pods 1 is done: 3 are left, and one still costs 8 / 4 = 2 cores."""
    status = admitted("{count: 4, flavors: {cpu: f}, resourceUsage: {cpu: 8}}")
    found, told = read(pods(4), status + "\nreclaimablePods: [{name: main, count: 1}]")
    assert told == []
    (main,) = found.pod_sets
    assert (main.count, main.min_count, main.admitted) == (3, 3, 3)
    assert main.requests["cpu"] == 2000


def test_more_admitted_pods_than_there_are_is_doubtful() -> None:
    found, told = read(pods(4), admitted("{count: 5, flavors: {cpu: f}, resourceUsage: {cpu: 10}}"))
    assert told == ["warning contradiction $.status.admission.podSetAssignments[0].count"]
    assert (found.pod_sets[0].admitted, found.pod_sets[0].requests["cpu"]) == (4, 2000)


CONDITIONS = {
    "quota reserved, not yet admitted": (
        [condition("QuotaReserved", 5), condition("Admitted", 6, status="False")],
        5000,
    ),
    "admitted, and nothing about the reservation": ([condition("Admitted", 6)], 6000),
    "no time is given": (["- {type: QuotaReserved, status: 'True'}"], 1000),
}


@pytest.mark.parametrize(("given", "since_ms"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_since_when_quota_is_held(given: list[str], since_ms: int) -> None:
    found, told = read(pods(), admitted("{flavors: {cpu: f}}", *given))
    assert told == []
    assert found.admitted_ms == since_ms


def test_an_admission_that_its_conditions_deny_counts_as_pending() -> None:
    status = admitted("{flavors: {cpu: f}}", condition("QuotaReserved", 5, status="False"))
    found, told = read(pods(), status)
    assert told == ["warning contradiction $.status.admission"]
    assert (found.admitted_ms, found.pod_sets[0].admitted) == (None, 0)


def test_a_reservation_of_nothing_counts_as_pending() -> None:
    found, told = read(pods(), "conditions:\n" + condition("QuotaReserved", 5))
    assert told == ["warning contradiction $.status.conditions"]
    assert found.admitted_ms is None


@pytest.mark.parametrize(
    ("reason", "requeued_ms"),
    [("PodsReadyTimeout", 9000), ("AdmissionCheck", 9000), ("Preempted", None), ("", None)],
)
def test_only_some_evictions_send_a_workload_to_the_end_of_the_queue(
    reason: str, requeued_ms: int | None
) -> None:
    found, told = read(pods(), "conditions:\n" + condition("Evicted", 9, reason))
    assert told == []
    assert (found.evicted, found.requeued_ms) == (True, requeued_ms)


def test_when_a_workload_gave_way_to_another() -> None:
    """Kueue sets the condition to False when the workload has quota again."""
    preempted = condition("Preempted", 9, "InCohortFairSharing")
    assert read(pods(), "conditions:\n" + preempted)[0].preempted_ms == 9000
    again = condition("Preempted", 9, "QuotaReserved", "False")
    assert read(pods(), "conditions:\n" + again)[0].preempted_ms is None
    assert read(pods())[0].preempted_ms is None


@pytest.mark.parametrize(
    ("state", "until_ms", "expected"),
    [
        ("{count: 2, requeueAt: '1970-01-01T00:00:08Z'}", 8000, []),
        ("{requeueAt: '1970-01-01T01:00:08.5+01:00'}", 8500, []),
        ("{count: 2, requeueAt: null, future: 1}", None, []),
        ("{count: 2}", None, []),
        ("null", None, []),
        ("{requeueAt: soon}", None, ["error bad-timestamp $.status.requeueState.requeueAt"]),
        ("{requeueAt: 8}", None, ["error wrong-type $.status.requeueState.requeueAt"]),
        ("[]", None, ["error wrong-type $.status.requeueState"]),
    ],
)
def test_until_when_a_workload_is_kept_out_of_its_queue(
    state: str, until_ms: int | None, expected: list[str]
) -> None:
    found, told = read(pods(), f"requeueState: {state}")
    assert told == expected
    assert found.back_off_until_ms == until_ms


PREEMPTING = "WaitingForPreemptedWorkloads"


@pytest.mark.parametrize(
    ("kind", "status", "reason", "expected"),
    [
        ("QuotaReserved", "False", PREEMPTING, True),
        ("QuotaReserved", "False", "WaitingForQuota", False),
        ("QuotaReserved", "False", "", False),
        ("QuotaReserved", "Unknown", PREEMPTING, False),
        ("Admitted", "False", PREEMPTING, False),
    ],
)
def test_who_waits_for_those_that_give_way_to_it(
    kind: str, status: str, reason: str, expected: bool
) -> None:
    found, told = read(pods(), "conditions:\n" + condition(kind, 5, reason, status))
    assert told == []
    assert found.preempting is expected


def test_who_has_quota_waits_for_nobody_whatever_an_old_condition_says() -> None:
    old = condition("QuotaReserved", 5, PREEMPTING, status="False")
    found, told = read(pods(), admitted("{flavors: {cpu: f}}", old, condition("Admitted", 6)))
    assert told == []
    assert (found.admitted_ms, found.preempting) == (6000, False)


def test_who_lost_its_admission_may_wait_for_others_again() -> None:
    old = condition("QuotaReserved", 5, PREEMPTING, status="False")
    found, told = read(pods(), admitted("{flavors: {cpu: f}}", old))
    assert told == ["warning contradiction $.status.admission"]
    assert (found.admitted_ms, found.preempting) == (None, True)


def test_finished_and_inactive_workloads_are_told_apart() -> None:
    done, _ = read(pods(), "conditions:\n" + condition("Finished", 9))
    held, _ = read(pods() + "\nactive: false")
    assert (done.finished, done.active) == (True, True)
    assert (held.finished, held.active) == (False, False)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: high}",
            ("high", "WorkloadPriorityClass"),
        ),
        (
            "priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high}",
            ("high", "PriorityClass"),
        ),
        (
            "priorityClassName: high\npriorityClassSource: kueue.x-k8s.io/workloadpriorityclass",
            ("high", "WorkloadPriorityClass"),
        ),
        (
            "priorityClassName: high\npriorityClassSource: scheduling.k8s.io/priorityclass",
            ("high", "PriorityClass"),
        ),
        ("priorityClassName: high", ("high", "")),
        ("", ("", "")),
    ],
)
def test_the_priority_class_as_either_version_names_it(
    spec: str, expected: tuple[str, str]
) -> None:
    found, told = read(f"{pods()}\n{spec}")
    assert told == []
    assert (found.priority_class, found.priority_class_kind) == expected


def test_a_required_topology_is_no_constraint_that_we_know() -> None:
    found, told = read(pods(more="topologyRequest: {required: rack, podIndexLabel: i}"))
    assert told == []
    assert found.pod_sets[0].constraints.unsupported == ("topologyRequest",)
    found, _ = read(pods(more="topologyRequest: {preferred: rack}"))
    assert found.pod_sets[0].constraints.unsupported == ()


WRONG = {
    "no pod sets": ("queueName: jobs", "{}", "error missing-field $.spec.podSets"),
    "an empty list of pod sets": ("podSets: []", "{}", "error missing-field $.spec.podSets"),
    "pod sets that are no list": ("podSets: 5", "{}", "error wrong-type $.spec.podSets"),
    "a name twice": (
        "podSets: [{count: 1, template: {spec: {}}}, {count: 2, template: {spec: {}}}]",
        "{}",
        "error duplicate-entry $.spec.podSets[1].name",
    ),
    "a minimum above the count": (
        pods(2, more="minCount: 3"),
        "{}",
        "error out-of-range $.spec.podSets[0].minCount",
    ),
    "no template": (
        "podSets: [{count: 1}]",
        "{}",
        "error missing-field $.spec.podSets[0].template",
    ),
    "a count beyond all bounds": (
        "podSets: [{count: 2147483648, template: {spec: {}}}]",
        "{}",
        "error out-of-range $.spec.podSets[0].count",
    ),
    "a count that is no number, beside a minimum": (
        "podSets: [{count: many, minCount: 2, template: {spec: {}}}]",
        "{}",
        "error wrong-type $.spec.podSets[0].count",
    ),
    "a count that is no number, of admitted pods": (
        "podSets: [{count: many, template: {spec: {}}}]",
        admitted("{count: 3, flavors: {cpu: f}, resourceUsage: {cpu: 2}}"),
        "error wrong-type $.spec.podSets[0].count",
    ),
    "a name that is no text, beside the default name": (
        "podSets: [{count: 1, template: {spec: {}}}, {name: 5, template: {spec: {}}}]",
        "{}",
        "error wrong-type $.spec.podSets[1].name",
    ),
    "a pod set that is no mapping": (
        "podSets: [text, {count: 1, template: {spec: {}}}]",
        "{}",
        "error wrong-type $.spec.podSets[0]",
    ),
    "an assignment for nobody": (
        pods(1),
        admitted("{count: 1, flavors: {cpu: f}}, {name: ghost, count: 1}"),
        "warning missing-reference $.status.admission.podSetAssignments[1].name",
    ),
    "nothing assigned": (pods(1), admitted(""), "warning missing-reference $.spec.podSets[0]"),
    "two pod sets that may be smaller": (
        """\
        podSets:
        - {name: a, count: 2, minCount: 1, template: {spec: {}}}
        - {name: b, count: 2, minCount: 1, template: {spec: {}}}
        """,
        "{}",
        "warning contradiction $.spec.podSets[1].minCount",
    ),
    "a misspelt field": (
        pods(1, more="minCont: 1"),
        "{}",
        "warning unknown-field $.spec.podSets[0].minCont",
    ),
}


@pytest.mark.parametrize(("spec", "status", "expected"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_at_its_place(spec: str, status: str, expected: str) -> None:
    assert read(spec, status)[1] == [expected]


def test_a_status_may_say_more_than_we_know() -> None:
    status = "requeueState: {count: 2}\nadmissionChecks: [{name: a, state: Ready}]\nfuture: 1"
    assert read(pods(), status)[1] == []
