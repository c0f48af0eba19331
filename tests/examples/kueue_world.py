"""Reads worlds of examples/kueue-stories and examples/kueue-options, and follows their plans."""

import io
import re
from collections.abc import Sequence

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult, load
from fairlead.model.plan import Decision, Evict, Plan, Reserve, Start, Wait
from fairlead.model.quantity import show_amount
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.contract import make_policy
from tests.model.invariants import check_invariants
from tests.shared_folder import ROOT

NOW_MS = 1_794_819_600_000  # 2026-11-16T09:00:00Z
SECOND_MS = 1_000
FOLDER = ROOT / "examples"
STATUS = re.compile(r"^    status:\n(?:.*\n)*?.*resourceUsage.*\n", re.M)


def read(world: str, files: Sequence[str] = ("",)) -> Assembled:
    """Read a world, or some files of it; there must be no findings, advice included."""
    return _without_findings(load([str(FOLDER / world / file) for file in files], strict=True))


def text_of(world: str, files: Sequence[str] = ()) -> str:
    """Return the objects of a world, or of some files of it, as one text."""
    found = sorted((FOLDER / world).iterdir())
    parts = [file.read_text("utf-8") for file in found if not files or file.name in files]
    assert parts
    return "---\n".join(parts)


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return *text* with each first text replaced by the second; it must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def read_text(text: str) -> Assembled:
    """Read a world from its text."""
    return _without_findings(load(["-"], strict=True, stdin=io.BytesIO(text.encode())))


def _without_findings(result: LoadResult) -> Assembled:
    assert list(result.findings) == []
    assert result.assembled is not None
    check_invariants(result.assembled.state)
    return result.assembled


def follow(assembled: Assembled, now_ms: int = NOW_MS, most: int = 60) -> list[list[str]]:
    """Return what plan after plan says, until one changes nothing; the state is its end."""
    plans: list[list[str]] = []
    for plan in plan_cycles(make_policy(assembled.settings), assembled.state, now_ms, most):
        plans.append(told(plan))
        check_invariants(assembled.state)
    assert all(line.startswith("wait ") for line in plans[-1]), f"no rest after {most} plans"
    return plans


def first_plan(assembled: Assembled, now_ms: int = NOW_MS) -> list[str]:
    """Return what the plan of one moment says."""
    return told(make_policy(assembled.settings).plan(assembled.state, now_ms))


def told(plan: Plan) -> list[str]:
    """Return the decisions in a few words: ``start a``, ``evict b for a: InClusterQueue``.

    Who waits is told with the reason, and with what stopped its claims.
    """
    return [_told(each) for each in plan.decisions]


def evictions(plans: list[list[str]]) -> list[str]:
    """Return the evictions of all plans, in their order, without the word."""
    lines = [line for plan in plans for line in plan if line.startswith("evict ")]
    return [line.removeprefix("evict ") for line in lines]


def starts(plan: list[str]) -> list[str]:
    """Return who starts, in the order of the turns."""
    return [line.removeprefix("start ") for line in plan if line.startswith("start ")]


def held(state: ClusterState) -> dict[str, str]:
    """Return the GPUs that each ClusterQueue uses."""
    return {
        str(name): show_amount("nvidia.com/gpu", state.sums[name].allocated[0])
        for name, queue in sorted(state.queues.items())
        if isinstance(queue.extension, ClusterQueue)
    }


def _told(decision: Decision) -> str:
    name, code = decision.workload, decision.reason.code
    match decision:
        case Start():
            return f"start {name}"
        case Evict():
            return f"evict {name} for {decision.beneficiary}: {code}"
        case Reserve():
            return f"reserve {name} until {' '.join(decision.waits_for)} left"
        case Wait():
            stopped = [claim.reason.code for claim in decision.claims]
            return " ".join([f"wait {name}: {code}", *stopped])
        case _:
            raise AssertionError(decision)
