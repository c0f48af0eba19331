"""Tells from the kinds of objects which rule set an input is for."""

from collections.abc import Sequence

from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.finding import Findings
from fairlead.manifest.identify import Identified
from fairlead.policy.contract import PolicyName

_CHOICES = "--policy kai|kueue|elastic-quota"


def choose_policy(
    objects: Sequence[Identified], file: str, findings: Findings
) -> PolicyName | None:
    """Return the rule set whose queues are in the input; none or several are an error.

    Where there are no queues at all, the other objects of a rule set decide, if they agree. *file*
    stands in the finding where there is no object to point at.
    """
    queues = [each for each in objects if each.kind and each.kind.is_queue]
    firsts = _first_of_each_family(queues) or _first_of_each_family(objects)
    if len(firsts) == 1:
        return next(iter(firsts))
    if not firsts:
        findings.add(
            "error",
            "no-queues",
            file=file,
            message="found no queues, expected KAI Queue, Kueue ClusterQueue or ElasticQuota "
            "objects",
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


def _first_of_each_family(objects: Sequence[Identified]) -> dict[PolicyName, Identified]:
    firsts: dict[PolicyName, Identified] = {}
    for each in objects:
        if each.kind and each.kind.family:
            firsts.setdefault(each.kind.family, each)
    return firsts
