"""From the numbers of a scenario file to those that sources of work draw."""

from decimal import Decimal
from typing import Any, Final

from fairlead.sim.scenario.drawn_form import DrawnForm
from fairlead.sim.work.number import (
    Empirical,
    Exponential,
    LogNormal,
    Number,
    Pareto,
    Uniform,
    Weibull,
)

WAYS: Final = ("uniform", "exponential", "lognormal", "weibull", "pareto", "values")


def ways_given(drawn: DrawnForm[int, Any]) -> list[str]:
    """Return in which ways a number is to be drawn; there should be one."""
    return [way for way in WAYS if getattr(drawn, way) is not None]


def number_of(value: int | DrawnForm[int, Any]) -> Number:
    """Return what is drawn; of a form in several ways, by the first."""
    if isinstance(value, int):
        return value
    if value.uniform is not None:
        return Uniform(at_least=value.uniform.at_least, at_most=value.uniform.at_most)
    if value.values is not None:
        return Empirical(values=tuple((seen.value, seen.weight) for seen in value.values))
    if (form := value.pareto) is not None:
        return Pareto(at_least=form.at_least, alpha=form.alpha, at_most=form.at_most)
    return _curve(value)


def _curve(value: DrawnForm[int, int | Decimal]) -> Number:
    if (curve := value.exponential) is not None:
        return Exponential(mean=curve.mean, at_least=curve.at_least or 0, at_most=curve.at_most)
    if (shaped := value.weibull) is not None:
        return Weibull(
            scale=shaped.scale,
            shape=shaped.shape,
            at_least=shaped.at_least or 0,
            at_most=shaped.at_most,
        )
    form = value.lognormal
    if form is None:
        return 1  # no way at all, which is told
    return LogNormal(
        median=form.median,
        mean=form.mean,
        sigma=form.sigma,
        at_least=form.at_least or 0,
        at_most=form.at_most,
    )
