"""Which queue a job of a trace belongs to: by name, or by a pattern of what the trace tells."""

import re
from typing import Final, Literal

import msgspec

from fairlead.sim.traces.trace_error import TraceError

_PLACE: Final = re.compile(r"\{(queue|group|user)\}")


class QueueRule(msgspec.Struct, frozen=True, kw_only=True):
    """What is ``named`` decides, and for the rest the pattern ``others``.

    In it ``{queue}``, ``{group}`` and ``{user}`` stand for what the trace tells. A job whose trace
    does not tell what the pattern needs goes to ``untold``.
    """

    by: Literal["queue", "group", "user"] = "queue"
    named: dict[str, str] = {}
    others: str | None = "{queue}"  # None: all that is not named is dropped
    untold: str | None = "default"  # None: dropped


def check_template(template: str | None) -> None:
    """Raise `TraceError` if the pattern gives no name, or has braces that mean nothing."""
    if template is None:
        return
    if not template or re.search(r"[{}]", _PLACE.sub("", template)):
        raise TraceError(
            f"found the queue pattern {template!r}, expected text with {{queue}}, {{group}} or "
            "{user} in it",
            "write such as {group}/{user}",
            field="queues.others",
        )


def queue_of(rule: QueueRule, queue: str, group: str, user: str) -> str | None:
    """Return the queue of a job with these facts; None if it belongs to none."""
    facts = {"queue": queue, "group": group, "user": user}
    if facts[rule.by] in rule.named:
        return rule.named[facts[rule.by]]
    if rule.others is None:
        return None
    if not all(facts[place] for place in _PLACE.findall(rule.others)):
        return rule.untold
    return _PLACE.sub(lambda match: facts[match[1]], rule.others)
