"""The division written straight after its rule, with fractions and dictionaries.

Slow and plain on purpose: it looks everything up anew in every round, and shares no code with
the version that it checks.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import ShareQueue


def requestable(claim: Claim) -> int:
    """The request, cut at the ceiling."""
    return claim.requested if claim.ceiling is None else min(claim.ceiling, claim.requested)


def reference_divide(
    amount: int, claims: Sequence[Claim], levels: Sequence[Sequence[int]], unit: int, k: Fraction
) -> list[int]:
    """Shares in the order of claims."""
    share = [
        min(amount if claim.guaranteed is None else claim.guaranteed, requestable(claim))
        for claim in claims
    ]
    remaining = amount - sum(share)
    if remaining <= 0:
        return share
    remembered: list[dict[int, Fraction]] = []
    for level in levels:
        fractions: dict[int, Fraction] = {}
        remembered.append(fractions)
        another = True
        while another and remaining > 0:
            remaining, another = _round(remaining, claims, level, share, fractions, unit, k)
    for level, fractions in zip(levels, remembered, strict=True):
        for sibling in sorted(fractions, key=lambda i: (-fractions[i], level.index(i))):
            gift = min(unit, remaining)
            share[sibling] += gift
            remaining -= gift
    return share


def _round(
    remaining: int,
    claims: Sequence[Claim],
    level: Sequence[int],
    share: list[int],
    fractions: dict[int, Fraction],
    unit: int,
    k: Fraction,
) -> tuple[int, bool]:
    unsatisfied = [i for i in level if requestable(claims[i]) > share[i]]
    weight_sum = sum(claims[i].weight for i in unsatisfied)
    if weight_sum == 0:
        return remaining, False
    share_weight = {}
    for i in unsatisfied:
        part = Fraction(claims[i].weight, weight_sum)
        usage = Fraction(claims[i].usage_e9, 10**9)
        share_weight[i] = max(Fraction(0), part + max(Fraction(0), k) * (part - usage))
    share_weight_sum = sum(share_weight.values())
    if share_weight_sum == 0:
        return remaining, False
    at_start = remaining
    another = False
    for i in unsatisfied:
        if claims[i].weight == 0:
            continue
        portion = at_start * share_weight[i] / share_weight_sum
        need = requestable(claims[i]) - share[i]
        if need <= portion:
            gift = need
            fractions.pop(i, None)
            another = another or need < portion
        else:
            units = portion / unit
            gift = floor(units) * unit
            if units != floor(units):
                fractions[i] = units - floor(units)
        share[i] += gift
        remaining -= gift
    return remaining, another


def reference_fair_shares(
    queues: Sequence[ShareQueue], total: Sequence[int], units: Sequence[int], k: Fraction
) -> dict[str, tuple[int, ...]]:
    """Shares of a whole tree, by recursion from the top."""
    shares: dict[str, tuple[int, ...]] = {}

    def descend(parent: str | None, amounts: Sequence[int]) -> None:
        siblings = sorted(
            (queue for queue in queues if queue.parent == parent),
            key=lambda queue: (queue.created_ms, queue.name),
        )
        priorities = sorted({queue.priority for queue in siblings}, reverse=True)
        levels = [
            [i for i, queue in enumerate(siblings) if queue.priority == priority]
            for priority in priorities
        ]
        columns = [
            reference_divide(amount, [queue.claims[axis] for queue in siblings], levels, unit, k)
            for axis, (amount, unit) in enumerate(zip(amounts, units, strict=True))
        ]
        for queue, row in zip(siblings, zip(*columns, strict=True), strict=True):
            shares[queue.name] = row
            descend(queue.name, row)

    descend(None, total)
    return shares
