"""``python -m tests.conformance.elastic_quirks FILE...``: what each fix of the plugin changes.

Every quirk is turned off alone, all others left on. The record tags a case with the quirks that
decide it; a case that differs without the tag is named, below the reason why it may.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fairlead.policy.elastic_quota.settings import (
    AS_THE_PLUGIN,
    FAITHFUL,
    ElasticQuotaSettings,
    PluginQuirks,
)
from tests.conformance.elastic_answers import Answer
from tests.conformance.elastic_engine import engine_answer
from tests.conformance.elastic_quota import Difference, differing

WHY_UNTAGGED = {
    "scalar_if_asked": "the tag compares with 'every resource the quota uses'; here only "
    "those count that the pod asks for",
    "pool_all": "the tag still looks at what nominated pods of others ask for, and at all that a "
    "quota uses to find out whether its pods give; here only what the pod itself asks for counts, "
    "and only who has some of that gives",
    "own_charge": "not tagged: a pod with a sidecar is charged what its node is charged",
    "leaving_counts": "not tagged: who leaves counts as gone, and all that are nominated count",
    "promise_taken": "not tagged: on its node a nominated pod goes before pods of other quotas; in "
    "the pool it counts as far as it is within its min",
}


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin as it is, but for one rule."""

    name: str
    tag: str  # how the record calls the quirk that is off
    settings: ElasticQuotaSettings
    why_untagged: str | None  # None: no case may differ without the tag


def _fix(quirk: str, name: str = "", *, protect_min: bool = False) -> Fix:
    quirks = msgspec.structs.replace(AS_THE_PLUGIN, **{quirk: False})
    tag = quirk.replace("_", "-")
    return Fix(
        name=name or tag,
        tag=tag,
        settings=msgspec.structs.replace(FAITHFUL, quirks=quirks, protect_min=protect_min),
        why_untagged=WHY_UNTAGGED.get(quirk),
    )


FIXES = {
    fix.name: fix
    for fix in (
        *map(_fix, PluginQuirks.__struct_fields__),
        _fix("below_min", "below-min, protectMin", protect_min=True),
    )
}


def main(arguments: Sequence[str] | None = None, answer: Answer = engine_answer) -> int:
    """Print for each fix how many cases differ; 1 if one does that nothing explains."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.elastic_quirks", description=__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    cases = [
        case
        for file in parser.parse_args(arguments).files
        for case in json.loads(file.read_text(encoding="utf-8"))["cases"]
    ]
    unexplained = 0
    for fix in FIXES.values():
        found = differing(cases, fix.settings, answer)
        sys.stdout.writelines(f"{line}\n" for line in _report(fix, cases, found))
        unexplained += fix.why_untagged is None and bool(_untagged(fix, found))
    return int(unexplained > 0)


def _untagged(fix: Fix, found: Iterable[Difference]) -> list[Difference]:
    return [each for each in found if fix.tag not in each.quirks]


def _report(fix: Fix, cases: Sequence[Mapping[str, Any]], found: list[Difference]) -> list[str]:
    untagged = _untagged(fix, found)
    tagged = sum(fix.tag in (case.get("quirks") or ()) for case in cases)
    lines = [
        f"{fix.name}: {len(found)} of {len(cases)} cases differ,",
        f"  {len(found) - len(untagged)} of the {tagged} with its tag, {len(untagged)} without",
    ]
    if untagged:
        lines.append(f"  ({fix.why_untagged or 'NOT EXPLAINED'})")
    return lines + [f"    {each.name}: {', '.join(each.kinds)}" for each in untagged]


if __name__ == "__main__":
    raise SystemExit(main())
