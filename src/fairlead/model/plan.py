"""What to do about one moment: decisions with their reasons, as data.

Events, tables, dashboards, metrics and tests all read these, and parse no sentence. Sentences
are made from them elsewhere.
"""

from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Axis, Limits, QueueName, WorkloadName
from fairlead.model.events import MemoryChanged, Placement
from fairlead.model.workload import PodId


class SideNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two queues compared, an entry per axis; a saturation of None is infinite.

    For a loss, *before* is what the rule looked at: the victim's side just before this loss, the
    reclaimer's as the search began. *After* is without what has been lost so far, this loss
    included, and on the reclaimer's side with the request.
    """

    queue: QueueName
    axes: tuple[Axis, ...]
    guaranteed: Limits
    fair_share: Amounts
    allocatable: Limits
    allocated_before: Amounts
    allocated_after: Amounts
    saturation_before: tuple[Fraction | None, ...]
    saturation_after: tuple[Fraction | None, ...]


Relation = Literal["<", "<=", ">", ">="]


class Term(msgspec.Struct, frozen=True):
    """A named number in a comparison: an amount, or a share (a float); None is "no limit".

    ``queue`` is whose number it is, where two queues are compared.
    """

    name: str
    amount: int | float | None
    queue: QueueName | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers that decided at a queue: the sum of *left* against *right*.

    Shares that look at several resources at once have no axis.
    """

    queue: QueueName
    axis: Axis | None
    left: tuple[Term, ...]
    relation: Relation
    right: Term

    def holds(self) -> bool:
        """Return whether the numbers stand in the stated relation."""
        bound = self.right.amount
        if any(term.amount is None for term in self.left):
            return self.relation in (">", ">=") and bound is not None
        if bound is None:
            return self.relation in ("<", "<=")
        total = sum(term.amount or 0 for term in self.left)
        match self.relation:
            case "<":
                return total < bound
            case "<=":
                return total <= bound
            case ">":
                return total > bound
            case ">=":
                return total >= bound


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some things share a defect: ``3 of 8 nodes lack gpu``."""

    count: int
    of: int
    things: str = "nodes"
    what: str


class SideShare(msgspec.Struct, frozen=True, kw_only=True):
    """One of two nodes of the tree whose weighted shares were compared; a share may be infinite."""

    queue: QueueName
    before: float
    after: float  # with what it gains, or without what it loses


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue holds of something that is scarce, and how much of it is borrowed."""

    queue: QueueName
    axis: Axis
    amount: int
    borrowed: int


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why: a code of the peer's vocabulary (ours where it has none), and what was weighed."""

    code: str
    queue: QueueName | None = None  # where in the tree it was decided
    comparisons: tuple[Comparison, ...] = ()
    tallies: tuple[Tally, ...] = ()
    names: tuple[str, ...] = ()  # what it is about: a constraint that no filter knows, ...
    sides: tuple[
        SideNumbers, ...
    ] = ()  # of two queues compared: the one that gains, the one that loses
    shares: tuple[SideShare, ...] = ()  # the same where weighted shares decide
    held: tuple[Held, ...] = ()  # queues that hold what is lacking, the largest holder first
    remaining_ms: int | None = None  # for how long it holds if nothing but the clock moves


class Start(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """These pods run now; ``charged`` is the queue path from the leaf upward."""

    workload: WorkloadName
    placements: tuple[Placement, ...]
    flavors: tuple[dict[str, str], ...] = ()
    charged: tuple[QueueName, ...]
    reason: Reason


class Reserve(msgspec.Struct, frozen=True, kw_only=True, tag="reserve"):
    """These pods will run on capacity that is being released by ``waits_for``.

    ``waits_for_foreign`` are foreign pods that are being deleted there.
    """

    workload: WorkloadName
    placements: tuple[Placement, ...]
    flavors: tuple[dict[str, str], ...] = ()
    charged: tuple[QueueName, ...]
    waits_for: tuple[WorkloadName, ...]
    waits_for_foreign: tuple[PodId, ...] = ()
    reason: Reason


class Evict(msgspec.Struct, frozen=True, kw_only=True, tag="evict"):
    """These running pods give way to the beneficiary (None: to no workload in particular)."""

    workload: WorkloadName
    pods: tuple[PodId, ...]
    beneficiary: WorkloadName | None
    reason: Reason
    by_own_quota: bool = False  # under Kueue: the beneficiary's queue takes back its own


class Move(msgspec.Struct, frozen=True, kw_only=True, tag="move"):
    """These pods are stopped here and started there in the same plan."""

    workload: WorkloadName
    origins: tuple[Placement, ...]
    placements: tuple[Placement, ...]
    beneficiary: WorkloadName | None
    reason: Reason


class FailedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A try to get a place from others, by one action of the policy, and what stopped it."""

    action: str
    reason: Reason


class Wait(msgspec.Struct, frozen=True, kw_only=True, tag="wait"):
    """The workload stays pending; ``claims`` say why it cannot take a place from others either."""

    workload: WorkloadName
    reason: Reason
    claims: tuple[FailedClaim, ...] = ()


class Unknown(msgspec.Struct, frozen=True, kw_only=True, tag="unknown"):
    """Whether the workload may start cannot be judged; the names of the reason say because of what.

    It holds no place, and no other workload waits for it. The scheduler of its cluster may well
    start it, on capacity that this plan gives to others: a plan with one is incomplete.
    """

    workload: WorkloadName
    reason: Reason


LeftPending: TypeAlias = Wait | Unknown
"""A decision that changes nothing: the workload stays pending, and gets no place."""

Decision: TypeAlias = Start | Reserve | Evict | Move | Wait | Unknown


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about one state, in the order in which to do it.

    ``memories`` is what the next plan has to know although nothing is done about it now. What
    decisions leave to be remembered follows from them, and is not among it.

    A plan that is cut has nothing but starts, and does not mention what waits: it is the beginning
    of a plan that goes on when the state, with these starts carried out, is planned again.

    A plan that is ``time_dependent`` might differ at another time although the state does not;
    ``valid_until_ms`` is when the clock may matter next, where the rule set knows it.
    """

    taken_ms: int
    decisions: tuple[Decision, ...]
    memories: tuple[MemoryChanged, ...] = ()
    is_cut: bool = False
    time_dependent: bool = False
    valid_until_ms: int | None = None
