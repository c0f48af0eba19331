"""Who gives way with options that Kueue does not have: stories beside what Kueue would do.

A share is what a node borrows, in thousandths of what its parent could lend, over its weight.
"""

from typing import Any

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueOptions, KueueSettings
from tests.policy.kueue.target_world import TargetWorld, story_world

# Three queues of 3; b holds 9 and so borrows 6 of 9 lendable: 667.
TREE = """
    name parent weight nominal borrow lend within reclaim over
    root -      1      0       -      -    -      -       -
    a    root   1      3       -      -    lower  any     any
    b    root   1      3       -      -    never  any     -
    c    root   1      3       -      -    never  any     -
"""
HELD = """
    name queue amount priority since
    b1   b     3      0        1
    b2   b     1      0        2
    b3   b     1      0        3
    b4   b     1      0        4
    b5   b     1      0        5
    b6   b     2      0        6
"""
# root 3 + 8 = 11 lendable. A lends 3 of its 2 + 3 + 1 = 6. It uses (6 - 2) + 3 = 7 and borrows 1.
LENT_TREE = """
    name parent weight nominal borrow lend within reclaim over
    root -      1      0       -      -    -      -       -
    A    root   2      2       4      3    -      -       -
    a1   A      1      5       -      3    never  never   -
    a2   A      1      1       -      -    never  never   -
    b    root   1      8       -      -    never  any     1
"""
LENT_HELD = """
    name queue amount priority since
    x    a1    4      0        -10
    y    a1    2      0        -5
    z    a2    3      1        -20
    k    b     2      0        -30
"""
# a uses 2 of 2, b 3 of 2, and the root has 1: with a claim of 1 both borrow 1 of 5 -> 200.
OWN_TREE = """
    name parent weight nominal borrow lend within reclaim over
    root -      1      1       -      -    -      -       -
    a    root   1      2       -      -    lower  any     -
    b    root   1      2       -      -    never  any     -
"""
OWN_HELD = """
    name queue amount priority since
    m    a     1      0        0
    n    a     1      5        0
    o    b     3      0        0
"""
PROTECTS = KueueOptions(min_run_time_ms=10)
OVERRIDES = KueueOptions(priority_override=True)


def names(text: str) -> frozenset[WorkloadName]:
    return frozenset(WorkloadName(name) for name in text.split())


def story(claim: str, tree: str = TREE, held: str = HELD, **changes: Any) -> TargetWorld:
    """The world of the tables; *protected* are names, *options* and the rest of it fields."""
    protected = names(changes.pop("protected", ""))
    settings = KueueSettings(fair_sharing=True, options=changes.pop("options", KueueOptions()))
    world = story_world(tree, held, claim, settings)
    admitted = tuple(
        msgspec.structs.replace(each, is_protected=each.name in protected)
        for each in world.admitted
    )
    return msgspec.structs.replace(world, admitted=admitted, **changes)


def fair(world: TargetWorld) -> str:
    found = fair_targets(world.snapshot(), world.preemptor(), world.settings)
    return ", ".join(f"{target.workload.name} {target.reason}" for target in found)


def fair_names(world: TargetWorld) -> str:
    found = fair_targets(world.snapshot(), world.preemptor(), world.settings)
    return " ".join(target.workload.name for target in found)


def classical_names(world: TargetWorld) -> str:
    found = classical_targets(world.snapshot(), world.preemptor())
    return " ".join(target.workload.name for target in found)


def test_a_protected_holder_stays_and_others_go_in_its_place() -> None:
    """The claim of 4 makes a borrow 1 -> 111. Without b6: 667 -> 556, 444, 333, 222, 4 times 1."""
    assert fair_names(story("a 4 0")) == "b6 b5 b4"
    assert fair_names(story("a 4 0", protected="b6", options=PROTECTS)) == "b5 b4 b3 b2"


def test_where_all_are_protected_nobody_goes() -> None:
    protected = "b1 b2 b3 b4 b5 b6"
    assert fair_names(story("a 4 0", protected=protected)) == "b6 b5 b4"  # the option is off
    assert fair_names(story("a 4 0", protected=protected, options=PROTECTS)) == ""


def test_in_the_second_round_too_the_protected_stay() -> None:
    """The claim of 3 makes a borrow 1 of 4 -> 250; b has 500, and 0 without big: 250 < 500."""
    tree = OWN_TREE.replace("root -      1      1", "root -      1      0")
    held = "name queue amount priority since\nbig b 4 0 0"
    assert fair_names(story("a 3 0", tree, held)) == "big"
    assert fair_names(story("a 3 0", tree, held, protected="big", options=PROTECTS)) == ""


def test_what_was_lent_goes_back_from_the_protected_too() -> None:
    """3 <= 3: within quota. b6 gives 2 and b5 1."""
    assert fair_names(story("a 3 0", protected="b6", options=PROTECTS)) == "b6 b5"


def test_in_its_own_queue_nobody_is_protected() -> None:
    """Of b nothing could be had anyway: 200 <= 0 without o is false, and so is 200 < 200."""
    world = story("a 1 1", OWN_TREE, OWN_HELD, protected="m", options=PROTECTS)
    assert fair(world) == "m InClusterQueue"


def test_who_is_protected_from_shares_is_not_without_fair_sharing() -> None:
    """By age alone: b6 gives 2, b5 1, b4 1."""
    world = story("a 4 9", protected="b6", options=PROTECTS)
    assert classical_names(world) == "b6 b5 b4"


def test_beyond_its_quota_a_claim_spares_some() -> None:
    assert fair_names(story("a 4 0", spared=names("b6"))) == "b5 b4 b3 b2"
    assert fair_names(story("a 4 0", spared_within_nominal=names("b6"))) == "b6 b5 b4"


def test_within_its_quota_a_claim_spares_others() -> None:
    """b5, b4 and b3 give the 3 that b6 and b5 would have given."""
    assert fair_names(story("a 3 0", spared=names("b6"))) == "b6 b5"
    assert fair_names(story("a 3 0", spared_within_nominal=names("b6"))) == "b5 b4 b3"


def test_without_fair_sharing_a_claim_spares_the_same() -> None:
    assert classical_names(story("a 3 9", spared=names("b6"))) == "b6 b5"
    assert classical_names(story("a 3 9", spared_within_nominal=names("b6"))) == "b5 b4 b3"
    assert classical_names(story("a 4 9", spared=names("b6"))) == "b5 b4 b3 b2"
    assert classical_names(story("a 4 9", spared_within_nominal=names("b6"))) == "b6 b5 b4"


def test_in_its_own_queue_a_claim_spares_nobody() -> None:
    both = {"spared": names("m"), "spared_within_nominal": names("m")}
    assert fair_names(story("a 1 1", OWN_TREE, OWN_HELD, **both)) == "m"
    assert classical_names(story("a 1 1", OWN_TREE, OWN_HELD, **both)) == "m"


def test_who_may_not_share_yet_gets_back_its_quota_and_no_more() -> None:
    assert fair_names(story("a 4 0", may_use_fair_sharing=False)) == ""
    assert fair_names(story("a 3 0", may_use_fair_sharing=False)) == "b6 b5"
    assert fair_names(story("a 1 1", OWN_TREE, OWN_HELD, may_use_fair_sharing=False)) == "m"


def test_the_delay_before_sharing_is_one_of_fair_sharing() -> None:
    assert classical_names(story("a 4 9", may_use_fair_sharing=False)) == "b6 b5 b4"


def test_importance_overrules_shares() -> None:
    """2 + 7 = 9: b borrows 1 of 11 -> 91, and A has 45 with z: neither strategy lets z go.

    5 are free and z gives 3. a2 borrows 2 of 10 -> 200 and comes before a1, which has 100.
    """
    assert fair(story("b 7 5", LENT_TREE, LENT_HELD)) == ""
    world = story("b 7 5", LENT_TREE, LENT_HELD, options=OVERRIDES)
    assert fair(world) == "z InCohortReclaimWhileBorrowing"
    (target,) = fair_targets(world.snapshot(), world.preemptor(), world.settings)
    assert target.compared is None


def test_only_who_is_outranked_is_overruled() -> None:
    """Z has priority 1. A claim of 1 or of a threshold of 0 leaves it alone; y gives 2 of 7 - 5."""
    below = LENT_TREE.replace("any     1", "any     0")
    rules_out_none = LENT_TREE.replace("any     1", "any     -")
    equal = story("b 7 1", LENT_TREE, LENT_HELD, options=OVERRIDES)
    assert fair(equal) == "y InCohortReclaimWhileBorrowing"
    strict = story("b 7 5", below, LENT_HELD, options=OVERRIDES)
    assert fair(strict) == "y InCohortReclaimWhileBorrowing"
    assert fair(story("b 7 0", LENT_TREE, LENT_HELD, options=OVERRIDES)) == ""
    assert fair(story("b 7 5", rules_out_none, LENT_HELD, options=OVERRIDES)) == ""


def test_where_shares_suffice_importance_does_not_count() -> None:
    """Queue a has 111, b 667 and at last 222."""
    expected = "b6 InCohortFairSharing, b5 InCohortFairSharing, b4 InCohortFairSharing"
    assert fair(story("a 4 9", options=OVERRIDES)) == expected


def test_importance_takes_what_shares_refuse() -> None:
    """By 2 that a borrows it has 222. b: 444 (b6), 333 (b5), 222 (b4); b3 would leave it 111."""
    assert fair(story("a 5 9")) == ""
    assert fair(story("a 5 9", options=OVERRIDES)) == (
        "b6 InCohortFairSharing, b5 InCohortFairSharing, b4 InCohortFairSharing, "
        "b3 InCohortReclaimWhileBorrowing"
    )


def test_under_the_second_strategy_alone_importance_overrules_too() -> None:
    """By 3 that a borrows it has 333. b: 444 (b6), 333 (b5); 333 < 333 is false. 2 + 4 x 1 = 6."""
    world = story("a 6 9", options=OVERRIDES)
    only_second = msgspec.structs.replace(world.settings, strategies=BOTH_STRATEGIES[1:])
    assert fair(msgspec.structs.replace(world, settings=only_second)) == (
        "b6 InCohortFairSharing, b5 InCohortFairSharing, "
        "b4 InCohortReclaimWhileBorrowing, b3 InCohortReclaimWhileBorrowing, "
        "b2 InCohortReclaimWhileBorrowing"
    )


def test_who_borrows_nothing_is_not_overruled() -> None:
    """1 is free. b uses 7 of 3 and gives 4; then it is left alone with b1, as c with 1 of its 3."""
    held = HELD.replace("b6   b     2", "c1   c     1")
    assert fair(story("a 7 9", held=held, options=OVERRIDES)) == ""


def test_importance_overrules_neither_protection_nor_delay_nor_sparing() -> None:
    """Without z, y gives 2 of the 7 - 5 that lack; without either x gives 4."""
    both = KueueOptions(min_run_time_ms=10, priority_override=True)
    given: dict[str, Any] = {
        "claim": "b 7 5",
        "tree": LENT_TREE,
        "held": LENT_HELD,
        "options": both,
    }
    assert fair_names(story(**given, protected="z")) == "y"
    assert fair_names(story(**given, protected="z y")) == "x"
    assert fair_names(story(**given, spared=names("z y"))) == "x"
    assert fair_names(story(**given, may_use_fair_sharing=False)) == ""
