"""Reads a world of examples/kai, and tells what becomes of its jobs in words of a text table."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import load
from fairlead.model.axes import Axis, WorkloadName
from fairlead.model.duration import format_duration
from fairlead.model.plan import (
    Comparison,
    Decision,
    Evict,
    Move,
    Plan,
    Reason,
    Reserve,
    Start,
    Term,
    Unknown,
    Wait,
)
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from tests.model.invariants import check_invariants
from tests.shared_folder import ROOT

FOLDER = ROOT / "examples" / "kai"
WORLDS = sorted(folder.name for folder in FOLDER.iterdir())
NOW_MS = 1_794_816_000_000  # 2026-11-16T08:00:00Z
GPU = Axis("gpu")
FINDINGS = {"reclaim-hierarchy": ["overcommitted"]}


def read(world: str) -> Assembled:
    """Read a world that must be without findings, but for those that its story tells."""
    result = load([str(FOLDER / world)], strict=True)
    assert [finding.code for finding in result.findings] == FINDINGS.get(world, [])
    assert result.assembled is not None
    check_invariants(result.assembled.state)
    return result.assembled


def story(world: str) -> str:
    """Return the comment that the file begins with, without its signs."""
    text = (FOLDER / world / "world.yaml").read_text(encoding="utf-8")
    lines = text.partition("apiVersion")[0].splitlines()
    return "\n".join(line.removeprefix("#") for line in lines)


def table_of(world: str) -> list[dict[str, str]]:
    """Return the table of queues in a story, by the names of its columns; columns are apart."""
    lines = [re.split(r" {2,}", line.strip()) for line in story(world).splitlines()]
    starts = [at for at, cells in enumerate(lines) if cells[0] == "queue"]
    if not starts:
        return []
    head = lines[starts[0]]
    body = takewhile(lambda cells: len(cells) == len(head), lines[starts[0] + 1 :])
    named = [dict(zip(head, cells, strict=True)) for cells in body]
    return [row | {"queue": row["queue"].lstrip("|`- ")} for row in named]


def told(state: ClusterState, plan: Plan) -> list[list[str]]:
    """Return each decision as words: what, whose, which pods, on which node, why, at which queue.

    The last word has the numbers: those of GPUs that were compared, or how many pods of a gang
    found a place.
    """
    return [list(_words(state, each)) for each in plan.decisions]


def _words(state: ClusterState, decision: Decision) -> Iterator[str]:
    workload = state.workloads[decision.workload]
    yield type(decision).__name__.lower()
    yield short_name(workload.name)
    yield ",".join(workload.pod_name(pod) for pod in _pods(decision)) or "-"
    yield _nodes(state, decision) or "-"
    yield decision.reason.code
    yield decision.reason.queue or "-"
    yield numbers(decision.reason)


def _pods(decision: Decision) -> tuple[PodId, ...]:
    match decision:
        case Start() | Reserve() | Move():
            return tuple(each.pod for each in decision.placements)
        case Evict():
            return decision.pods
        case Wait() | Unknown():
            return ()


def _nodes(state: ClusterState, decision: Decision) -> str:
    """Return where pods start, where they leave, or ``from->to``."""
    match decision:
        case Start() | Reserve():
            return _named(each.node for each in decision.placements)
        case Move():
            origins = _named(each.node for each in decision.origins)
            return f"{origins}->{_named(each.node for each in decision.placements)}"
        case Evict():
            places = state.runs[decision.workload].pods
            return _named(places[pod].node for pod in decision.pods)
        case Wait() | Unknown():
            return ""


def _named(nodes: Iterable[str | None]) -> str:
    return ",".join(sorted({str(node) for node in nodes}))


def short_name(job: WorkloadName) -> str:
    """Return the name as a story tells it: ``lab/train``, also of a pod without a group."""
    return job.replace("/pod/", "/")


def claims_told(plan: Plan) -> list[list[str]]:
    """Return what stopped claims of those who wait: whose, which action, why, where, numbers."""
    return [
        [
            short_name(wait.workload),
            claim.action,
            claim.reason.code,
            claim.reason.queue or "-",
            numbers(claim.reason),
        ]
        for wait in plan.decisions
        if isinstance(wait, Wait)
        for claim in wait.claims
    ]


def numbers(reason: Reason) -> str:
    """Return all that was compared of GPUs, or of nothing in particular, as ``1+2<=4;6>4``.

    Else what was counted, as ``2/4pods``, or for how long it holds.
    """
    compared = [each for each in reason.comparisons if each.axis in (GPU, None)]
    if compared:
        return ";".join(map(_compared, compared))
    if reason.remaining_ms is not None:
        return format_duration(reason.remaining_ms)
    for tally in reason.tallies:
        if tally.things.startswith("pods"):
            return f"{tally.count}/{tally.of}pods"
    return "-"


def _compared(comparison: Comparison) -> str:
    left = "+".join(_amount(comparison, term) for term in comparison.left)
    return left + comparison.relation + _amount(comparison, comparison.right)


def _amount(comparison: Comparison, term: Term) -> str:
    if isinstance(term.amount, int) and comparison.axis == GPU:
        return show_amount("gpu", term.amount)
    return f"{term.amount:g}"  # a share, or a priority
