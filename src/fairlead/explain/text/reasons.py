"""Reasons in sentences. Every word and number comes from the reason; nothing is looked up."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from string import Formatter
from typing import Final

from fairlead.explain.text.amounts import amount_text, by_interest, number_text
from fairlead.explain.text.names import first_few
from fairlead.explain.text.phrases import all_phrases
from fairlead.model.axes import Axis, QueueName
from fairlead.model.duration import format_duration, moment_text
from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Tally, Term, Wait

TIMES: Final = ("queued at",)
"""Terms whose amount is a moment, in milliseconds."""

_OF_ONE: Final = {
    "lack": "lacks",
    "have": "has",
    "are": "is",
    "do": "does",
    "run": "runs",
    "give": "gives",
    "wait": "waits",
    "fail": "fails",
    "share": "shares",
}


def reason_text(reason: Reason) -> str:
    """Return *reason* in a sentence without its full stop; an unknown code stands for itself."""
    told = _Told(reason)
    text = _phrase(reason.code, told).format_map(told)
    return text.removesuffix(": ")  # a job that asks for nothing has no numbers


class _Told(dict[str, str]):
    """What stands at each place of a phrase; made for the places that the phrase has."""

    def __init__(self, reason: Reason) -> None:
        self._reason = reason

    def __missing__(self, place: str) -> str:
        text = self[place] = _TEXTS[place](self._reason)
        return text


_TEXTS: Final[Mapping[str, Callable[[Reason], str]]] = {
    "queue": lambda why: why.queue or "",
    "first": lambda why: _comparisons_text(_most_interesting(why.comparisons), why.queue),
    "scarcest": lambda why: _comparisons_text(_on_scarcest_axis(why), why.queue),
    "all": lambda why: _comparisons_text(why.comparisons, why.queue),
    "tallies": lambda why: tallies_text(why.tallies),
    "names": lambda why: first_few(why.names),
    "name": lambda why: why.names[0] if why.names else "",
    "other": lambda why: why.names[1] if why.names[1:] else "",
    "held": lambda why: _held_text(why.held) if why.held else "",
    "remaining": lambda why: "" if why.remaining_ms is None else rounded_duration(why.remaining_ms),
}


def _phrase(code: str, told: Mapping[str, str]) -> str:
    """Return the first phrase of *code* for which nothing is missing that it has a place for."""
    known = all_phrases()
    phrases = (known.phrases.get(code, code), *known.shorter.get(code, ()))
    for phrase in phrases:
        if all(told[name] for name in _places(phrase)):
            return phrase
    return phrases[-1]


@lru_cache(maxsize=1024)  # there are few phrases, but an unknown code is its own phrase
def _places(phrase: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(phrase) if name is not None)


def held_texts(held: Sequence[Held]) -> list[str]:
    """Return who holds how much, and how much of it is borrowed."""
    return [
        f"{each.queue} {amount_text(each.axis, each.amount)}"
        + (f" ({amount_text(each.axis, each.borrowed)} borrowed)" if each.borrowed else "")
        for each in held
    ]


def _held_text(held: Sequence[Held]) -> str:
    """Return who holds what people look at first; which that is, where there is more than one."""
    axes = by_interest(each.axis for each in held)
    text = first_few(held_texts([each for each in held if each.axis == axes[0]]))
    return f"{text} of {axes[0]}" if len(axes) > 1 else text


def rounded_duration(length_ms: int) -> str:
    """Return a length of time in whole seconds, never less than is left."""
    return format_duration(-(-length_ms // 1000) * 1000)


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
    """Return *what* so many do: ``have too little free cpu``, but of one ``has ...``.

    Placement says ``lack`` of a resource; for people it says how.
    """
    verb, space, rest = what.partition(" ")
    if verb == "lack" and not rest.startswith(("the ", *"0123456789")):
        verb, rest = "have", f"too little free {rest}"
        what = f"{verb} {rest}"
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


def _on_scarcest_axis(reason: Reason) -> tuple[Comparison, ...]:
    """Return all that is compared on one axis: the scarcest on which the queue itself decided."""
    decided = [each.axis for each in reason.comparisons if each.axis and each.queue == reason.queue]
    for axis in by_interest(decided):
        return tuple([each for each in reason.comparisons if each.axis == axis])
    return reason.comparisons[:1]


def _comparisons_text(comparisons: tuple[Comparison, ...], home: QueueName | None) -> str:
    """Return comparisons as sums: ``gpu: allocated 14 + request 4 > limit 16``.

    Where it is not the queue that the reason is about, it is named; some are about none.
    """
    return "; ".join(_comparison_text(each, home) for each in comparisons)


def _comparison_text(comparison: Comparison, home: QueueName | None) -> str:
    axis = comparison.axis
    left = " + ".join(_term_text(axis, term) for term in comparison.left)
    name = f"{axis}: " if axis else ""
    is_told = any(term.queue is not None for term in (*comparison.left, comparison.right))
    is_elsewhere = home is not None and comparison.queue != home and not is_told
    at = f" at {comparison.queue}" if is_elsewhere else ""
    return f"{name}{left} {comparison.relation} {_term_text(axis, comparison.right)}{at}"


def _term_text(axis: Axis | None, term: Term) -> str:
    owner = f" of {term.queue}" if term.queue else ""
    match term.amount:
        case None:
            return f"unlimited {term.name}{owner}"
        case float():
            return f"{term.name}{owner} {number_text(term.amount)}"
        case int() if axis is not None:
            return f"{term.name}{owner} {amount_text(axis, term.amount)}"
        case int() if term.name in TIMES:
            return f"{term.name}{owner} {moment_text(term.amount)}"
        case _:
            return f"{term.name}{owner} {term.amount}"


def wait_text(wait: Wait) -> str:
    """Return why a workload waits, and the claim that says most about why it takes no place."""
    text, best = reason_text(wait.reason), best_claim(wait)
    return text if best is None else f"{text}; {best.action}: {reason_text(best.reason)}"


def best_claim(wait: Wait) -> FailedClaim | None:
    """Return the failed claim to mention beside the reason of *wait*; None if none adds anything.

    First a claim that found capacity and was refused, then one that found none, then one that may
    not be made. A reason that no eviction can cure, such as a limit, says enough.
    """
    known = all_phrases()
    if wait.reason.code not in known.curable:
        return None
    telling = [claim for claim in wait.claims if claim.reason.code in known.claim_stages]
    return min(
        telling,
        key=lambda claim: (
            known.claim_stages[claim.reason.code],
            known.actions.index(claim.action),
        ),
        default=None,
    )
