"""Trees of queues for tests of reclaim: every number is given, none follows from jobs.

Amounts are on two axes, cpu and gpu, written ``2+3``; ``-`` is no limit.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.events import QueueChanged
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare, allocatable
from fairlead.policy.kai.reclaimable import (
    Loss,
    Reclaimer,
    ReclaimJudge,
    Verdict,
    allocated_now,
)
from tests.model.worlds import AXES, RESOURCES, queue
from tests.text_table import rows


class Numbers(NamedTuple):
    """One queue as the rules see it."""

    name: str
    parent: str | None
    quota: Limits
    limit: Limits
    fair: Amounts
    holds: Amounts
    fixed: Amounts = (0, 0)  # of which cannot be preempted


class World(NamedTuple):
    """Queues, a reclaimer in one of them and what others would lose."""

    queues: tuple[Numbers, ...]
    reclaimer: Reclaimer
    losses: tuple[Loss, ...]
    multiplier: Fraction = Fraction(1)

    def changed(self, name: str, **numbers: Limits) -> "World":
        """Return the world with other numbers for one queue."""
        queues = [
            each._replace(**numbers) if each.name == name else each  # type: ignore[arg-type]  # by name
            for each in self.queues
        ]
        return self._replace(queues=tuple(queues))


def state_of(queues: Sequence[Numbers]) -> ClusterState:
    state = ClusterState(RESOURCES, AXES)
    for each in queues:
        bounded = replace(queue(each.name, each.parent), guaranteed=each.quota, ceiling=each.limit)
        state.apply(QueueChanged(bounded))
    for each in queues:
        sums = state.sums[QueueName(each.name)]
        sums.allocated[:] = each.holds
        sums.non_preemptible[:] = each.fixed
    return state


def share_of(each: Numbers) -> KaiShare:
    return KaiShare(
        queue=QueueName(each.name),
        requested=each.holds,
        fair_share=each.fair,
        allocatable=tuple(map(allocatable, each.quota, each.limit, each.fair)),
        usage_e9=AXES.zero,
    )


def judge_of(world: World) -> ReclaimJudge:
    state = state_of(world.queues)
    return ReclaimJudge(
        state,
        {QueueName(each.name): share_of(each) for each in world.queues},
        world.reclaimer,
        allocated=allocated_now(state),
        multiplier=world.multiplier,
    )


def told(verdict: Verdict) -> str:
    """Say what allows each loss, or which rule refuses where: ``loss a b``."""
    if verdict.stands:
        return " ".join(["stands", *verdict.strategies])
    axis = [] if verdict.axis is None else [str(AXES.axes[verdict.axis])]
    return " ".join([str(verdict.refused_by), *verdict.queues, *axis])


def judged(world: World) -> str:
    return told(judge_of(world).judge(world.losses))


def cell(text: str) -> Limits:
    cpu, gpu = text.split("+")
    return (None if cpu == "-" else int(cpu), None if gpu == "-" else int(gpu))


def amounts(text: str) -> Amounts:
    return tuple(amount or 0 for amount in cell(text))


def table_queues(table: str) -> tuple[Numbers, ...]:
    """Read queues from a table; the columns ``limit`` and ``fixed`` may be missing."""
    return tuple(
        Numbers(
            name=row["queue"],
            parent=None if row["parent"] == "-" else row["parent"],
            quota=cell(row["quota"]),
            limit=cell(row.get("limit", "-+-")),
            fair=amounts(row["fair"]),
            holds=amounts(row["holds"]),
            fixed=amounts(row.get("fixed", "0+0")),
        )
        for row in rows(table)
    )


def told_world(story: str, table: str) -> World:
    """Read ``a takes 0+2 from b 0+1, c 0+1``; ``fixed`` at its end: it cannot be preempted.

    ``x 3/2`` after that is the multiplier.
    """
    before, _, after = story.partition(" from ")
    name, _, request = before.partition(" takes ")
    losses, _, multiplier = after.partition(" x ")
    is_fixed = request.endswith(" fixed")
    return World(
        queues=table_queues(table),
        reclaimer=Reclaimer(
            queue=QueueName(name),
            request=amounts(request.removesuffix(" fixed")),
            preemptible=not is_fixed,
        ),
        losses=tuple(
            Loss(QueueName(loser), amounts(lost))
            for loser, lost in (loss.split() for loss in losses.split(", "))
        ),
        multiplier=Fraction(multiplier or 1),
    )


small = st.integers(0, 4)
vectors = st.tuples(small, small)
sizes = st.sampled_from([(0, 1), (1, 0), (1, 1), (0, 2), (2, 1), (0, 0)])
bounds = st.tuples(st.none() | small, st.none() | small)
mostly_limited = st.tuples(small, small) | bounds


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a tree of up to nine queues with at least two leaves, in any listing."""
    parents: list[str | None] = [None, draw(st.sampled_from([None, "q0"]))]
    parents += draw(st.lists(st.none() | st.sampled_from(["q0", "q1"]), min_size=1, max_size=4))
    middle = len(parents)
    inner = [None, *(f"q{at}" for at in range(middle))]
    parents += draw(st.lists(st.sampled_from(inner), max_size=3))
    queues = [_numbers(draw, f"q{at}", parent) for at, parent in enumerate(parents)]
    leaves = [each.name for each in queues if each.name not in parents]
    if len(leaves) == 1:
        queues.append(_numbers(draw, "other", None))
        leaves.append("other")
    own = draw(st.sampled_from(leaves))
    others = [QueueName(leaf) for leaf in leaves if leaf != own]
    return World(
        queues=tuple(draw(st.permutations(queues))),
        reclaimer=Reclaimer(
            queue=QueueName(own),
            request=draw(sizes),
            preemptible=draw(st.sampled_from([True, True, True, False])),
        ),
        losses=tuple(
            draw(st.lists(st.builds(Loss, st.sampled_from(others), sizes), min_size=1, max_size=6))
        ),
        multiplier=draw(st.sampled_from([Fraction(1), Fraction(6, 5), Fraction(2)])),
    )


def _numbers(draw: st.DrawFn, name: str, parent: str | None) -> Numbers:
    """Draw a queue that holds a lot more often than not, so that some sets stand."""
    return Numbers(
        name=name,
        parent=parent,
        quota=draw(mostly_limited),
        limit=draw(bounds),
        fair=draw(st.tuples(st.integers(0, 6), st.integers(0, 6))),
        holds=draw(st.tuples(st.integers(0, 9), st.integers(0, 9))),
        fixed=draw(st.sampled_from([(0, 0), (0, 0), (0, 1)])),
    )
