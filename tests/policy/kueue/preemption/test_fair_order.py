"""Which queue is asked next when shares are equal, or 0, or change."""

from collections.abc import Collection, Sequence

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.candidates import Candidates, cohort_filter
from fairlead.policy.kueue.preemption.fair_order import FairOrder
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.share_order import ShareKey
from tests.policy.kueue.target_world import story_world

HEAD = "name parent weight nominal borrow lend within reclaim\n"
HELD = "name queue amount priority since\n"


def asked(tree: str, held: str, claim: str, *, is_hopeless: bool = False) -> list[str]:
    """The queues in the order of asking, when each loses its first candidate and no more."""
    world = story_world(HEAD + tree.strip(), HELD + held.strip(), claim, KueueSettings())
    snapshot, preemptor = world.snapshot(), world.preemptor()
    snapshot.charge(preemptor.queue, preemptor.usage)
    others = cohort_filter(snapshot, preemptor, within_nominal=False)
    candidates = Candidates(snapshot, preemptor, others)
    snapshot.share_order.refresh()

    def share_order(cohort: QueueName, besides: Collection[QueueName]) -> Sequence[ShareKey]:
        return snapshot.share_order.below(cohort, candidates.cohort_filter, besides)

    order = FairOrder(snapshot, snapshot.path(preemptor.queue), candidates.of, share_order)
    names = []
    while (queue := order.next(lambda _ours, _theirs: is_hopeless)) is not None:
        names.append(str(queue))
        order.drop(queue)
    return names


# a with the claim and b borrow 2 of 3 each.
EQUAL = """
    root -      1      3       -      -    -      -
    a    root   1      0       -      -    lower  any
    b    root   1      0       -      -    never  any
"""


def test_of_equal_shares_the_own_queue_comes_last() -> None:
    """By importance alone the own workload would come first."""
    held = """
        m a 1 0 0
        o b 2 1 0
    """
    assert asked(EQUAL, held, "a 1 5") == ["b", "a"]


def test_of_equal_shares_who_is_leaving_already_comes_first_even_in_the_own_queue() -> None:
    held = """
        !m a 1 0 0
        o  b 2 0 0
    """
    assert asked(EQUAL, held, "a 1 5") == ["a", "b"]


def test_of_equal_shares_a_cohort_comes_before_a_queue_whose_workload_is_leaving() -> None:
    """B and c borrow 1 of 3 each."""
    tree = """
        root -      1      0       -      -    -      -
        B    root   1      0       -      -    -      -
        a    root   1      3       -      -    never  any
        b    B      1      0       -      -    never  any
        c    root   1      0       -      -    never  any
    """
    held = """
        k  a 1 0 0
        b1 b 1 9 0
        !c c 1 -1 0
    """
    assert asked(tree, held, "a 1 0") == ["b", "c"]


def test_who_borrows_where_nothing_can_be_lent_is_asked() -> None:
    """Quota was taken away: b uses 2 of 0 and the tree has 0, so b's share is 0 all the same."""
    tree = """
        root -      1      0       -      -    -      -
        a    root   1      0       -      -    never  any
        b    root   1      0       -      -    never  any
    """
    assert asked(tree, "o b 2 0 0", "a 1 5") == ["b"]


def test_a_hopeless_side_is_left_and_the_own_one_is_not() -> None:
    held = """
        m a 1 0 0
        o b 2 1 0
    """
    assert asked(EQUAL, held, "a 1 5", is_hopeless=True) == ["a"]
