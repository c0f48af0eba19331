"""How a scenario file describes a number that is drawn: how long jobs run, how many pods they have.

The same forms serve lengths of time, written as durations, and counts, written as numbers.
"""

from decimal import Decimal
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from fairlead.sim.scenario.field_types import DurationMs, Factor, PositiveFactor, Whole, in_file

ONE: Final = Decimal(1)

WholeNumber = TypeVar("WholeNumber")
RealNumber = TypeVar("RealNumber")


class UniformForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True, rename=in_file):
    """Everything between two bounds, equally often."""

    at_least: WholeNumber
    at_most: WholeNumber


class ExponentialForm(
    msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True, rename=in_file
):
    """Without a memory: the mean before the bounds."""

    mean: RealNumber
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class LognormalForm(
    msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True, rename=in_file
):
    """As run times often are: median or mean, and sigma; 1 is a factor of 2.7."""

    median: RealNumber | None = None
    mean: RealNumber | None = None
    sigma: PositiveFactor
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class WeibullForm(
    msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True, rename=in_file
):
    """Exponential, stretched: 63 % are below the scale; a shape below 1 has a heavier tail."""

    scale: RealNumber
    shape: PositiveFactor
    at_least: WholeNumber | None = None
    at_most: WholeNumber | None = None


class ParetoForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True, rename=in_file):
    """The heaviest tail: (atLeast / x) ** alpha are above x."""

    at_least: WholeNumber
    alpha: PositiveFactor
    at_most: WholeNumber | None = None


class SeenForm(msgspec.Struct, Generic[WholeNumber], frozen=True, kw_only=True, rename=in_file):
    """A value that was seen, and how often against the others."""

    value: WholeNumber
    weight: Factor = ONE


class DrawnForm(
    msgspec.Struct, Generic[WholeNumber, RealNumber], frozen=True, kw_only=True, rename=in_file
):
    """Drawn anew for each job, in exactly one of these ways."""

    uniform: UniformForm[WholeNumber] | None = None
    exponential: ExponentialForm[WholeNumber, RealNumber] | None = None
    lognormal: LognormalForm[WholeNumber, RealNumber] | None = None
    weibull: WeibullForm[WholeNumber, RealNumber] | None = None
    pareto: ParetoForm[WholeNumber] | None = None
    values: tuple[SeenForm[WholeNumber], ...] | None = None


DrawnTime: TypeAlias = DrawnForm[DurationMs, DurationMs]
DrawnCount: TypeAlias = DrawnForm[Whole, PositiveFactor]
