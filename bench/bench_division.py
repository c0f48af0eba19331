"""Fair shares of whole trees: one root, departments, 99 leaves in each, three resources.

Random weights, two priorities among the leaves, and requests of about twice the capacity: most
leaves stay unsatisfied, and every group runs several rounds. The name of a figure says what is in
it. *Standing tree*: it was built beforehand, because it changes seldom, and everything is divided
anew. *Shares kept*: only queues that a change concerns are divided again. Building the tree has
a figure of its own.
"""

import random
from fractions import Fraction
from itertools import cycle

from bench.harness import Work, benchmark
from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import DivisionTree, ShareQueue, fair_shares
from fairlead.fairness.kept_shares import KeptShares

UNITS = (1, 1, 1000)  # a millicore, a byte, a device in thousandths
PER_LEAF = (16_000, 64 * 2**30, 1_000)  # capacity per leaf
LEAVES_PER_DEPARTMENT = 99
PEER_SMALL = "KAI 12-16 ms"
PEER_LARGE = "KAI 137-180 ms"


def _leaf_claims(chance: random.Random, leaves: int) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            guaranteed=chance.choice((0, 0, per_leaf // 8)),
            ceiling=chance.choice((None, None, per_leaf * 3)),
            weight=chance.randint(1, 100),
            requested=chance.randint(per_leaf // 4, per_leaf * 4),
            usage_e9=chance.randint(0, 2 * 10**9 // leaves),
        )
        for per_leaf in PER_LEAF
    )


def _inner_claims(chance: random.Random, children: list[ShareQueue]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            guaranteed=0,
            ceiling=None,
            weight=chance.randint(1, 100),
            requested=sum(claim.requested for claim in column),
            usage_e9=sum(claim.usage_e9 for claim in column),
        )
        for column in zip(*(child.claims for child in children), strict=True)
    )


def _queue(
    chance: random.Random,
    name: str,
    parent: str | None,
    claims: tuple[Claim, ...],
    priorities: tuple[int, ...] = (100,),
) -> ShareQueue:
    return ShareQueue(
        name=name,
        parent=parent,
        priority=chance.choice(priorities),
        created_ms=chance.randrange(10**12),
        claims=claims,
    )


def _queues(departments: int) -> list[ShareQueue]:
    chance = random.Random(departments)
    leaf_count = departments * LEAVES_PER_DEPARTMENT
    leaves: list[ShareQueue] = []
    heads: list[ShareQueue] = []
    for department in range(departments):
        name = f"department-{department}"
        team = [
            _queue(chance, f"{name}-{leaf}", name, _leaf_claims(chance, leaf_count), (100, 50))
            for leaf in range(LEAVES_PER_DEPARTMENT)
        ]
        leaves += team
        heads.append(_queue(chance, name, "root", _inner_claims(chance, team)))
    root = _queue(chance, "root", None, _inner_claims(chance, heads))
    queues = [root, *heads, *leaves]
    chance.shuffle(queues)
    return queues


def _division(departments: int, k: Fraction) -> Work:
    tree = DivisionTree.from_queues(_queues(departments))
    total = _total(departments)
    return lambda: fair_shares(tree, total, units=UNITS, k=k)


def _total(departments: int) -> tuple[int, ...]:
    return tuple(per_leaf * departments * LEAVES_PER_DEPARTMENT for per_leaf in PER_LEAF)


@benchmark("division: 1,001 queues, standing tree, k = 0", goal_cpu_ms=4, peer=PEER_SMALL)
def _small() -> Work:
    return _division(10, Fraction(0))


@benchmark(
    "division: 1,001 queues, standing tree, k = 1 with usage", goal_cpu_ms=8, peer=PEER_SMALL
)
def _small_with_usage() -> Work:
    return _division(10, Fraction(1))


@benchmark("division: 10,001 queues, standing tree, k = 0", goal_cpu_ms=50, peer=PEER_LARGE)
def _large() -> Work:
    return _division(100, Fraction(0))


@benchmark(
    "division: 10,001 queues, standing tree, k = 1 with usage", goal_cpu_ms=100, peer=PEER_LARGE
)
def _large_with_usage() -> Work:
    return _division(100, Fraction(1))


@benchmark("division: build the tree of 1,001 queues")
def _build() -> Work:
    queues = _queues(10)
    return lambda: DivisionTree.from_queues(queues)


@benchmark("division: 1,001 queues, shares kept, every request new", peer=PEER_SMALL)
def _all_new() -> Work:
    queues = _queues(10)
    return _kept(queues, queues)


@benchmark("division: 1,001 queues, shares kept, one request new", peer=PEER_SMALL)
def _one_new() -> Work:
    queues = _queues(10)
    return _kept(queues, queues[:1])


def _kept(queues: list[ShareQueue], changing: list[ShareQueue]) -> Work:
    """Let some request more and less in turn, as the rules and the simulator follow a cluster."""
    total = _total(10)
    kept = KeptShares(DivisionTree.from_queues(queues), total, units=UNITS)
    first = {queue.name: [claim.requested for claim in queue.claims] for queue in changing}
    half = {name: [amount // 2 for amount in row] for name, row in first.items()}
    in_turn = cycle([half, first])
    return lambda: kept.change(next(in_turn), total)
