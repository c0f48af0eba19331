"""Finds out from the kinds of objects which rule set an input is for."""

from collections.abc import Sequence

from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.finding import Findings
from fairlead.manifest.identify import Identified
from fairlead.manifest.registry import BUNDLES
from fairlead.policy.contract import POLICY_NAMES, PolicyName

_CHOICES = f"--policy {'|'.join(POLICY_NAMES)}"


def choose_policy(
    objects: Sequence[Identified], file: str, findings: Findings
) -> PolicyName | None:
    """Return the rule set whose queues are in the input; none or several are an error.

    Where there are no queues at all, the other objects of a rule set decide, if they agree. *file*
    stands in the finding where there is no object to point at.
    """
    queues = [each for each in objects if each.kind and each.kind.is_queue]
    firsts = _first_of_each_policy(queues) or _first_of_each_policy(objects)
    if len(firsts) == 1:
        return next(iter(firsts))
    if not firsts:
        findings.add(
            "error",
            "no-queues",
            file=file,
            message=f"found no queues, expected {_queue_kinds()} objects",
            fix=f"name the files that hold your queues, or choose the rules with {_CHOICES}",
        )
        return None
    listed = ", ".join(
        f"{family} ({first.title} at {place(first.document.source)})"
        for family, first in sorted(firsts.items())
    )
    second = firsts[sorted(firsts)[1]]
    second.document.source.report(
        findings,
        "error",
        "mixed-families",
        ("kind",),
        f"found objects of {len(firsts)} rule sets, expected one: {listed}",
        f"choose with {_CHOICES}, or name the files of one only",
    )
    return None


def _queue_kinds() -> str:
    *most, last = [bundle.queues for bundle in BUNDLES.values()]
    return f"{', '.join(most)} or {last}"


def _first_of_each_policy(objects: Sequence[Identified]) -> dict[PolicyName, Identified]:
    firsts: dict[PolicyName, Identified] = {}
    for each in objects:
        if each.kind and each.kind.policy:
            firsts.setdefault(each.kind.policy, each)
    return firsts
