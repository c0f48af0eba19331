"""Reads a world of examples/kai, and tells what becomes of its jobs in words of a text table."""

from collections.abc import Iterator

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import load
from fairlead.model.axes import Axis
from fairlead.model.invariants import check_invariants
from fairlead.model.plan import Decision, Plan, Reason, Reserve, Start, Term
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from tests.shared_folder import ROOT

FOLDER = ROOT / "examples" / "kai"
WORLDS = sorted(folder.name for folder in FOLDER.iterdir())
NOW_MS = 1_794_816_000_000  # 2026-11-16T08:00:00Z
GPU = Axis("gpu")


def read(world: str) -> Assembled:
    """Read a world that must be without findings, unknown fields included."""
    result = load([str(FOLDER / world)], strict=True)
    assert result.findings == ()
    assert result.assembled is not None
    check_invariants(result.assembled.state)
    return result.assembled


def story(world: str) -> str:
    """Return the comment that the file begins with, without its signs."""
    text = (FOLDER / world / "world.yaml").read_text(encoding="utf-8")
    lines = text.partition("apiVersion")[0].splitlines()
    return "\n".join(line.removeprefix("#") for line in lines)


def told(state: ClusterState, plan: Plan) -> list[list[str]]:
    """Return each decision as words: what, whose, which pods, on which node, why, at which queue.

    The last word has the numbers: those of GPUs that were compared, or how many pods of a gang
    found a place.
    """
    return [list(_words(state.workloads[each.workload], each)) for each in plan.decisions]


def _words(workload: Workload, decision: Decision) -> Iterator[str]:
    yield type(decision).__name__.lower()
    yield workload.name
    places = decision.placements if isinstance(decision, Start | Reserve) else ()
    yield ",".join(workload.pod_name(each.pod) for each in places) or "-"
    yield ",".join(sorted({str(each.node) for each in places})) or "-"
    yield decision.reason.code
    yield decision.reason.queue or "-"
    yield numbers(decision.reason)


def numbers(reason: Reason) -> str:
    """Return what was compared, as ``1+2<=4``, or counted, as ``2/4pods``."""
    for each in reason.comparisons:
        if each.axis == GPU:
            return "+".join(map(_amount, each.left)) + each.relation + _amount(each.right)
    for tally in reason.tallies:
        if tally.things == "pods":
            return f"{tally.count}/{tally.of}pods"
    return "-"


def _amount(term: Term) -> str:
    assert isinstance(term.amount, int)
    return show_amount("gpu", term.amount)
