"""Reasons in sentences. Everything said here is in the reason as data; nothing is looked up."""

from typing import Final

from fairlead.explain.amount_text import amount_text
from fairlead.explain.axis_order import by_interest
from fairlead.model.axes import Axis
from fairlead.model.plan import Comparison, Reason, Tally, Term

_PHRASES: Final = {
    "WithinQuota": "within the quota of {queue}: {first}",
    "OverQuota": "on idle room beyond the quota of {queue}: {first}",
    "OverLimit": "over the limit: {all} at {queue}",
    "NonPreemptibleOverQuota": "over the quota, and it cannot be preempted: {all} at {queue}",
    "NoNodeFits": "fits no node: {tallies}",
    "UnsupportedConstraint": "has a constraint that is not supported: {names}",
    "QueueDoesNotExist": "queue {queue} does not exist",
    "QueueHasChildren": "queue {queue} has queues below it, and only leaves run jobs",
    "NotReady": "not complete: {tallies}",
    "SchedulingGated": "held back: {tallies}",
    "Suspended": "held back by its owner",
    "StaleGang": "incomplete for too long: {tallies}",
    "AllocateIsOff": "the shard has the action allocate switched off",
    "WouldBeEvicted": "could start, but the next cycle would take its place from it again",
    "BeyondQueueDepth": "beyond the queueDepthPerAction of {queue}",
}

_OF_ONE: Final = {"lack": "lacks", "have": "has", "are": "is", "do": "does", "run": "runs"}


def reason_text(reason: Reason) -> str:
    """Return *reason* in a sentence without its full stop; an unknown code stands for itself."""
    phrase = _PHRASES.get(reason.code, reason.code)
    if reason.code == "QueueDoesNotExist" and not reason.queue:
        phrase = "it names no queue"
    text = phrase.format(
        queue=reason.queue,
        first=comparisons_text(_most_interesting(reason.comparisons)),
        all=comparisons_text(reason.comparisons),
        tallies=tallies_text(reason.tallies),
        names=", ".join(reason.names),
    )
    return text.removesuffix(": ")  # who asks for nothing has no numbers


def comparisons_text(comparisons: tuple[Comparison, ...]) -> str:
    """Return comparisons as sums: ``gpu: allocated 14 + request 4 > limit 16``."""
    return "; ".join(map(_comparison_text, comparisons))


def tallies_text(tallies: tuple[Tally, ...]) -> str:
    """Return counts in words: ``3 of 8 nodes lack memory, 5 lack cpu``."""
    texts = []
    before: Tally | None = None
    for tally in tallies:
        is_same = before is not None and (before.of, before.things) == (tally.of, tally.things)
        whole = "" if is_same else f" of {tally.of} {_noun_agrees(tally)}"
        is_one = tally.count == 1 or tally.of == 1
        texts.append(
            f"{tally.count}{whole} {verb_agrees(tally.what, 1 if is_one else tally.count)}"
        )
        before = tally
    return ", ".join(texts)


def verb_agrees(what: str, count: int) -> str:
    """Return *what* so many do: ``lack cpu``, but of one ``lacks cpu``."""
    verb, space, rest = what.partition(" ")
    return _OF_ONE.get(verb, verb) + space + rest if count == 1 else what


def _noun_agrees(tally: Tally) -> str:
    noun, space, rest = tally.things.partition(" ")
    return noun.removesuffix("s") + space + rest if tally.of == 1 else tally.things


def _most_interesting(comparisons: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """Return the one that people look at first, which is that of the scarcest resource."""
    of_axis = {each.axis: each for each in comparisons if each.axis is not None}
    for axis in by_interest(of_axis):
        return (of_axis[axis],)
    return comparisons[:1]


def _comparison_text(comparison: Comparison) -> str:
    axis = comparison.axis
    left = " + ".join(_term_text(axis, term) for term in comparison.left)
    name = f"{axis}: " if axis else ""
    return f"{name}{left} {comparison.relation} {_term_text(axis, comparison.right)}"


def _term_text(axis: Axis | None, term: Term) -> str:
    owner = f" of {term.queue}" if term.queue else ""
    match term.amount:
        case None:
            return f"unlimited {term.name}{owner}"
        case int() if axis is not None:
            return f"{term.name}{owner} {amount_text(axis, term.amount)}"
        case _:
            return f"{term.name}{owner} {term.amount}"
