"""Amounts of a queue against its bounds, written down axis by axis for a reason."""

from collections.abc import Iterable, Sequence

from fairlead.model.axes import Amounts, Axis, Limits, QueueName
from fairlead.model.plan import Comparison, Relation, Term


def axis_comparisons(
    axes: Sequence[Axis],
    queue: QueueName,
    held: tuple[str, Sequence[int]],
    relation: Relation,
    bounds: tuple[str, Limits],
    *,
    request: Amounts | None = None,
) -> list[Comparison]:
    """Return, for every axis, what is *held* and the *request* against the bound.

    Held and bounds come with the name under which they are told. Whether a comparison holds is not
    asked here.
    """
    held_name, amounts = held
    bound_name, limits = bounds
    asked = () if request is None else (request,)
    return [
        Comparison(
            queue=queue,
            axis=axis,
            left=(Term(held_name, amount), *(Term("request", more) for more in requested)),
            relation=relation,
            right=Term(bound_name, bound),
        )
        for axis, bound, amount, *requested in zip(axes, limits, amounts, *asked, strict=True)
    ]


def those_that_hold(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons of which the numbers stand in the stated relation."""
    return tuple([comparison for comparison in comparisons if comparison.holds()])
