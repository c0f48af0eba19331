"""The arithmetic of one division as data: what was given in each step, to which sibling and why.

`divide` appends these to a recorder if it is given one, so that a share can be explained by the
very sums that led to it. Siblings are named by their index in the list that was divided, levels by
theirs (0: the highest priority). Nothing here computes a share.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import msgspec


class GuaranteeStep(msgspec.Struct, frozen=True, kw_only=True, tag="guarantee"):
    """Step 1: the guarantee of each sibling, as far as it is requested and permitted."""

    amount: int
    requestable: tuple[int, ...]  # per sibling: the request, cut at the ceiling
    granted: tuple[int, ...]  # per sibling
    remaining: int  # negative: the guarantees together exceed the amount


class RoundEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One sibling in one round."""

    sibling: int
    weight: int
    share_weight: int  # over RoundStep.share_weight_total; less than its weight says after usage
    need: int  # before the round
    portion: Fraction  # in base units
    granted: int
    done: bool  # the portion covered the need
    remembered: Fraction | None  # part of a whole unit by which it is ranked in step 3


class RoundStep(msgspec.Struct, frozen=True, kw_only=True, tag="round"):
    """Step 2: one round among the unsatisfied siblings of one priority level."""

    level: int
    number: int  # from 1, within the level
    remaining: int  # at the start of the round
    weight_total: int
    share_weight_total: int  # 0: usage outweighs every claim, and the level ends here
    entries: tuple[RoundEntry, ...]


class LeftoverStep(msgspec.Struct, frozen=True, kw_only=True, tag="leftover"):
    """Step 3: one whole unit, or the rest of one, for one sibling."""

    level: int
    sibling: int
    rank: int  # from 1, within the level
    fraction: Fraction
    chosen_by: Literal["fraction", "order"]  # order: the next in rank has the same fraction
    granted: int
    remaining: int  # afterwards


class FinalStep(msgspec.Struct, frozen=True, kw_only=True, tag="final"):
    """The end: the shares, and what no sibling gets."""

    shares: tuple[int, ...]
    unclaimed: int


DivisionStep: TypeAlias = GuaranteeStep | RoundStep | LeftoverStep | FinalStep


class StepRecorder(Protocol):
    """Anything that takes the steps one by one, in order, such as a list."""

    def append(self, step: DivisionStep, /) -> None:
        """Take the next step."""
