"""Which pods of a job start next, and how many it has against its minimums."""

from typing import Literal

import pytest
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.run import Placed, Run
from fairlead.model.workload import KaiJob, PodId, PodSet, PodSets, SubGroup, Workload, numbered_pod
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from tests.model.worlds import workload
from tests.text_table import rows

Phase = Literal["running", "leaving", "reserved"]
PHASES: dict[str, Phase] = {"r": "running", "l": "leaving", "p": "reserved"}

# A line per pod set; a group ending in ! is gated. Each letter is a pod: r runs, l is leaving,
# p has a reservation (promised), w waits. next: the ordinals of the set that would start.
# groups: leaf=minimum, or inner/leaf=minimum; some: how many must start, of top or of an inner one.
CASES = {
    "one group starts its minimum at once": """
        groups -   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    -      -      wwww   0,1,2
    """,
    "and only what is missing of it": """
        groups -   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    -      -      wrww   0,2
    """,
    "at its minimum one by one": """
        groups -   some -   minimum 2   is at   waits no
        set  group  order  pods   next
        m    -      -      rrww   2
    """,
    "above it as well": """
        groups -   some -   minimum 2   is above   waits no
        set  group  order  pods   next
        m    -      -      rrrw   3
    """,
    "with all of them nothing is left to start": """
        groups -   some -   minimum 2   is above   waits no
        set  group  order  pods   next
        m    -      -      rrr    -
    """,
    "a pod that is leaving no longer counts, and cannot start before it has left": """
        groups -   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    -      -      rlww   2,3
    """,
    "with too few pods nothing starts: 3 - 1 running = 2 missing, 1 waits": """
        groups -   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    -      -      rlw    -
    """,
    "pods that are held back do not start, nor count for the minimum": """
        groups -   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    -      -      ww     -
        n    -!     -      www    -
    """,
    "the others start without them": """
        groups -   some -   minimum 2   is below   waits no
        set  group  order  pods   next
        m    -      -      www    0,1
        n    -!     -      www    -
    """,
    "a higher order starts first, then those without one, by name": """
        groups -   some -   minimum 4   is below   waits no
        set  group  order  pods   next
        a    -      -      ww     0
        b    -      1      w      0
        c    -      7      ww     0,1
    """,
    "every sub-group has its own minimum": """
        groups a=2,b=1   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      www    0,1
        n    b      -      www    0
    """,
    "many pods of one do not make up for another": """
        groups a=2,b=1   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      rrrw   -
        n    b      -      www    0
    """,
    "too few pods in one hold the job up": """
        groups a=2,b=1   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      w      -
        n    b      -      www    -
    """,
    "above all minimums the first sub-group by name goes on": """
        groups a=1,b=1   some -   minimum 2   is at   waits no
        set  group  order  pods   next
        m    b      -      rw     -
        n    a      -      rw     1
    """,
    # 5 - (2 + 1) = 2 of the pods in no sub-group
    "what the sub-groups leave of the minimum is for the pods in none": """
        groups a=2,b=1   some -   minimum 5   is below   waits no
        set  group  order  pods   next
        m    a      -      ww     0,1
        n    b      -      ww     0
        o    -      -      www    0,1
    """,
    "where all pods are in sub-groups, their minimums alone count": """
        groups a=1,b=1   some -   minimum 4   is below   waits no
        set  group  order  pods   next
        m    a      -      ww     0
        n    b      -      ww     0
    """,
    "a sub-group without a minimum needs one pod": """
        groups a=-,b=2   some -   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      ww     0
        n    b      -      ww     0,1
    """,
    "only leaves of nested sub-groups hold pods": """
        groups x/a=1,x/b=2,c=1   some -   minimum 4   is below   waits no
        set  group  order  pods   next
        m    a      -      ww     0
        n    b      -      ww     0,1
        o    c      -      ww     0
    """,
    "one of two sub-groups must start: the first by name": """
        groups a=2,b=1   some top=1   minimum 1   is below   waits no
        set  group  order  pods   next
        m    a      -      www    0,1
        n    b      -      www    -
    """,
    "or the one that has its minimum": """
        groups a=2,b=1   some top=1   minimum 1   is at   waits no
        set  group  order  pods   next
        m    a      -      www    -
        n    b      -      rww    1
    """,
    "the pods of the others start one by one, after those that are needed": """
        groups a=2,b=1   some top=1   minimum 1   is at   waits no
        set  group  order  pods   next
        m    a      -      www    0
        n    b      -      r      -
    """,
    "and put the job above its minimum": """
        groups a=2,b=1   some top=1   minimum 1   is above   waits no
        set  group  order  pods   next
        m    a      -      rww    1
        n    b      -      r      -
    """,
    "pods that are leaving give the choice back to the names": """
        groups a=2,b=1   some top=1   minimum 1   is below   waits no
        set  group  order  pods   next
        m    a      -      www    0,1
        n    b      -      lww    -
    """,
    "two of three: the one that has its minimum and the first of the rest": """
        groups a=2,b=2,c=1   some top=2   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      rw     1
        n    b      -      ww     -
        o    c      -      rw     -
    """,
    "a needed sub-group with too few pods holds the job up": """
        groups a=2,b=1   some top=1   minimum 1   is below   waits no
        set  group  order  pods   next
        m    a      -      w      -
        n    b      -      w      -
    """,
    "nested: one of x, and y": """
        groups x/a=1,x/b=1,y=1   some x=1   minimum 2   is below   waits no
        set  group  order  pods   next
        m    a      -      w      0
        n    b      -      w      -
        o    y      -      w      0
    """,
    "nested: x has what it needs in b, so it goes before w and y": """
        groups x/a=1,x/b=1,y=1,w=1   some top=1,x=1   minimum 1   is at   waits no
        set  group  order  pods   next
        m    a      -      w      -
        n    b      -      rw     1
        o    y      -      w      -
        p    w      -      w      -
    """,
    "none needs to start: one by one from the first": """
        groups x/a=2,x/b=2   some x=0   minimum 1   is at   waits no
        set  group  order  pods   next
        m    a      -      ww     0
        n    b      -      ww     -
    """,
    "more than there are is all of them": """
        groups a=1,b=1   some top=9   minimum 2   is below   waits no
        set  group  order  pods   next
        m    a      -      w      0
        n    b      -      w      0
    """,
    "some and pods in no sub-group: 3 - 1 = 2 of those": """
        groups a=2,b=1   some top=1   minimum 3   is below   waits no
        set  group  order  pods   next
        m    a      -      ww     0,1
        n    b      -      ww     -
        o    -      -      www    0,1
    """,
    "a group that rests on a reservation makes all wait": """
        groups -   some -   minimum 2   is at   waits yes
        set  group  order  pods   next
        m    -      -      rpw    2
    """,
    "not if its minimum runs without it": """
        groups -   some -   minimum 2   is above   waits no
        set  group  order  pods   next
        m    -      -      rrpw   3
    """,
    "who is leaving does not run for the minimum": """
        groups -   some -   minimum 2   is at   waits yes
        set  group  order  pods   next
        m    -      -      rlpw   3
    """,
    "one sub-group is enough to wait for": """
        groups a=1,b=1   some -   minimum 2   is above   waits yes
        set  group  order  pods   next
        m    a      -      rr     -
        n    b      -      pw     1
    """,
    "an optional one is not": """
        groups a=1,b=1   some top=1   minimum 1   is above   waits no
        set  group  order  pods   next
        m    a      -      r      -
        n    b      -      pw     1
    """,
}


def sub_groups(text: str, some: dict[str, int]) -> tuple[SubGroup, ...]:
    found: dict[str, SubGroup] = {}
    for each in text.split(",") if text != "-" else []:
        path, _, minimum = each.partition("=")
        parent, _, name = path.rpartition("/")
        if parent:
            found[parent] = SubGroup(name=parent, min_sub_group=some.get(parent))
        least = None if minimum == "-" else int(minimum)
        found[name] = SubGroup(name=name, parent=parent or None, min_member=least)
    return tuple(found.values())


def pod_set(row: dict[str, str]) -> PodSet:
    return PodSet(
        name=row["set"],
        count=len(row["pods"]),
        min_count=0,
        requests=(1,),
        gated=row["group"].endswith("!"),
        sub_group=row["group"].strip("-!"),
        start_order=None if row["order"] == "-" else int(row["order"]),
    )


def job(facts: dict[str, str], sets: list[dict[str, str]]) -> Workload:
    pairs = [each.split("=") for each in facts["some"].split(",") if each != "-"]
    some = {name: int(count) for name, count in pairs}
    return Workload(
        name=WorkloadName("w"),
        queue=QueueName("q"),
        pod_sets=PodSets(map(pod_set, sets)),
        min_count=int(facts["minimum"]),
        extension=KaiJob(
            sub_groups=sub_groups(facts["groups"], some), min_sub_group=some.get("top")
        ),
    )


def run_of(sets: list[dict[str, str]]) -> Run | None:
    pods = {
        numbered_pod(row["set"], ordinal): Placed("n", 0, PHASES[letter])
        for row in sets
        for ordinal, letter in enumerate(row["pods"])
        if letter != "w"
    }
    return run_with(pods) if pods else None


def run_with(pods: dict[PodId, Placed]) -> Run:
    reserved = {pod: None for pod, placed in pods.items() if placed.phase == "reserved"}
    return Run(
        pods=pods, reserved=reserved, pod_sets=PodSets(), charges=(), own_charges={}, flavors=()
    )


def read(case: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return what is said of the job and of each of its pod sets."""
    head, table = case.strip().split("\n", 1)
    words = head.split()
    return dict(zip(words[::2], words[1::2], strict=True)), rows(table)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_starts_next(case: str) -> None:
    facts, sets = read(case)
    gang, run = Gang(job(facts, sets)), run_of(sets)
    expected = {
        numbered_pod(row["set"], int(ordinal))
        for row in sets
        for ordinal in row["next"].split(",")
        if ordinal != "-"
    }
    found = gang.next_pods(run)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert gang.fullness(run) == Fullness[facts["is"].upper()]
    assert (run is not None and gang.must_wait(run)) == (facts["waits"] == "yes")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_pods_that_start_one_by_one_are_the_next_pods_each_time(case: str) -> None:
    facts, sets = read(case)
    gang, run = Gang(job(facts, sets)), run_of(sets)
    is_known = facts["is"] != "below" and facts["some"] == "-"
    expected: list[PodId] = []
    pods = dict(run.pods) if run else {}
    while is_known and (found := gang.next_pods(run_with(pods))):
        expected += found
        pods |= {pod: Placed("n", 0, "running") for pod in found}
    assert gang.one_by_one(run) == tuple(expected)


def test_pods_are_listed_in_the_order_in_which_they_start() -> None:
    table = """
        set  group  order  pods
        b    -      -      ww
        a    -      -      w
        z    -      2      w
        y    -      3      w
    """
    facts = {"groups": "-", "some": "-", "minimum": "5"}
    gang = Gang(job(facts, rows(table)))
    assert gang.next_pods(None) == (
        numbered_pod("y", 0),
        numbered_pod("z", 0),
        numbered_pod("a", 0),
        numbered_pod("b", 0),
        numbered_pod("b", 1),
    )


def test_a_workload_of_no_pod_group_is_one_group() -> None:
    """Pods by name are pods by number here, not by the text of it."""
    plain = Workload(
        name=WorkloadName("w"),
        queue=QueueName("q"),
        pod_sets=PodSets((PodSet(name="m", count=12, min_count=0, requests=(1,)),)),
        min_count=11,
    )
    assert Gang(plain).next_pods(None) == tuple(numbered_pod("m", ordinal) for ordinal in range(11))


def test_a_gang_that_has_all_its_pods_is_broken_if_they_are_too_few() -> None:
    """It needs two, and has one; nothing more can start."""
    needy = replace(workload("w", "q"), min_count=2)
    there = {numbered_pod("main", 0): Placed("n", 0, "running", None)}
    run = Run(
        pods=there, reserved={}, pod_sets=needy.pod_sets, charges=(), own_charges={}, flavors=()
    )
    gang = Gang(needy)
    assert gang.broken(run) == [("", 1, 2)]
    assert gang.next_pods(run) == ()
    assert gang.fullness(run) == Fullness.BELOW
