"""``fairlead explain JOB`` with Kueue's objects: place, flavors, quota, claim."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kueue_manifests import FAIR, flavor, queue, workload
from tests.cli.manifests import write
from tests.cli.run_cli import of_shard, run_cli
from tests.shared_folder import ROOT

EXAMPLE = str(ROOT / "examples" / "kueue")
NOW = ("--now", "2026-11-16T09:00:00Z")


def text(folder: Path, job: str, *objects: str) -> str:
    """Return what is printed for people."""
    ran = run_cli("explain", f"team/{job}", "-f", write(folder, "world.yaml", *objects), *NOW)
    assert ran.exit_code == 0, ran.err
    return ran.answer


def answer(folder: Path, job: str, *objects: str) -> str:
    return text(folder, job, *objects).splitlines()[0]


def lines(printed: str) -> list[list[str]]:
    """Return the words of every line."""
    return [line.split() for line in printed.splitlines()]


def document(folder: Path, job: str, *objects: str) -> dict[str, Any]:
    file = write(folder, "world.yaml", *objects)
    ran = run_cli("explain", f"team/{job}", "-f", file, *NOW, "-o", "json")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_one_that_starts_is_told_where_and_by_what_right(tmp_path: Path) -> None:
    """4 of 4 are free, and nobody who starts after it is counted."""
    world = (queue("a", f=4), workload("one", "a", 3), workload("two", "a", 1, minute=1))
    assert answer(tmp_path, "one", *world) == (
        "team/one gets quota for all of its 3 pods (f x3): "
        "within the quota of a: f/cpu: allocated 0 + request 3 <= quota 4."
    )
    (line,) = document(tmp_path, "one", *world)["flavors"]
    assert (line["judged"], line["taken"], line["available"]) == ("fits", True, "4")
    (later,) = document(tmp_path, "two", *world)["flavors"]
    assert later["available"] == "1"  # 4 - 3


def test_one_that_starts_in_part_is_judged_by_the_pods_that_it_gets(tmp_path: Path) -> None:
    """It asks for 6 and would take 2 or more: 4 are there."""
    world = (queue("a", f=4), workload("one", "a", 6, least=2))
    assert answer(tmp_path, "one", *world).startswith(
        "team/one gets quota for 4 of its 6 pods (f x4): "
    )
    assert "Flavors, for 4 of its 6 pods\n" in text(tmp_path, "one", *world)
    (line,) = document(tmp_path, "one", *world)["flavors"]
    assert (line["asks"], line["available"]) == ("4", "4")


LINE = (
    queue("a", f=4),
    workload("held", "a", 4, has="f"),
    workload("urgent", "a", 1, minute=9, priority=5),
    workload("early", "a", 2, minute=1),
    workload("later", "a", 2, minute=2),
    workload("next", "a", 2, minute=2),
)


def test_those_before_it_are_listed_with_the_rule_that_put_them_there(tmp_path: Path) -> None:
    printed = text(tmp_path, "next", *LINE)
    assert "Its position: 4 of 4 in a, 4 of 4 in team/a-jobs\n" in printed
    assert "1 team/urgent wait higher priority: 5 against 0".split() in lines(printed)
    since = "waits longer: since 2026-11-16T08:01:00Z, not 2026-11-16T08:02:00Z"
    place = document(tmp_path, "next", *LINE)["place"]
    assert [(each["workload"], each["why"]) for each in place["before"]] == [
        ("team/urgent", "higher priority: 5 against 0"),
        ("team/early", since),
        ("team/later", "first by name"),
    ]
    assert (place["positionInClusterQueue"], place["positionInLocalQueue"]) == (3, 3)
    assert "One for whom others leave" not in printed
    assert (place["pendingInClusterQueue"], place["queueingStrategy"]) == (4, "BestEffortFIFO")


def test_one_for_whom_others_give_way_already_is_the_first(tmp_path: Path) -> None:
    preempts = workload("late", "a", 2, minute=30) + (
        "status: {conditions: [{type: QuotaReserved, status: 'False', "
        "reason: WaitingForPreemptedWorkloads, lastTransitionTime: '2026-11-16T08:40:00Z'}]}\n"
    )
    first = document(tmp_path, "urgent", *LINE, preempts)["place"]["before"]
    assert [(each["workload"], each["why"]) for each in first] == [
        ("team/late", "its victims are already preempted")
    ]


def test_of_many_before_it_the_nearest_ten_are_shown(tmp_path: Path) -> None:
    crowd = [workload(f"w{at:02}", "a", 9, minute=at) for at in range(12)]
    printed = text(tmp_path, "last", queue("a", f=4), *crowd, workload("last", "a", 9, minute=20))
    assert "Its position: 13 of 13 in a" in printed
    assert "  2 earlier workloads are left out.\n" in printed
    assert "team/w01 " not in printed
    assert "team/w02 " in printed


def test_a_strict_line_names_who_blocks_it(tmp_path: Path) -> None:
    strict = queue("a", more="queueingStrategy: StrictFIFO", f=4)
    world = (strict, workload("big", "a", 9), workload("small", "a", 1, minute=1))
    printed = text(tmp_path, "small", *world)
    assert printed.startswith("team/small waits behind team/big, the first of a.\n")
    assert (
        "StrictFIFO: a workload that cannot be admitted blocks all workloads behind it." in printed
    )
    (line,) = document(tmp_path, "small", *world)["flavors"]
    assert line["judged"] == "fits"


def test_behind_one_for_whom_others_leave_it_is_said_that_this_one_stays_first(
    tmp_path: Path,
) -> None:
    printed = text(tmp_path, "next", *SHARING, workload("next", "a", 1, minute=1))
    assert printed.startswith("team/next waits behind team/claim, the first of a.\n")
    assert "A workload with preempted victims stays the head until it has its quota.\n" in printed


def test_each_flavor_is_told_with_how_it_was_judged(tmp_path: Path) -> None:
    """The pods run on all kinds but a: of b 1 of 2 is in use, c never has 2, and d will do."""
    where = """affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{matchExpressions: [{key: kind, operator: In, values: [b, c, d, e]}]}]
      }}},"""
    world = (
        *map(flavor, "abcde"),
        queue("q", a=9, b=2, c=1, d=4, e=9),
        workload("held", "q", 1, has="b"),
        workload("one", "q", 2, minute=1, where=where),
    )
    tried = document(tmp_path, "one", *world)["flavors"]
    assert [(each["flavor"], each["judged"], each["taken"]) for each in tried] == [
        ("a", "not eligible: a lacks kind in (b, c, d, e)", False),
        ("b", "too little quota, and no candidates", False),
        ("c", "more than its queue could ever have", False),
        ("d", "fits", True),
        ("e", "not tried", False),
    ]
    numbers = [(each["asks"], each["available"], each["potential"]) for each in tried]
    assert numbers == [
        ("2", "9", "9"),
        ("2", "1", "2"),
        ("2", "1", "1"),
        ("2", "4", "4"),
        ("2", "9", "9"),
    ]


def test_what_lacks_is_followed_upward_to_where_it_ends_and_who_holds_it(tmp_path: Path) -> None:
    """The cohort has 4 + 2; b uses 5 of them, 3 borrowed, so that 1 is left for a."""
    world = (
        queue("a", "all", f=4),
        queue("b", "all", f=2),
        workload("guest", "b", 5, has="f"),
        workload("one", "a", 3),
    )
    printed = text(tmp_path, "one", *world)
    assert printed.startswith(
        "team/one waits for quota at cohort/all: f/cpu: request 3 > available 1; "
        "held by b 5 (3 borrowed); preemption: a may not preempt: "
    )
    assert "f/cpu a 4 0 - 1 6".split() in lines(printed)
    assert "f/cpu cohort/all limits it 6 5 - 1 6".split() in lines(printed)
    assert "  f/cpu is held by b 5 (3 borrowed).\n" in printed
    (path,) = document(tmp_path, "one", *world)["paths"]
    assert (path["resource"], path["endsAt"]) == ("f/cpu", "cohort/all")
    assert path["held"] == [{"queue": "b", "resource": "f/cpu", "amount": "5", "borrowed": "3"}]
    own = {"quota": "4", "allocated": "0", "borrowLimit": None, "available": "1", "potential": "6"}
    assert path["levels"][0] == {"queue": "a", **own}


def test_room_that_is_promised_counts_as_taken(tmp_path: Path) -> None:
    """Queue b uses 7 of 8. For 4 that a owns, 3 have to leave; the 1 that is free is promised."""
    world = (
        queue("a", "all", "preemption: {reclaimWithinCohort: Any}", f=4),
        queue("b", "all", f=4),
        workload("guest", "b", 4, has="f"),
        workload("spare", "b", 3, has="f", priority=-1),
        workload("owner", "a", 4),
        workload("tiny", "b", 1, minute=3),
    )
    printed = text(tmp_path, "tiny", *world)
    assert printed.startswith(
        "team/tiny waits for quota at cohort/all, which is kept for team/owner: f/cpu: request 1 > "
    )
    assert "Allocated includes quota kept for other workloads, as if their victims " in printed
    (path,) = document(tmp_path, "tiny", *world)["paths"]
    assert path["levels"][-1]["allocated"] == "8"  # 4 + 4, once 3 have left


SHARING = (
    FAIR,
    queue("a", "all", "preemption: {reclaimWithinCohort: Any}", f=0),
    queue("b", "all", f=0),
    queue("pool", "all", f=8),
    workload("first", "b", 4, has="f"),
    workload("second", "b", 4, has="f"),
    workload("claim", "a", 3),
)


def test_the_shares_of_both_sides_are_told_to_who_gains_and_to_who_loses(tmp_path: Path) -> None:
    """Queue b borrows 8 of 8, then 4: 1000 and 500. Queue a borrows none, then 3 of 8: 375."""
    gains, loses = (text(tmp_path, job, *SHARING) for job in ("claim", "first"))
    assert gains.startswith("team/claim gets quota for all of its 3 pods (f x3) when team/first ")
    assert loses.startswith(
        "team/first loses its quota, for team/claim: b borrows more than its fair share"
    )
    for printed in (gains, loses):
        assert "team/first a 0 375".split() in lines(printed)
        assert "team/first b 1000 500".split() in lines(printed)
    assert "It holds quota since 2026-11-16T08:30:00Z, of f x4\n" in loses
    assert "  b borrows of f/cpu.\n" in loses
    victims = document(tmp_path, "claim", *SHARING)["victims"]
    assert [each["workload"] for each in victims] == ["team/first"]


def test_one_that_keeps_its_quota_is_told_what_it_has(tmp_path: Path) -> None:
    world = (queue("a", f=4), workload("held", "a", 3, has="f"))
    assert answer(tmp_path, "held", *world) == (
        "team/held has its quota and keeps it, so there is nothing to decide."
    )
    found = document(tmp_path, "held", *world)
    assert found["quota"] == {
        "since": "2026-11-16T08:30:00Z",
        "podSets": [{"name": "main", "count": 3, "flavors": {"cpu": "f"}}],
        "resources": [
            {"resource": "f/cpu", "used": "3", "allocated": "3", "quota": "4", "borrowed": "0"}
        ],
    }
    assert (found["place"], found["flavors"], found["paths"]) == (None, [], [])


@pytest.mark.parametrize(
    ("changed", "told", "advice"),
    [
        (
            ("  priority: 0", "  active: false"),
            "waits: deactivated by its owner.",
            "Set spec.active: true to queue it again.",
        ),
        (
            ("queueName: a-jobs", "queueName: lost"),
            "waits: cannot be admitted: LocalQueue team/lost does not exist.",
            "fairlead validate names the file and the line.",
        ),
        (
            ("clusterQueue: a}", "clusterQueue: lost}"),
            "waits: cannot be admitted: ClusterQueue lost does not exist.",
            "fairlead validate names the file and the line.",
        ),
        (
            ("clusterQueue: a}", "clusterQueue: a, stopPolicy: Hold}"),
            "waits: held back: team/a-jobs is stopped.",
            "It is queued again once team/a-jobs has stopPolicy: None.",
        ),
        (
            ("spec:\n  namespaceSelector", "spec:\n  stopPolicy: Hold\n  namespaceSelector"),
            "waits: held back: a is stopped.",
            "It is queued again once a has stopPolicy: None.",
        ),
        (
            ("name: main, image", "name: main, image"),
            "gets quota for its pod (f): ",
            "",
        ),
    ],
    ids=["owner", "local queue", "cluster queue", "stopped door", "stopped queue", "nothing wrong"],
)
def test_one_refused_at_the_door_is_told_what_to_do(
    tmp_path: Path, changed: tuple[str, str], told: str, advice: str
) -> None:
    world = [each.replace(*changed) for each in (queue("a", f=4), workload("one", "a", 1))]
    printed = text(tmp_path, "one", *world)
    assert printed.startswith(f"team/one {told}")
    assert advice in printed
    assert ("What you can do" in printed) is bool(advice)


def test_one_that_waits_for_its_back_off_is_told_until_when(tmp_path: Path) -> None:
    requeued = workload("one", "a", 1) + (
        "status: {requeueState: {count: 1, requeueAt: '2026-11-16T09:05:00Z'}}\n"
    )
    printed = text(tmp_path, "one", queue("a", f=4), requeued)
    assert printed.startswith("team/one waits: held back after evictions, for 5m more.\n")
    assert "It is queued again at 2026-11-16T09:05:00Z." in printed


def test_one_without_pods_is_no_trouble(tmp_path: Path) -> None:
    assert answer(tmp_path, "one", queue("a", f=4), workload("one", "a", 0)) == (
        "team/one has no pods, so there is nothing to decide."
    )


def test_a_job_that_has_finished_is_said_to_have() -> None:
    ran = run_cli("explain", "team-analytics/yesterday", "-f", EXAMPLE)
    assert ran.out.endswith(
        "Workload team-analytics/yesterday has finished: it holds nothing and waits for nothing.\n"
    )


def test_a_job_that_never_was_is_not_found() -> None:
    ran = run_cli("explain", "team-x/unheard", "-f", EXAMPLE)
    assert (ran.exit_code, ran.out) == (1, "")
    assert "nothing in the input is named 'team-x/unheard'." in ran.err


def test_every_job_of_the_example_can_be_explained_in_every_form() -> None:
    ran = run_cli("plan", "-f", EXAMPLE, *NOW, "-o", "json")
    decisions = of_shard(ran.out)["cycles"][0]["decisions"]
    for name in {each["workload"] for each in decisions}:
        found = json.loads(run_cli("explain", name, "-f", EXAMPLE, *NOW, "-o", "json").out)
        assert found["decisions"] == [each for each in decisions if each["workload"] == name]
        printed = run_cli("explain", name, "-f", EXAMPLE, *NOW).answer
        assert printed.startswith(f"{found['answer']}\n")


USED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: team, name: busy-jobs}
spec: {clusterQueue: a}
status:
  fairSharing:
    admissionFairSharingStatus:
      {consumedResources: {cpu: 8}, lastUpdate: "2026-11-16T09:00:00Z"}
"""
BY_USE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing: {usageHalfLifeTime: 10m}
"""


def test_one_whose_local_queue_used_less_of_late_is_before_it(tmp_path: Path) -> None:
    """Of late busy-jobs has used 8 cores, and a-jobs none: that comes before the priority."""
    world = (
        BY_USE,
        queue("a", more="admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}", f=4),
        USED,
        workload("modest", "a", 5),
        workload("urgent", "busy", 5, priority=9),
    )
    place = document(tmp_path, "urgent", *world)["place"]
    assert [(each["workload"], each["why"]) for each in place["before"]] == [
        ("team/modest", "team/a-jobs has used less recently: 0 against 8")
    ]
    assert place["positionInLocalQueue"] == 0
