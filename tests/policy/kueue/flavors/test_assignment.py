"""Which flavors a workload takes, how each could be met, and when the search for them ends."""

from typing import NamedTuple

import pytest

from fairlead.model.queue import FlavorFungibility
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.cycle_world import (
    AS_A_RULE,
    CLASSICAL,
    FAIR,
    CycleWorld,
    flavors_of,
    read_world,
)

HELD = "name queue priority uses\n"
HEADS = "name queue priority asks\n"
NO_FIT = "NO_FIT"
TRY_ALL = FlavorFungibility(when_can_borrow="TryNextFlavor", when_can_preempt="TryNextFlavor")
STOP_AT_VICTIMS = FlavorFungibility(when_can_preempt="MayStopSearch")
STOP_AT_VICTIMS_NOT_AT_BORROWING = FlavorFungibility(
    when_can_borrow="TryNextFlavor", when_can_preempt="MayStopSearch"
)
RATHER_PREEMPT = FlavorFungibility(
    when_can_borrow="TryNextFlavor", preference="PreemptionOverBorrowing"
)
RATHER_PREEMPT_STOP_AT_BORROWING = FlavorFungibility(preference="PreemptionOverBorrowing")


class Story(NamedTuple):
    queues: str
    held: str
    asks: str  # by a head of priority 5 in queue a
    expected: str  # flavors, mode, borrow level and who gives way
    fungibility: FlavorFungibility = AS_A_RULE
    settings: KueueSettings = FAIR
    groups: str = "red blue: cpu"


def alone(red: str, blue: str) -> str:
    return f"""
        name parent within reclaim red/cpu blue/cpu
        a    -      lower  never   {red}   {blue}
    """


# a may borrow red and has quota of blue.
BORROWS_RED = """
    name parent within reclaim red/cpu blue/cpu
    root -      -      -       4       0
    a    root   lower  any     0       4
"""
# m holds all of a's red, and may be asked; a could borrow blue instead.
PREEMPTS_RED_BORROWS_BLUE = """
    name parent within reclaim red/cpu blue/cpu
    root -      -      -       0       4
    a    root   lower  any     2       0
"""
# The other way round.
BORROWS_RED_PREEMPTS_BLUE = """
    name parent within reclaim red/cpu blue/cpu
    root -      -      -       4       0
    a    root   lower  any     0       2
"""
# o has the red that a lent.
LENT_RED_BORROWS_BLUE = """
    name parent within reclaim red/cpu blue/cpu
    root -      -      -       0       4
    a    root   lower  lower   2       0
    b    root   never  never   0       0
"""
# o has what a lent: 2 blue. m has a's own red.
RECLAIMS_BLUE = """
    name parent within reclaim red/cpu blue/cpu
    root -      -      -       0       0
    a    root   lower  any     2       2
    b    root   never  never   0       0
"""
# o uses all 3, of which a has 1.
ALL_LENT = """
    name parent within reclaim red/cpu
    root -      -      -       2
    a    root   never  any     1
    b    root   never  never   0
"""
UNDER_A_COHORT = """
    name parent within reclaim red/cpu
    root -      -      -       0
    A    root   -      -       3
    a    A      never  any     0
    b    root   never  never   0
"""
UNDER_THE_ROOT = """
    name parent within reclaim red/cpu
    root -      -      -       3
    A    root   -      -       0
    a    A      never  any     0
    b    root   never  never   0
"""
TWO_RESOURCES = """
    name parent within reclaim red/cpu red/memory blue/cpu blue/memory fast/gpu
    a    -      lower  never   4       1          4        4           2
"""
ONE_RED = "red: cpu"
MEMORY_TOO = "red blue: cpu memory | fast: gpu"

GROUPS_AND_SETS = {
    "the first flavor with room is taken": Story(alone("4", "4"), "", "cpu=3", "cpu=red FIT 0"),
    # 4 - 2 < 3 and k is too important.
    "the next one where the first is used and nobody may be asked": Story(
        alone("4", "4"), "k a 9 red/cpu=2", "cpu=3", "cpu=blue FIT 0"
    ),
    # Memory: 2 > 1 of red, so the cpu goes to blue with it; the gpu is of another group.
    "resources of a group take one flavor together, and each group its own": Story(
        TWO_RESOURCES,
        "",
        "cpu=2,memory=2,gpu=1",
        "cpu=blue,memory=blue,gpu=fast FIT 0",
        groups=MEMORY_TOO,
    ),
    "a group without room leaves the workload waiting, whatever the other has": Story(
        TWO_RESOURCES, "", "cpu=2,gpu=3", NO_FIT, groups=MEMORY_TOO
    ),
    # Red has 4 cpu and 1 memory, blue 1 cpu and 4 memory.
    "a flavor must have room for every resource of the group": Story(
        TWO_RESOURCES.replace("4        4           2", "1        4           2"),
        "",
        "cpu=2,memory=2",
        NO_FIT,
        groups=MEMORY_TOO,
    ),
    "a resource belongs to the first group that lists it": Story(
        """
        name parent within reclaim red/cpu blue/cpu blue/gpu
        a    -      never  never   2       9        1
        """,
        "",
        "cpu=1,gpu=1",
        "cpu=red,gpu=blue FIT 0",
        groups="red: cpu | blue: cpu gpu",
    ),
    "a resource that no group covers": Story(alone("4", "4"), "", "cpu=1,gpu=1", NO_FIT),
    "nothing of a resource that no group covers": Story(
        alone("4", "4"), "", "cpu=1,gpu=0", "cpu=red FIT 0"
    ),
    "nothing of a resource that a group covers has a flavor all the same": Story(
        alone("0", "4"), "", "cpu=0", "cpu=red FIT 0"
    ),
    # 3 <= 4; 3 + 2 = 5 > 4, so the second set goes to blue.
    "the second pod set sees what the first took": Story(
        alone("4", "4"), "", "cpu=3+cpu=2", "cpu=red+cpu=blue FIT 0"
    ),
    # 3 + 1 = 4.
    "two pod sets share a flavor that has room for both": Story(
        alone("4", "4"), "", "cpu=3+cpu=1", "cpu=red+cpu=red FIT 0"
    ),
    # 3 + 3 > 4 of either; the third set finds room in neither: 3 + 2 > 4.
    "every pod set must find room": Story(alone("4", "4"), "", "cpu=3+cpu=3+cpu=2", NO_FIT),
    # 2 are free: enough for the first. 1 + 2 = 3 <= 4 needs m to go.
    "victims are sought for what the pod sets need together": Story(
        alone("4", "0"), "m a 0 red/cpu=2", "cpu=1+cpu=2", "cpu=red+cpu=red PREEMPT 0 m"
    ),
    # 3 x 1 of red, and 3 more would be 6 > 4.
    "all pods of a set count": Story(
        alone("4", "4"), "", "3xcpu=1+3xcpu=1", "cpu=red+cpu=blue FIT 0"
    ),
}

SEARCHES = {
    "borrowing ends the search as a rule": Story(BORROWS_RED, "", "cpu=2", "cpu=red FIT 1"),
    "unless the queue wants the next flavor tried": Story(
        BORROWS_RED, "", "cpu=2", "cpu=blue FIT 0", TRY_ALL
    ),
    # 4 - 3 = 1 blue is left by k, which may not be asked.
    "and if that is no better, borrowing it is": Story(
        BORROWS_RED, "k a 9 blue/cpu=3", "cpu=2", "cpu=red FIT 1", TRY_ALL
    ),
    "victims do not end the search as a rule": Story(
        alone("4", "4"), "m a 0 red/cpu=4", "cpu=2", "cpu=blue FIT 0"
    ),
    "unless the queue wants it so": Story(
        alone("4", "4"), "m a 0 red/cpu=4", "cpu=2", "cpu=red PREEMPT 0 m", STOP_AT_VICTIMS
    ),
    "a flavor whose holders may be asked comes before one whose holders may not": Story(
        alone("4", "4"), "k a 9 red/cpu=4\nm a 0 blue/cpu=4", "cpu=2", "cpu=blue PREEMPT 0 m"
    ),
    "holders who may not be asked never end the search": Story(
        alone("4", "4"),
        "k a 9 red/cpu=4\nm a 0 blue/cpu=4",
        "cpu=2",
        "cpu=blue PREEMPT 0 m",
        STOP_AT_VICTIMS,
    ),
    # 2 > 1 of red in all; blue has 2, and k stays.
    "waiting for those who hold comes before what can never be": Story(
        alone("1", "2"), "k a 9 blue/cpu=2", "cpu=2", "cpu=blue NO_CANDIDATES 0"
    ),
    "two flavors that are as good: the earlier one": Story(
        alone("2", "2"),
        "k a 9 red/cpu=2\nl a 9 blue/cpu=2",
        "cpu=2",
        "cpu=red NO_CANDIDATES 0",
    ),
    "taking back what was lent comes before taking from the own queue": Story(
        RECLAIMS_BLUE,
        "m a 0 red/cpu=2\no b 9 blue/cpu=2",
        "cpu=2",
        "cpu=blue RECLAIM 0 o",
    ),
    "as a rule borrowing comes before preemption": Story(
        PREEMPTS_RED_BORROWS_BLUE, "m a 0 red/cpu=2", "cpu=2", "cpu=blue FIT 1", TRY_ALL
    ),
    "a queue may prefer preemption to borrowing": Story(
        PREEMPTS_RED_BORROWS_BLUE, "m a 0 red/cpu=2", "cpu=2", "cpu=red PREEMPT 0 m", RATHER_PREEMPT
    ),
    # Red is within a's quota, level 0, but o is too important to give it back.
    "it does not prefer to wait where nobody may be asked": Story(
        LENT_RED_BORROWS_BLUE, "o b 9 red/cpu=2", "cpu=2", "cpu=blue FIT 1", RATHER_PREEMPT
    ),
    # Red is preferred, but borrowing ends the search, and what ends it is taken.
    "what ends the search is taken though preemption is preferred": Story(
        PREEMPTS_RED_BORROWS_BLUE,
        "m a 0 red/cpu=2",
        "cpu=2",
        "cpu=blue FIT 1",
        RATHER_PREEMPT_STOP_AT_BORROWING,
    ),
    # Red fits by borrowing, which is preferred but does not end the search; victims in blue do.
    "what ends the search is taken though borrowing is preferred": Story(
        BORROWS_RED_PREEMPTS_BLUE,
        "m a 0 blue/cpu=2",
        "cpu=2",
        "cpu=blue PREEMPT 0 m",
        STOP_AT_VICTIMS_NOT_AT_BORROWING,
    ),
    "the same where nothing ends the search": Story(
        BORROWS_RED_PREEMPTS_BLUE, "m a 0 blue/cpu=2", "cpu=2", "cpu=red FIT 1", TRY_ALL
    ),
}

LIMITED = """
    name parent within reclaim red/cpu
    root -      -      -       4
    a    root   never  any     2:borrow1
"""
LENT = """
    name parent within reclaim red/cpu
    root -      -      -       0
    a    root   never  any     1
    b    root   never  never   4:lend1
"""
LEVELS = """
    name parent within reclaim red/cpu
    root -      -      -       4
    A    root   -      -       1
    a    A      never  never   1
    c    root   never  never   1
"""

LIMITS_AND_LEVELS = {
    # Quota 2 and 1 more.
    "as much as the borrowing limit allows": Story(
        LIMITED, "", "cpu=3", "cpu=red FIT 1", groups=ONE_RED
    ),
    "more than the borrowing limit allows": Story(LIMITED, "", "cpu=4", NO_FIT, groups=ONE_RED),
    # 1 of its own and 1 that b lends.
    "as much as the lending limit allows": Story(
        LENT, "", "cpu=2", "cpu=red FIT 1", groups=ONE_RED
    ),
    "more than the lending limit allows": Story(LENT, "", "cpu=3", NO_FIT, groups=ONE_RED),
    "own quota is no borrowing": Story(LEVELS, "", "cpu=1", "cpu=red FIT 0", groups=ONE_RED),
    # A has 1 + 1 and uses nothing.
    "quota of the cohort above": Story(LEVELS, "", "cpu=2", "cpu=red FIT 1", groups=ONE_RED),
    # 3 > 2; the root has 4 + 2 + 1.
    "quota of the cohort above that": Story(LEVELS, "", "cpu=3", "cpu=red FIT 2", groups=ONE_RED),
    # 1 of 1 is used by k: 1 more is 2 of A's 2.
    "what is in use already makes the level higher": Story(
        LEVELS, "k a 9 red/cpu=1", "cpu=1", "cpu=red FIT 1", groups=ONE_RED
    ),
    # The first set is within a's 1; with the second it is 2 of A's 2.
    "of several levels the highest counts": Story(
        LEVELS, "", "cpu=1+cpu=1", "cpu=red+cpu=red FIT 1", groups=ONE_RED
    ),
    # With fair sharing: a would borrow 1 of 3, o 3 of 3. o gone, the root has 0 + 2 <= 3.
    "who would borrow seeks victims if it may reclaim": Story(
        ALL_LENT, "o b 0 red/cpu=3", "cpu=2", "cpu=red RECLAIM 1 o", groups=ONE_RED
    ),
    "not if it may not": Story(
        ALL_LENT.replace("any", "never"), "o b 0 red/cpu=3", "cpu=2", NO_FIT, groups=ONE_RED
    ),
    # 2 > 1, and no cohort below the root has room for it.
    "without fair sharing who would borrow from the root seeks no victims": Story(
        ALL_LENT, "o b 0 red/cpu=3", "cpu=2", NO_FIT, settings=CLASSICAL, groups=ONE_RED
    ),
    # A has 3 and uses 0 of it: what o has was lent by A.
    "who would borrow from a cohort below the root does": Story(
        UNDER_A_COHORT,
        "o b 0 red/cpu=3",
        "cpu=2",
        "cpu=red RECLAIM 1 o",
        settings=CLASSICAL,
        groups=ONE_RED,
    ),
    "the same quota at the root is nobody's to take back": Story(
        UNDER_THE_ROOT, "o b 0 red/cpu=3", "cpu=2", NO_FIT, settings=CLASSICAL, groups=ONE_RED
    ),
    # Quota was taken away: 5 are in use of 4, and -1 is left.
    "who asks for nothing fits even then": Story(
        alone("4", "0"), "k a 9 red/cpu=5", "cpu=0", "cpu=red FIT 0"
    ),
}


def world_of(story: Story) -> CycleWorld:
    return read_world(
        story.groups,
        story.queues,
        HELD + story.held if story.held else "",
        HEADS + f"w a 5 {story.asks}",
        fungibility=story.fungibility,
        settings=story.settings,
    )


def shown(found: Nomination) -> str:
    if found.assignment is None:
        return NO_FIT
    targets = sorted(target.workload.name for target in found.targets)
    mode, borrow = found.assignment.mode.name, str(found.assignment.borrow)
    return " ".join([flavors_of(found), mode, borrow, *targets])


ALL = GROUPS_AND_SETS | SEARCHES | LIMITS_AND_LEVELS


@pytest.mark.parametrize("story", ALL.values(), ids=ALL.keys())
def test_flavors(story: Story) -> None:
    (found,) = world_of(story).nominations()
    assert shown(found) == story.expected


def test_the_root_is_as_high_as_the_highest_below_it() -> None:
    """Right below the root stands c, but the root stands above A above a: 2 for c as well."""
    heads = HEADS + "w c 5 cpu=3"
    (found,) = read_world(ONE_RED, LEVELS, "", heads).nominations()
    assert shown(found) == "cpu=red FIT 2"


def test_only_what_does_not_fit_is_needed_from_others() -> None:
    """2 cpu are free of 4, and 3 memory of 4: 2 <= 2 fits, 4 > 3 does not, and m would do."""
    story = Story(
        """
        name parent within reclaim red/cpu red/memory
        a    -      lower  never   4       4
        """,
        "m a 0 red/memory=1\nk a 9 red/cpu=2",
        "cpu=2,memory=4",
        "cpu=red,memory=red PREEMPT 0 m",
        groups="red: cpu memory",
    )
    (found,) = world_of(story).nominations()
    assert shown(found) == story.expected
    assert found.assignment is not None
    assert found.assignment.need == frozenset({1})
    assert found.assignment.usage == ((0, 2), (1, 4))


def test_pod_sets_of_one_flavor_are_charged_together() -> None:
    (found,) = world_of(GROUPS_AND_SETS["all pods of a set count"]).nominations()
    assert found.assignment is not None
    assert found.assignment.usage == ((0, 3), (1, 3))
    (found,) = world_of(
        GROUPS_AND_SETS["two pod sets share a flavor that has room for both"]
    ).nominations()
    assert found.assignment is not None
    assert found.assignment.usage == ((0, 4),)


def test_flavors_that_are_settled_are_kept() -> None:
    """Red would be taken, and so would it for the second set alone."""
    world = world_of(Story(alone("4", "4"), "", "cpu=1+cpu=1", ""))
    nominator = Nominator(world.snapshot(), world.axes(), world.settings)
    (head,) = world.heads
    for settled in (("red", "blue"), ("blue", "red"), ("blue", "blue")):
        found = nominator.nominate(head, [{"cpu": flavor} for flavor in settled])
        assert flavors_of(found) == "+".join(f"cpu={flavor}" for flavor in settled)


def test_settled_flavors_without_room_are_not_exchanged() -> None:
    world = world_of(Story(alone("4", "1"), "", "cpu=2", ""))
    nominator = Nominator(world.snapshot(), world.axes(), world.settings)
    (head,) = world.heads
    assert nominator.nominate(head, [{"cpu": "blue"}]).assignment is None
