"""Who gives way when fair sharing is on: stories with their arithmetic.

A share is what a node borrows, in thousandths of what its parent could lend, over its weight.
"""

from typing import NamedTuple

import pytest

from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from tests.policy.kueue.target_world import GATE, story_world


class Story(NamedTuple):
    tree: str
    held: str
    claim: str  # queue, amount, priority
    targets: str


# root 3 + 8 = 11 lendable. A lends 3 of its 2 + 3 + 1 = 6. It uses (6 - 2) + 3 = 7 and borrows 1.
LENT_TREE = """
    name parent weight nominal borrow lend within reclaim
    root -      1      0       -      -    -      -
    A    root   2      2       4      3    -      -
    a1   A      1      5       -      3    never  never
    a2   A      1      1       -      -    never  never
    b    root   1      8       -      -    never  any
"""
LENT_HELD = """
    name queue amount priority since
    x    a1    4      0        -10
    y    a1    2      0        -5
    z    a2    3      0        -20
    k    b     2      0        -30
"""
# Three queues of 3; b holds 9 and so borrows 6 of 9 lendable: 667.
FLAT_TREE = """
    name parent weight nominal borrow lend within reclaim
    root -      1      0       -      -    -      -
    a    root   1      3       -      -    never  any
    b    root   1      3       -      -    never  any
    c    root   1      3       -      -    never  any
"""
NINE_HELD = """
    name queue amount priority since
    b1   b     3      0        1
    b2   b     1      0        2
    b3   b     1      0        3
    b4   b     1      0        4
    b5   b     1      0        5
    b6   b     2      0        6
"""
TWO_TREE = """
    name parent weight nominal borrow lend within reclaim
    root -      1      0       -      -    -      -
    a    root   1      2       -      -    lower  any
    b    root   1      2       -      -    never  any
"""
# Capacity 10, all of it at the root, and all of it in use by a2 and c.
TURNS_TREE = """
    name parent weight nominal borrow lend within reclaim
    root -      1      10      -      -    -      -
    A    root   3      0       -      -    -      -
    a    A      2.5    0       -      -    never  any
    a2   A      1      0       -      -    never  any
    c    root   1      0       -      -    never  any
"""
TURNS_HELD = """
    name queue amount priority since
    z    a2    4      0        1
    c1   c     3      0        3
    c2   c     3      0        2
"""

STORIES = {
    # 2 + 6 <= 8: within b's quota. A: 1 of 11 -> 91 / 2 = 45, before b, which has nobody to ask.
    # In A: a2 borrows 2 of 10 -> 200, a1 1 of 10 -> 100. z gives 3, of which 1 lacked.
    "what was lent goes back, from the largest borrower": Story(
        LENT_TREE, LENT_HELD, "b 6 0", "z InCohortReclamation"
    ),
    # 2 + 7 = 9: b borrows 1 of 11 -> 91. A has 45 with z and 0 without: 91 <= 0 is false, and so
    # is 91 < 45.
    "who would borrow more than the others gets nothing": Story(LENT_TREE, LENT_HELD, "b 7 0", ""),
    # a borrows 1 of 9 -> 111. b: 6 of 9 -> 667; without b6 4 of 9 -> 444, without b5 333, without
    # b4 222: 2 + 1 + 1 = 4, and always 111 or more.
    "a smaller borrower takes from a larger one, the newest first": Story(
        FLAT_TREE,
        NINE_HELD,
        "a 4 0",
        "b6 InCohortFairSharing, b5 InCohortFairSharing, b4 InCohortFairSharing",
    ),
    # a borrows 2 -> 222. 667 -> 444 (b6), 333 (b5), 222 (b4): still 222 <= 222; then b3 would leave
    # 111. Of 5 that are asked for 4 are there. b3: 222 < 222 is false in the second round as well.
    "equal shares are reached and not passed": Story(FLAT_TREE, NINE_HELD, "a 5 0", ""),
    # a borrows 1 of 4 -> 250; b 2 of 4 -> 500, without big 0. 250 <= 0 is false, 250 < 500 true.
    "the second strategy lets go of one that is too large for the first": Story(
        TWO_TREE,
        """
        name queue amount priority since
        big  b     4      0        0
        """,
        "a 3 0",
        "big InCohortFairSharing",
    ),
    # a uses 2 and claims 1: 1 of 5 -> 200, as b has with 3. Other queues come first: o would leave
    # 0, and 200 <= 0 is false. Then a's own queue is asked, where m is less important.
    "the own queue takes part at its place": Story(
        TWO_TREE.replace("root -      1      0", "root -      1      1"),
        """
        name queue amount priority since
        m    a     1      0        0
        n    a     1      5        0
        o    b     3      0        0
        """,
        "a 1 1",
        "m InClusterQueue",
    ),
    # a borrows 3 of 8 -> 375; b and c 4 of 8 -> 500 each, and 0 without their only workload. The
    # first round takes no workload; in the second 375 < 500 twice, and 4 + 4 >= 5.
    "in the second round several queues lose one each": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      6       -      -    -      -
        a    root   1      2       -      -    never  any
        b    root   1      0       -      -    never  any
        c    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        b1   b     4      0        2
        c1   c     4      0        1
        """,
        "a 5 0",
        "b1 InCohortFairSharing, c1 InCohortFairSharing",
    ),
    # A with the claim: 4 + 8 of 10 -> 1200 / 3 = 400; c: 6 of 10 -> 600, without c1 300. Inside A
    # a has 800 / 2.5 = 320 and a2 400, without z 0. So no workload goes in the first round. In the
    # second c1 and z go, 3 + 4 < 8. By then A has 800 / 3 = 267, less than the 300 of c, but c had
    # its turn.
    "in the second round no queue loses two": Story(TURNS_TREE, TURNS_HELD, "a 8 0", ""),
    # The same with 1100 / 3 = 367 and 700 / 2.5 = 280; and 3 + 4 >= 7.
    "in the second round cohorts lose as well": Story(
        TURNS_TREE, TURNS_HELD, "a 7 0", "c1 InCohortFairSharing, z InCohortFairSharing"
    ),
    # a borrows 1 of 6 -> 167. b: 4 -> 667; without b1 0, but without b2 500.
    "after one that is too large a smaller one is tried": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      2       -      -    -      -
        a    root   1      2       -      -    never  any
        b    root   1      2       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     2      0        0
        b1   b     3      0        2
        b2   b     1      0        1
        """,
        "a 1 0",
        "b2 InCohortFairSharing",
    ),
    # 3 <= 6: within quota. b has 4 and c 3; b1 makes it 3 and 3, where c1 is the newest, then 3 and
    # 2, where b2 is.
    "the largest borrower is looked for anew each time": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      1       -      -    -      -
        a    root   1      6       -      -    never  any
        b    root   1      0       -      -    never  any
        c    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        b1   b     1      0        5
        b2   b     1      0        3
        b3   b     2      0        2
        c1   c     1      0        4
        c2   c     2      0        1
        """,
        "a 3 0",
        "b1 InCohortReclamation, c1 InCohortReclamation, b2 InCohortReclamation",
    ),
    # a has 2 of 3 with the claim and borrows nothing; b keeps what it has, since a may not reclaim.
    "the own queue is asked although it borrows nothing": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      3       -      -    lower  never
        b    root   1      0       -      -    never  never
        """,
        """
        name queue amount priority since
        m    a     1      0        0
        o    b     2      0        0
        """,
        "a 1 1",
        "m InClusterQueue",
    ),
    # Within quota: small goes first (less important), then big; 1 + 3 >= 3, but 3 alone is enough.
    "who need not go after all stays": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      4       -      -    never  any
        b    root   1      0       -      -    never  any
        """,
        """
        name  queue amount priority since
        small b     1      0        0
        big   b     3      1        0
        """,
        "a 3 0",
        "big InCohortReclamation",
    ),
    # y borrows 2, but cohort A has 2 for it and borrows nothing: y is out of reach. z is not.
    "a cohort that borrows nothing protects those below it": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        A    root   1      2       -      -    -      -
        x    root   1      2       -      -    never  any
        y    A      1      0       -      -    never  any
        z    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        y1   y     2      0        9
        z1   z     2      0        0
        """,
        "x 2 0",
        "z1 InCohortReclamation",
    ),
    # b and c borrow 1 of 3 each -> 333: c1 is newer than b1.
    "of equal borrowers the newest workload decides": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      3       -      -    never  any
        b    root   1      0       -      -    never  any
        c    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     1      0        0
        b1   b     1      0        1
        c1   c     1      0        2
        """,
        "a 1 0",
        "c1 InCohortReclamation",
    ),
    # B and C borrow 1 of 3 each. Kueue leaves this to chance; we take the first name.
    "of equal cohorts the first name decides": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        C    root   1      0       -      -    -      -
        B    root   1      0       -      -    -      -
        a    root   1      3       -      -    never  any
        b    B      1      0       -      -    never  any
        c    C      1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     1      0        0
        b1   b     1      0        1
        c1   c     1      0        2
        """,
        "a 1 0",
        "b1 InCohortReclamation",
    ),
    # At the root B and c have 333 each; cohorts come before queues of the same share.
    "a cohort is asked before a queue of the same share": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        B    root   1      0       -      -    -      -
        a    root   1      3       -      -    never  any
        b    B      1      0       -      -    never  any
        c    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     1      0        0
        b1   b     1      0        1
        c1   c     1      0        2
        """,
        "a 1 0",
        "b1 InCohortReclamation",
    ),
    # b borrows 1 with weight 0, c 3 with weight 1 -> 600: b has no right to borrow at all.
    "a borrower of weight 0 is asked first": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      5       -      -    never  any
        b    root   0      0       -      -    never  any
        c    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     1      0        0
        b1   b     1      9        1
        c1   c     3      0        2
        """,
        "a 1 0",
        "b1 InCohortReclamation",
    ),
    # Of b's workloads only v is less important than the preemptor; u stays.
    "only the less important give way where the queue says so": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      3       -      -    never  lower
        b    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        u    b     1      2        9
        v    b     2      1        0
        """,
        "a 2 2",
        "v InCohortReclamation",
    ),
    "who is leaving already goes first, however important": Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      3       -      -    never  any
        b    root   1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        !u   b     2      9        0
        v    b     1      0        9
        """,
        "a 2 0",
        "u InCohortReclamation",
    ),
    "a queue without a cohort has only its own workloads": Story(
        """
        name parent weight nominal borrow lend within reclaim
        a    -      1      3       -      -    lower  any
        b    -      1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        u    a     1      0        1
        v    a     2      1        0
        w    b     3      0        9
        """,
        "a 2 2",
        "v InClusterQueue",
    ),
    # c uses its quota and no more, so nothing of it was lent.
    "who borrows nothing is not asked": Story(
        FLAT_TREE,
        """
        name queue amount priority since
        b1   b     6      0        0
        c1   c     3      0        9
        """,
        "a 3 5",
        "b1 InCohortReclamation",
    ),
}


def found(story: Story, settings: KueueSettings) -> list[Target]:
    world = story_world(story.tree, story.held, story.claim, settings)
    return fair_targets(world.snapshot(), world.preemptor(), settings)


def told(targets: list[Target]) -> str:
    return ", ".join(f"{target.workload.name} {target.reason}" for target in targets)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_by_default(story: Story) -> None:
    assert told(found(story, KueueSettings(fair_sharing=True))) == story.targets


def test_without_the_second_strategy_the_large_one_stays() -> None:
    story = STORIES["the second strategy lets go of one that is too large for the first"]
    only_first = KueueSettings(fair_sharing=True, strategies=BOTH_STRATEGIES[:1])
    only_second = KueueSettings(fair_sharing=True, strategies=BOTH_STRATEGIES[1:])
    assert told(found(story, only_first)) == ""
    assert told(found(story, only_second)) == "big InCohortFairSharing"


def test_without_its_gate_what_was_lent_goes_back_only_by_shares() -> None:
    """B has 0 within its quota, so 0 <= 0 without z: the same target under another rule."""
    story = STORIES["what was lent goes back, from the largest borrower"]
    gate_off = KueueSettings(fair_sharing=True, feature_gates=((GATE, False),))
    assert told(found(story, gate_off)) == "z InCohortFairSharing"


def test_the_own_queue_is_asked_under_the_second_strategy_alone() -> None:
    """Its side is that of the preemptor: no shares are compared."""
    only_second = KueueSettings(fair_sharing=True, strategies=BOTH_STRATEGIES[1:])
    for name in ("own queue takes part at its place", "own queue is asked although it borrows"):
        (story,) = (story for title, story in STORIES.items() if name in title)
        assert told(found(story, only_second)) == "m InClusterQueue"


def test_a_target_tells_which_shares_were_compared() -> None:
    """Of b6, b5 and b4 the last: b falls from 3 of 9 to 2, beside 1 that a would borrow."""
    story = STORIES["a smaller borrower takes from a larger one, the newest first"]
    compared = found(story, KueueSettings(fair_sharing=True))[-1].compared
    assert compared is not None
    assert compared.strategy == "LessThanOrEqualToFinalShare"
    assert (compared.preemptor_side, compared.target_side) == ("a", "b")
    shares = (
        compared.preemptor_before,
        compared.preemptor_after,
        compared.target_before,
        compared.target_after,
    )
    assert [share.share for share in shares] == [0.0, 1000 / 9, 3000 / 9, 2000 / 9]


def test_shares_are_compared_below_the_lowest_common_cohort() -> None:
    """A as a whole borrows as before when one of its queues takes from another: b and a count."""
    story = Story(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      4       -      -    -      -
        A    root   1      0       -      -    -      -
        a    A      1      0       -      -    never  any
        b    A      1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        b1   b     2      0        1
        b2   b     1      0        2
        b3   b     1      0        3
        """,
        "a 1 0",
        "b3 InCohortFairSharing",
    )
    (target,) = found(story, KueueSettings(fair_sharing=True))
    assert told([target]) == story.targets
    assert target.compared is not None
    assert (target.compared.preemptor_side, target.compared.target_side) == ("a", "b")
