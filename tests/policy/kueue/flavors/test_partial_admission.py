"""How many pods a workload starts with that could not start in full."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.queue import FlavorFungibility
from fairlead.policy.kueue.flavors.nomination import Counts, admit_partially
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import Demand
from tests.policy.kueue.cycle_world import (
    AS_A_RULE,
    CLASSICAL,
    FAIR,
    CycleWorld,
    cycle_worlds,
    flavors_of,
    lines,
    read_world,
    told,
)
from tests.scale_examples import scale_examples

QUEUES = "name within reclaim parent red/cpu blue/cpu\n"
HELD = "name queue priority uses\n"
HEADS = "name queue priority asks\n"
NO_GATE = KueueSettings(fair_sharing=True, feature_gates=(("PartialAdmission", False),))
BOTH_HELD = "low  q 0 red/cpu=2\nhigh q 9 red/cpu=2"


class Story(NamedTuple):
    queues: str
    held: str
    head: str
    expected: str  # counts, mode, flavors and who gives way
    settings: KueueSettings = FAIR
    fungibility: FlavorFungibility = AS_A_RULE


STORIES = {
    # 5 x 2 = 10 > 7, 4 x 2 = 8 > 7, 3 x 2 = 6 <= 7.
    "as many pods start as there is room for": Story(
        "q never never - 7 -", "", "w q 0 2-5xcpu=2", "3 FIT cpu=red"
    ),
    # The same with 1 in use: 3 x 2 = 6 <= 7 - 1.
    "what is in use leaves room for fewer": Story(
        "q never never - 8 -", "k q 9 red/cpu=1", "w q 0 2-5xcpu=2", "3 FIT cpu=red"
    ),
    "who fits in full starts in full": Story(
        "q never never - 10 -", "", "w q 0 2-5xcpu=2", "5 FIT cpu=red"
    ),
    # 4 x 2 = 8 > 7. It is told as it was in full.
    "who does not fit with the fewest pods either waits in full": Story(
        "q never never - 7 -", "", "w q 0 4-5xcpu=2", "5 NO_FIT"
    ),
    "who needs all its pods waits for them": Story(
        "q never never - 7 -", "", "w q 0 5xcpu=2", "5 NO_FIT"
    ),
    "a minimum that is the count asks for all": Story(
        "q never never - 7 -", "", "w q 0 5-5xcpu=2", "5 NO_FIT"
    ),
    "without the gate nobody starts in part": Story(
        "q never never - 7 -", "", "w q 0 2-5xcpu=2", "5 NO_FIT", NO_GATE
    ),
    # 3 x 2 = 6; 2 are free, low and high could give 2 each: 2 + 2 + 2 = 6.
    "victims for all pods are found before fewer pods are tried": Story(
        "q lower never - 6 -", BOTH_HELD, "w q 10 1-3xcpu=2", "3 PREEMPT cpu=red high low"
    ),
    # high stays: 2 + 2 = 4 = 2 x 2. With 1 pod no workload would have to go, but 2 are more.
    "more pods with a victim come before fewer without": Story(
        "q lower never - 6 -", BOTH_HELD, "w q 5 1-3xcpu=2", "2 PREEMPT cpu=red low"
    ),
    "the same without fair sharing": Story(
        "q lower never - 6 -", BOTH_HELD, "w q 5 1-3xcpu=2", "2 PREEMPT cpu=red low", CLASSICAL
    ),
    # No workload may go: 2 free = 1 x 2.
    "fewer pods start where nobody gives way": Story(
        "q never never - 6 -", BOTH_HELD, "w q 5 1-3xcpu=2", "1 FIT cpu=red"
    ),
    # Quota 6, 2 free, no workload gives way, and 2 pods at least: 2 x 2 > 2. In full 3 x 2 <= 6.
    "who finds nobody with any count waits in full for those who hold": Story(
        "q never never - 6 -", BOTH_HELD, "w q 5 2-3xcpu=2", "3 PREEMPT cpu=red"
    ),
    # In full 6 > 3, 6 > 5; with 5 pods red has too little and blue enough.
    "every count tries the flavors anew": Story(
        "q never never - 3 5", "", "w q 0 1-6xcpu=1", "5 FIT cpu=blue"
    ),
    # 1 x 2 stays; 7 - 2 = 5 is room for 2 x 2.
    "a set that says no minimum keeps its pods": Story(
        "q never never - 7 -", "", "w q 0 cpu=2+1-5xcpu=2", "1 2 FIT cpu=red+cpu=red"
    ),
    # Cuts of 1, 2, 3, ... of 3 + 3 pods: 3 * cut // 6 of each, so both lose one at a cut of 2.
    # 2 * 1 + 2 * 1 = 4 <= 5.
    "two sets shrink together": Story(
        "q never never - 5 -", "", "w q 0 0-3xcpu=1+0-3xcpu=1", "2 2 FIT cpu=red+cpu=red"
    ),
    "a set may be left without pods": Story(
        "q never never - 0 -", "", "w q 0 0-3xcpu=1", "0 FIT cpu=red"
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_with_how_many_pods(story: Story) -> None:
    world = read_world(
        "red blue: cpu" if story.queues.split()[-1] != "-" else "red: cpu",
        QUEUES + story.queues,
        HELD + story.held if story.held else "",
        HEADS + story.head,
        settings=story.settings,
        fungibility=story.fungibility,
    )
    (found,) = world.nominations()
    counts = " ".join(map(str, found.counts))
    targets = " ".join(sorted(target.workload.name for target in found.targets))
    words = [counts, found.mode().name, flavors_of(found), targets]
    assert " ".join(word for word in words if word) == story.expected


def test_no_more_than_the_part_is_charged() -> None:
    """Quota 9: 4 x 2 = 8 for v, which leaves 1 for w and nothing for x. All borrow, in that order.

    With fair sharing the shares would be 8/9, 1/9 and 1/9: so it is off here.
    """
    turns = read_world(
        "red: cpu",
        """
        name parent within reclaim red/cpu
        root -      -      -       9
        a    root   never  never   0
        b    root   never  never   0
        c    root   never  never   0
        """,
        "",
        """
        name queue queued asks
        v    a     0      1-5xcpu=2
        w    b     1      cpu=1
        x    c     2      cpu=1
        """,
        settings=CLASSICAL,
    ).turns()
    assert [told(turn) for turn in turns] == lines("""
        v admitted cpu=red
        w admitted cpu=red
        x skipped cpu=red
    """)
    assert [turn.nomination.counts for turn in turns] == [(4,), (1,), (1,)]


def test_whoever_looks_again_does_so_in_full_first() -> None:
    """Root 6, all used by x and y, 3 each; a and b have 3 each and reclaim them.

    On the first look w (1-2 pods of 3) finds x for a single pod, being entitled to 3 and not 6;
    so does v. v goes first and takes x. w looks again, with x gone and v charged: in full 6 > 3,
    so again a single pod, now with y giving way.
    """
    world = read_world(
        "red: cpu",
        """
        name parent within reclaim red/cpu
        root -      -      -       0
        a    root   never  any     3:borrow0
        b    root   never  any     3:borrow0
        z    root   never  never   0
        """,
        """
        name queue since uses
        x    z     2     red/cpu=3
        y    z     1     red/cpu=3
        """,
        """
        name queue queued asks
        v    a     0      1-2xcpu=3
        w    b     1      1-2xcpu=3
        """,
    )
    assert [found.targets[0].workload.name for found in world.nominations()] == ["x", "x"]
    turns = world.turns()
    assert [told(turn) for turn in turns] == lines("""
        v preempting cpu=red x
        w preempting cpu=red y
    """)
    assert [turn.nomination.counts for turn in turns] == [(1,), (1,)]


def counts_within(total: int, *demands: Demand) -> Counts | None:
    """The largest counts with at most so many pods in all."""
    return admit_partially(demands, lambda counts: counts if sum(counts) <= total else None)


def test_sets_shrink_in_proportion_to_what_they_could_do_without() -> None:
    """4 and 20 pods could do without 2 and 10. A cut of 6 of 12 is half of each: 1 and 5.

    A cut of 5 would be 2 * 5 // 12 = 0 and 10 * 5 // 12 = 4: 1 + 4 + 16 = 21 > 20.
    """
    fixed, some, many = Demand({}), Demand({}, 4, 2), Demand({}, 20, 10)
    assert counts_within(20, fixed, some, many) == (1, 3, 15)
    assert counts_within(21, fixed, some, many) == (1, 4, 16)
    assert counts_within(13, fixed, some, many) == (1, 2, 10)
    assert counts_within(12, fixed, some, many) is None


def test_a_count_in_the_middle_that_alone_helps_is_missed() -> None:
    """Of the cuts 0 to 8 those tried are 4, 7 and 8: each failure leaves the larger half."""
    tried: list[Counts] = []

    def attempt(counts: Counts) -> Counts | None:
        tried.append(counts)
        return counts if counts == (6,) else None

    assert admit_partially([Demand({}, 8, 0)], attempt) is None
    assert tried == [(4,), (1,), (0,)]


def test_who_needs_all_pods_is_not_tried() -> None:
    def attempt(counts: Counts) -> Counts | None:
        raise AssertionError(counts)

    assert admit_partially([Demand({}, 8), Demand({}, 3, 3)], attempt) is None


SETS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
        lambda pair: Demand({}, max(pair), min(pair))
    ),
    min_size=1,
    max_size=4,
)


@given(SETS, st.integers(-1, 36))
def test_the_search_equals_trying_one_cut_after_the_other(demands: list[Demand], room: int) -> None:
    spare = [demand.count - demand.fewest_pods() for demand in demands]
    cuts = [
        tuple(d.count - s * cut // sum(spare) for d, s in zip(demands, spare, strict=True))
        for cut in range(sum(spare) + 1)
        if sum(spare)
    ]
    expected = next((counts for counts in cuts if sum(counts) <= room), None)
    assert counts_within(room, *demands) == expected


@settings(max_examples=scale_examples(200))
@given(cycle_worlds())
def test_only_who_could_not_proceed_in_full_proceeds_in_part(world: CycleWorld) -> None:
    with_gate = replace(world, settings=replace(world.settings, feature_gates=()))
    without = replace(world, settings=replace(NO_GATE, fair_sharing=world.settings.fair_sharing))
    for found, whole in zip(with_gate.nominations(), without.nominations(), strict=True):
        (count,), (demand,) = found.counts, found.pending.demands
        assert demand.fewest_pods() <= count <= demand.count
        assert whole.counts == (demand.count,)
        if count == demand.count:
            assert found == whole
        else:
            assert found.can_proceed()
            assert not whole.can_proceed()
            assert found.assignment is not None
            used = sum(amount for _, amount in found.assignment.usage)
            assert used == count * demand.requests["cpu"]
