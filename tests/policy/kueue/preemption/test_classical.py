"""Who gives way when fair sharing is off: stories with their arithmetic."""

from typing import NamedTuple

import pytest

from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.target_world import story_world


class Story(NamedTuple):
    tree: str
    held: str
    claim: str  # queue, amount, priority
    targets: str


NEVER_TREE = """
    name parent weight nominal borrow lend within reclaim over
    root -      1      2       -      -    -      -       -
    a    root   1      2       -      -    lower  any     -
    b    root   1      1       -      -    never  any     -
"""
ANY_TREE = NEVER_TREE.replace("lower  any     -", "lower  any     any")
ONE_TREE = NEVER_TREE.replace("lower  any     -", "lower  any     1")
FIVE_HELD = """
    name queue amount priority since
    b1   b     2      1        1
    b2   b     2      2        2
    b3   b     1      3        3
"""
COHORT_TREE = """
    name parent weight nominal borrow lend within reclaim over
    root -      1      0       -      -    -      -       -
    A    root   1      3       -      -    -      -       -
    a    A      1      0       -      -    lower  any     -
    c    root   1      0       -      -    never  any     -
"""

STORIES = {
    # 2 + 6 <= 8: b's quota has room for it. y is the newest of those that borrow, shares or not:
    # a1 has 6 of 5, a2 3 of 1, A 7 of 6. 5 + 2 >= 6.
    "the newest goes first, whatever the shares": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      0       -      -    -      -       -
        A    root   2      2       4      3    -      -       -
        a1   A      1      5       -      3    never  never   -
        a2   A      1      1       -      -    never  never   -
        b    root   1      8       -      -    never  any     -
        """,
        """
        name queue amount priority since
        x    a1    4      0        -10
        y    a1    2      0        -5
        z    a2    3      0        -20
        k    b     2      0        -30
        """,
        "b 6 0",
        "y InCohortReclamation",
    ),
    # 2 <= 2: hierarchical. b uses 5 of 1; b1 is the least important and gives 2.
    "quota that is there is given back by the least important": Story(
        NEVER_TREE, FIVE_HELD, "a 2 0", "b1 InCohortReclamation"
    ),
    # 3 > 2: a would borrow, which it must not at the expense of others. Without borrowing it does
    # not fit at all.
    "who would borrow may take nothing by default": Story(NEVER_TREE, FIVE_HELD, "a 3 9", ""),
    # b1 and b2 give 2 each: 4 >= 3; neither 2 alone.
    "a more important one may borrow where the queue says so": Story(
        ANY_TREE,
        FIVE_HELD,
        "a 3 9",
        "b1 InCohortReclaimWhileBorrowing, b2 InCohortReclaimWhileBorrowing",
    ),
    # b2 is as important as the preemptor: only b1 may go, and 2 < 3.
    "equals do not give way to a borrower": Story(ANY_TREE, FIVE_HELD, "a 3 2", ""),
    # Of priority 1 or less there is only b1.
    "a threshold protects the more important": Story(ONE_TREE, FIVE_HELD, "a 3 9", ""),
    # a has no quota, but A has 3 and uses 0 of it: what c uses was lent by A.
    "quota of a cohort is claimed by those below it": Story(
        COHORT_TREE,
        """
        name queue amount priority since
        c1   c     1      7        1
        c2   c     2      7        2
        """,
        "a 2 0",
        "c2 InCohortReclamation",
    ),
    # c1 (leaving) gives 1, c2 gives 2: 3 >= 2, and 2 alone is enough.
    "who need not go after all stays": Story(
        COHORT_TREE,
        """
        name queue amount priority since
        !c1  c     1      9        1
        c2   c     2      7        2
        """,
        "a 2 0",
        "c2 InCohortReclamation",
    ),
    # b uses 3 of 1: when b1 has gone it uses 1 and lends nothing more. Then a's own m makes room,
    # less important than the preemptor. 2 + 1 >= 3, the amount that a holds besides being 1.
    "a queue loses only while it borrows": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      0       -      -    -      -       -
        a    root   1      3       -      -    lower  any     -
        b    root   1      1       -      -    never  any     -
        """,
        """
        name queue amount priority since
        m    a     1      1        1
        b1   b     2      0        2
        b2   b     1      0        1
        """,
        "a 3 5",
        "b1 InCohortReclamation, m InClusterQueue",
    ),
    # a uses 2 of 2 and claims 1. b borrows 1, but a may not borrow at its expense.
    "a full queue makes room by itself": Story(
        NEVER_TREE,
        """
        name queue amount priority since
        a1   a     1      0        1
        a2   a     1      0        2
        b1   b     3      0        3
        """,
        "a 1 5",
        "a2 InClusterQueue",
    ),
    # 1 + 2 > 2: the claim is one of importance, and a must not borrow. b2 gives 3, but only without
    # m does a stay within its 2; and without b2 only m's 1 would be there.
    "who must not borrow makes room at home as well": Story(
        NEVER_TREE,
        """
        name queue amount priority since
        m    a     1      0        1
        b1   b     1      0        1
        b2   b     3      0        2
        """,
        "a 2 5",
        "b2 InCohortReclamation, m InClusterQueue",
    ),
    # 2 + 2 > 3, but without borrowing b1's 3 and m1's 1 do: 1 + 2 <= 3. With borrowing it would be
    # m1 and m2.
    "who is under its quota is first tried without borrowing": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      1       -      -    -      -       -
        a    root   1      3       -      -    lower  any     -
        b    root   1      1       -      -    never  any     -
        """,
        """
        name queue amount priority since
        m1   a     1      0        2
        m2   a     1      0        1
        b1   b     3      0        1
        """,
        "a 2 5",
        "b1 InCohortReclamation, m1 InClusterQueue",
    ),
    # Quota was taken away: 2 + 4 of 5 in use. a is not under its 2, so b is not asked; a2 brings
    # what is left from -1 to 0, a1 to 1.
    "who has all its quota in use takes from nobody else": Story(
        NEVER_TREE,
        """
        name queue amount priority since
        a1   a     1      0        1
        a2   a     1      0        2
        b1   b     4      0        3
        """,
        "a 1 5",
        "a2 InClusterQueue, a1 InClusterQueue",
    ),
    # y3 gives 1; then A uses 2 of its 2, and what is below A is out of reach. z1 gives the other 1.
    "a cohort loses only while it borrows": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      0       -      -    -      -       -
        A    root   1      2       -      -    -      -       -
        x    root   1      2       -      -    never  any     -
        y    A      1      0       -      -    never  any     -
        z    root   1      0       -      -    never  any     -
        """,
        """
        name queue amount priority since
        y1   y     1      0        7
        y2   y     1      0        8
        y3   y     1      0        9
        z1   z     1      0        1
        """,
        "x 2 0",
        "y3 InCohortReclamation, z1 InCohortReclamation",
    ),
    # a lends nothing: it keeps 2 of the 3 for itself, and the 1 that is left fits the quota of A.
    "what a queue keeps for itself is not asked of its cohort": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      0       -      -    -      -       -
        A    root   1      1       -      -    -      -       -
        a    A      1      2       -      0    never  any     -
        c    root   1      0       -      -    never  any     -
        """,
        """
        name queue amount priority since
        c1   c     1      0        1
        """,
        "a 3 0",
        "c1 InCohortReclamation",
    ),
    # a has quota for 2, A with b1 has not; a's claim is hierarchical in the whole tree all the
    # same, so b1 and c1 go by age alone.
    "quota of the queue counts above its cohort as well": Story(
        """
        name parent weight nominal borrow lend within reclaim over
        root -      1      0       -      -    -      -       -
        A    root   1      0       -      -    -      -       -
        a    A      1      2       -      -    never  any     -
        b    A      1      0       -      -    never  any     -
        c    root   1      0       -      -    never  any     -
        """,
        """
        name queue amount priority since
        b1   b     1      0        1
        c1   c     1      0        2
        """,
        "a 2 0",
        "c1 InCohortReclamation, b1 InCohortReclamation",
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_without_fair_sharing(story: Story) -> None:
    world = story_world(story.tree, story.held, story.claim, KueueSettings())
    targets = classical_targets(world.snapshot(), world.preemptor())
    told = ", ".join(f"{target.workload.name} {target.reason}" for target in targets)
    assert told == story.targets
