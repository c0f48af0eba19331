"""Finds out what a file of recorded answers asks, and lets the right code answer.

A file says its schema; a case, or the file, says its kinds. What nothing answers yet is an
outcome too ("unbuilt"), so that nobody takes silence for agreement.
"""

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.conformance import (
    elastic_quota,
    elastic_suite,
    kai_capacity,
    kai_cycle,
    kai_division,
    kai_minruntime,
    kai_order,
    kai_reclaimable,
    kai_suite,
    kueue_cycle,
    kueue_nodes,
    kueue_order,
    kueue_targets,
    published_division,
    published_kueue,
    published_sharing,
    published_traces,
    published_usage,
)
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
Check = Callable[[Any], list[Outcome]]

KAI_KINDS: dict[str, Check] = {
    "capacity": kai_capacity.check,
    "division": kai_division.check,
    "minruntime": kai_minruntime.check,
    "order": kai_order.check,
    "reclaimable": kai_reclaimable.check,
}
PUBLISHED_KINDS: dict[str, Check] = {
    "division": published_division.check,
    "shareWeight": published_division.check,
    "drs": published_kueue.check,
    "decay": published_kueue.check,
    "burst": published_sharing.check,
    "portion": published_usage.check,
    "replay": published_traces.check,
    "steady": published_sharing.check,
    "trace": published_traces.check,
    "turns": published_sharing.check,
    "usage": published_usage.check,
}


class VectorError(Exception):
    """The file is not one of recorded answers; the message says why."""


def check_file(path: Path, wanted: Callable[[Any], bool] | None = None) -> list[Outcome]:
    """Compare every case of a file that is *wanted*, in its order."""
    content = _read(path)
    schema = content.get("schema")
    cases = content.get("cases", content.get("entries", []))
    if not isinstance(cases, list):
        raise VectorError(f"{path}: found no list of cases")
    cases = [case for case in cases if wanted is None or wanted(case)]
    match schema:
        case "kai-oracle/1":
            return _flat(_check_kind(case, str(content.get("kind")), KAI_KINDS) for case in cases)
        case "kai-cycle/1":
            return _flat(kai_cycle.check(case) for case in cases)
        case "kai-suite/1":
            return _flat(kai_suite.check(case) for case in cases)
        case "kueue-oracle/1":
            return _flat(_check_kueue(case) for case in cases)
        case "elastic-quota-oracle/1":
            return _flat(_check_elastic_quota(case) for case in cases)
        case "published/1":
            return _flat(_check_published(case) for case in cases)
        case str():
            return [_unbuilt(_identity(case), schema) for case in cases] or [
                _unbuilt(path.name, schema)
            ]
        case _:
            return [_unbuilt(path.name, "no schema")]


def _read(path: Path) -> Json:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, ValueError, RecursionError) as problem:
        raise VectorError(f"{path}: cannot be read: {problem}") from problem
    if not isinstance(content, dict):
        raise VectorError(f"{path}: found no object with a schema and cases")
    return content


def _check_kind(case: Any, kind: str, checks: dict[str, Check]) -> list[Outcome]:
    check = checks.get(kind)
    return check(case) if check else [_unbuilt(_identity(case), kind)]


def _check_kueue(case: Any) -> list[Outcome]:
    built = (kueue_nodes.check, kueue_targets.check, kueue_order.check, kueue_cycle.check)
    return _flat(check(case) for check in built)


def _check_elastic_quota(case: Any) -> list[Outcome]:
    is_row = isinstance(case, dict) and "table" in case  # of the plugin's own tests
    return elastic_suite.check(case) if is_row else elastic_quota.check(case)


def _check_published(entry: Any) -> list[Outcome]:
    kind = str(entry.get("kind")) if isinstance(entry, dict) else "?"
    return [] if kind == "background" else _check_kind(entry, kind, PUBLISHED_KINDS)


def _unbuilt(identity: str, kind: str) -> Outcome:
    return Outcome(identity, kind, "unbuilt", note="nothing answers this kind yet")


def _identity(case: Any) -> str:
    return str(case.get("id") or case.get("name") or "?") if isinstance(case, dict) else "?"


def _flat(outcomes: Iterable[list[Outcome]]) -> list[Outcome]:
    return [outcome for group in outcomes for outcome in group]
