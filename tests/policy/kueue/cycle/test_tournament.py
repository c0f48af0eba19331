"""The tournament: worked stories, and the fast one against the plain one."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.policy.kueue.cycle.order import Head, OrderGates, order_gates
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Usage
from tests.fairness.reference_quota_tree import QuotaWorld, quota_worlds
from tests.policy.kueue.plain_tournament import PlainTournament, charged
from tests.text_table import number, rows

GATES = OrderGates()

# Amounts are cpu,gpu. A share is 1000 x borrowed / lendable / weight of the worst resource.
STORIES = {
    # With its head a borrows 2 of 10: 200. b borrows 3 of 10 with weight 2: 150.
    "the lower share by weight goes first": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      0,0     -    | -    -    -        -      -
        a    top    1      2,0     2,0  | v    2,0  9        1      2
        b    top    2      2,0     2,0  | w    3,0  0        2      1
        c    top    1      6,0     0,0  | -    -    -        -      -
    """,
    # a borrows 1 of 10 and b 2 of 10 (100 and 200 before the weight); c borrows 3 of 10 (300).
    "borrowers without weight go last, by what they borrow": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      8,0     -    | -    -    -        -      -
        a    top    0      0,0     0,0  | u    1,0  0        1      2
        b    top    0      0,0     0,0  | v    2,0  0        1      3
        c    top    1      2,0     4,0  | w    1,0  0        1      1
    """,
    # a borrows 6 of 10 gpus, but its head asks for cpu within quota; b would borrow 1 of 10 cpu.
    "who stays within quota on what it asks for goes before who borrows": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      2,6     -    | -    -    -        -      -
        a    top    1      4,2     0,8  | v    1,0  0        2      1
        b    top    1      4,2     4,0  | w    1,0  9        1      2
    """,
    # No workload borrows: 9 before 1, then the earlier one, then the name.
    "equal shares are told apart by priority, then time, then name": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      0,0     -    | -    -    -        -      -
        a    top    1      2,0     0,0  | z    1,0  1        5      4
        b    top    1      2,0     0,0  | y    1,0  1        5      3
        c    top    1      2,0     0,0  | x    1,0  1        4      2
        d    top    1      2,0     0,0  | w    1,0  9        9      1
    """,
    # In X v borrows 3 of 9 (333) and w 1 of 9 (111), so w stands for X. With w, X uses 3 of its 3
    # and does not borrow; u borrows 1 of 9 (111). Then v stands for X, which borrows 3 of 9 (333).
    "a cohort is judged by its winner": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      3,0     -    | -    -    -        -      -
        X    top    1      0,0     -    | -    -    -        -      -
        a    X      1      1,0     0,0  | v    4,0  9        1      3
        b    X      1      2,0     2,0  | w    1,0  0        9      1
        c    top    1      3,0     3,0  | u    1,0  5        5      2
    """,
    # v fits nowhere: it adds nothing and so does not borrow, though a does. w borrows 1 of 6.
    "who fits nowhere takes part with nothing": """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      2,0     -    | -    -    -        -      -
        a    top    1      2,0     4,0  | v    0,0  0        9      1
        b    top    1      2,0     2,0  | w    1,0  9        1      2
    """,
    # a keeps all its 4 and v stays within them: X sees nothing of it. w borrows 1 of 8.
    "what a queue keeps for itself is not counted above": """
        node parent weight nominal lend used | head asks priority queued turn
        top  -      1      6,0     -    -    | -    -    -        -      -
        X    top    1      0,0     -    -    | -    -    -        -      -
        a    X      1      4,0     0    0,0  | v    3,0  0        2      1
        c    top    1      2,0     -    2,0  | w    1,0  9        1      2
    """,
    # The same, but X borrows already what b uses, 3 of 8 (375). So v comes from a side that borrows
    # what v asks for, and w has the lower share (125).
    "a side that borrows already does so for a head that adds nothing": """
        node parent weight nominal lend used | head asks priority queued turn
        top  -      1      6,0     -    -    | -    -    -        -      -
        X    top    1      0,0     -    -    | -    -    -        -      -
        a    X      1      4,0     0    0,0  | v    3,0  9        1      2
        b    X      1      0,0     -    3,0  | -    -    -        -      -
        c    top    1      2,0     -    2,0  | w    1,0  0        2      1
    """,
    # d borrows and has the least claim, but its tree comes first; m is a tree of its own.
    "trees have their turns one after the other, by name": """
        node parent weight nominal used | head asks priority queued turn
        k    -      1      2,0     -    | -    -    -        -      -
        z    -      1      2,0     -    | -    -    -        -      -
        d    k      1      0,0     0,0  | y    2,0  0        9      1
        e    z      1      2,0     0,0  | x    1,0  9        1      3
        m    -      1      1,0     0,0  | w    5,0  5        5      2
    """,
}


def amounts(text: str) -> Amounts:
    return tuple(map(int, text.split(",")))


def asked(row: Iterable[int]) -> Usage:
    return tuple((axis, amount) for axis, amount in enumerate(row) if amount)


def story(table: str) -> tuple[Snapshot, list[Head], list[str]]:
    """The snapshot, the heads, and the order that the table tells."""
    lines = rows(table.replace("|", " "))
    nodes = [
        QuotaNode(
            name=line["node"],
            parent=None if line["parent"] == "-" else line["parent"],
            weight=Decimal(line["weight"]),
            guaranteed=amounts(line["nominal"]),
            borrow_limit=(None, None),
            lend_limit=(number(line.get("lend", "-")), None),
            listed=frozenset({0, 1}),
        )
        for line in lines
    ]
    usage = {line["node"]: amounts(line["used"]) for line in lines if line["used"] != "-"}
    contenders = [line for line in lines if line["head"] != "-"]
    heads = [
        Head(
            name=WorkloadName(line["head"]),
            queue=QueueName(line["node"]),
            priority=int(line["priority"]),
            queued_ms=int(line["queued"]),
            usage=asked(amounts(line["asks"])),
        )
        for line in contenders
    ]
    turns = sorted(contenders, key=lambda line: int(line["turn"]))
    tree = QuotaTree(["cpu", "gpu"], nodes, usage)
    return snapshot_of(tree, nodes), heads, [line["head"] for line in turns]


def snapshot_of(tree: QuotaTree, nodes: Sequence[QuotaNode]) -> Snapshot:
    parents = {
        QueueName(node.name): None if node.parent is None else QueueName(node.parent)
        for node in nodes
    }
    return Snapshot(tree, parents, {}, ())


def order(snapshot: Snapshot, heads: Sequence[Head], gates: OrderGates = GATES) -> list[str]:
    return list(iter(Tournament(snapshot, heads, gates).pop, None))


@pytest.mark.parametrize("table", STORIES.values(), ids=STORIES.keys())
def test_heads_have_their_turns_as_the_story_tells(table: str) -> None:
    snapshot, heads, expected = story(table)
    assert order(snapshot, heads) == expected
    assert order(snapshot, heads[::-1]) == expected


def test_without_its_gate_borrowing_on_what_is_asked_for_does_not_come_first() -> None:
    # By share alone: a has 600 for its gpus, b 100 for its cpu.
    table = STORIES["who stays within quota on what it asks for goes before who borrows"]
    snapshot, heads, _ = story(table)
    assert order(snapshot, heads, OrderGates(non_borrowing_first=False)) == ["w", "v"]


def test_without_its_gate_priority_does_not_count() -> None:
    table = STORIES["equal shares are told apart by priority, then time, then name"]
    snapshot, heads, _ = story(table)
    assert order(snapshot, heads, OrderGates(priority_first=False)) == ["x", "y", "z", "w"]


def test_who_waits_for_its_own_preemptions_goes_first_only_with_the_gate() -> None:
    snapshot, heads, expected = story(STORIES["the lower share by weight goes first"])
    assert expected == ["w", "v"]
    pending = [replace(head, is_preempting=head.name == "v") for head in heads]
    assert order(snapshot, pending) == ["w", "v"]
    assert order(snapshot, pending, OrderGates(preemptors_first=True)) == ["v", "w"]


def test_the_next_turn_sees_what_the_last_one_was_given() -> None:
    # Of 12, X has 4 and b has 2. X with u or v: 3 of 4. b with w borrows 1 of 12.
    # Unless usage changes, both u and v go before w. If u gets its 3, X with v uses 6 and
    # borrows 2 of 12 (166), and w goes first (83).
    table = """
        node parent weight nominal used | head asks priority queued turn
        top  -      1      6,0     -    | -    -    -        -      -
        X    top    1      0,0     -    | -    -    -        -      -
        a    X      1      2,0     0,0  | u    3,0  0        1      1
        c    X      1      2,0     0,0  | v    3,0  0        2      2
        b    top    1      2,0     2,0  | w    1,0  0        3      3
    """
    snapshot, heads, expected = story(table)
    assert order(snapshot, heads) == expected == ["u", "v", "w"]
    tournament = Tournament(snapshot, heads, GATES)
    assert tournament.pop() == "u"
    snapshot.charge(QueueName("a"), ((0, 3),))
    tournament.changed(QueueName("a"))
    assert [tournament.pop(), tournament.pop(), tournament.pop()] == ["w", "v", None]


def test_nobody_is_next_where_nobody_waits() -> None:
    snapshot, heads, _ = story(STORIES["a cohort is judged by its winner"])
    empty = Tournament(snapshot, [], GATES)
    empty.changed(heads[0].queue)
    assert empty.pop() is None


def test_a_queue_has_one_head() -> None:
    snapshot, heads, _ = story(STORIES["a cohort is judged by its winner"])
    with pytest.raises(AssertionError, match="a has two heads"):
        Tournament(snapshot, [heads[0], heads[0]], GATES)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("PrioritizePreemptorWorkloads", OrderGates(True, True, True)),
        ("FairSharingPrioritizeNonBorrowing", OrderGates(False, False, True)),
        ("PrioritySortingWithinCohort", OrderGates(False, True, False)),
        ("SomeOtherGate", OrderGates(False, True, True)),
    ],
)
def test_gates_are_as_kueue_has_them_unless_they_are_set(gate: str, expected: OrderGates) -> None:
    assert order_gates([]) == OrderGates(False, True, True)
    assert order_gates([(gate, gate == "PrioritizePreemptorWorkloads")]) == expected


@st.composite
def heads_of(draw: st.DrawFn, world: QuotaWorld) -> list[Head]:
    """A head for some of the leaves, with many ties, in any order."""
    queues = draw(st.lists(st.sampled_from(world.leaves), unique=True))
    names = draw(st.permutations([f"w{number}" for number in range(len(queues))]))
    return [
        Head(
            name=WorkloadName(name),
            queue=QueueName(queue),
            priority=draw(st.integers(0, 1)),
            queued_ms=draw(st.integers(0, 1)),
            usage=asked(draw(world.amounts())),
            is_preempting=draw(st.booleans()),
        )
        for name, queue in zip(names, queues, strict=True)
    ]


@given(world=quota_worlds(), gates=st.builds(OrderGates, *[st.booleans()] * 3), data=st.data())
def test_every_turn_is_that_of_a_tournament_held_anew(
    world: QuotaWorld, gates: OrderGates, data: st.DataObject
) -> None:
    """Whatever is charged between two turns, to the winner's queue or to others."""
    heads = data.draw(heads_of(world))
    nothing: Amounts = (0,) * len(world.axis_resources)
    usage = {leaf: world.usage.get(leaf, nothing) for leaf in world.leaves}
    snapshot = snapshot_of(world.tree(), world.nodes)
    tournament = Tournament(snapshot, heads, gates)
    queues = st.sampled_from(list(map(QueueName, world.leaves)))
    charges = st.lists(st.tuples(queues, world.amounts().map(asked)), max_size=2)
    left = list(heads)
    while left:
        winner = PlainTournament(world, usage, left, gates).winner()
        assert tournament.pop() == winner.name
        left.remove(winner)
        own = [(winner.queue, winner.usage)] if data.draw(st.booleans()) else []
        for queue, more in [*own, *data.draw(charges)]:
            usage[queue] = charged(usage, queue, more)
            snapshot.charge(queue, more)
            tournament.changed(queue)
    assert tournament.pop() is None
