"""Reasons as short lines that a scenario can state."""

from fairlead.model.plan import Comparison, Reason, Term


def told(reason: Reason) -> list[str]:
    """Return the code and its queue, what was compared, the names, shares, and who holds what."""
    return [
        f"{reason.code} {reason.queue}",
        *map(told_comparison, reason.comparisons),
        *reason.names,
        *(f"{each.queue}: {each.before:g} -> {each.after:g}" for each in reason.shares),
        *(
            f"{each.queue} has {each.amount} {each.axis}, {each.borrowed} borrowed"
            for each in reason.held
        ),
    ]


def told_comparison(comparison: Comparison) -> str:
    axis = f"{comparison.axis}: " if comparison.axis else ""
    left = " + ".join(map(_term, comparison.left))
    return f"{axis}{left} {comparison.relation} {_term(comparison.right)} at {comparison.queue}"


def _term(term: Term) -> str:
    owner = f" of {term.queue}" if term.queue else ""
    amount = f"{term.amount:g}" if isinstance(term.amount, float) else str(term.amount)
    return f"{term.name}{owner} {amount}"
