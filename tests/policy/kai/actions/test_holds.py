"""What a caller holds after failures, under KAI's rules: which jobs pass and are evicted."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.holds import Holds
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.invariants import check_invariants
from tests.policy.kai.actions.test_look_ahead import NOW_MS, world

OWN = KaiSettings()
FAITHFUL = KaiSettings(faithful=True)
in_both_modes = pytest.mark.parametrize("chosen", [OWN, FAITHFUL], ids=["ours", "faithful"])


def held(state: ClusterState, workloads: str = "", nodes: str = "", victims: str = "") -> Holds:
    """Return names, ``job@node`` pairs, and all pods of jobs, each apart by spaces."""
    names = [WorkloadName(name) for name in victims.split()]
    return Holds(
        workloads=frozenset(map(WorkloadName, workloads.split())),
        nodes=frozenset((WorkloadName(n), on) for n, on in (p.split("@") for p in nodes.split())),
        victims=frozenset((name, pod) for name in names for pod in state.workloads[name].pods()),
    )


def told(state: ClusterState, chosen: KaiSettings, holds: Holds) -> list[str]:
    """Return a plan in a few words, having checked that nothing is left of what was held."""
    policy = KaiPolicy(chosen)
    plain = policy.plan(state, NOW_MS)
    planned = policy.plan(state, NOW_MS, held=holds)
    assert planned == KaiPolicy(chosen).plan(state, NOW_MS, held=holds)
    assert policy.plan(state, NOW_MS) == plain
    check_invariants(state)
    return list(map(_told, planned.decisions))


def _told(decision: Decision) -> str:
    name = decision.workload
    match decision:
        case Start() | Reserve() | Move():
            verb = type(decision).__name__.lower()
            return f"{verb} {name} on {' '.join(str(p.node) for p in decision.placements)}"
        case Evict():
            return f"evict {name} for {decision.beneficiary}"
        case Wait() | Unknown():
            return f"wait {name}: {decision.reason.code}"


@in_both_modes
def test_others_of_the_queue_pass_one_that_is_held(chosen: KaiSettings) -> None:
    """1 GPU; a is first by age. Held, it leaves the GPU to b, and is told why it waits."""
    state = world(
        "n0=1",
        "q=1",
        """
        job  queue  pods  min  gpu  priority  at
        a    q      1     1    1    50        -
        b    q      1     1    1    50        -
        """,
    )
    assert told(state, chosen, held(state)) == ["start a on n0", "wait b: NoNodeFits"]
    assert told(state, chosen, held(state, "a")) == ["wait a: HeldAfterFailure", "start b on n0"]
    assert told(state, chosen, held(state, "gone")) == told(state, chosen, held(state))


@in_both_modes
def test_shares_count_what_one_asks_for_that_is_held(chosen: KaiSettings) -> None:
    """2 GPUs, 1 each by weight. B has both and keeps them: nobody reclaims for a, who is held.

    C, of a's queue, may: its fair share is 1 as if a were tried.
    """
    state = world(
        "n0=2",
        "p=0 q=0",
        """
        job  queue  pods  min  gpu  priority  at
        b1   q      1     1    1    50        n0
        b2   q      1     1    1    50        n0
        a    p      1     1    1    50        -
        """,
    )
    plain = told(state, chosen, held(state))
    assert plain == ["evict b2 for a", "reserve a on n0"]
    assert told(state, chosen, held(state, "a")) == ["wait a: HeldAfterFailure"]
    shares = KaiPolicy(chosen).shares(state)
    assert [(row.queue, row.fair_share[2]) for row in shares] == [("p", 1000), ("q", 1000)]


@in_both_modes
def test_an_attempt_looks_for_other_victims_than_a_held_one(chosen: KaiSettings) -> None:
    """B2 is the newer of the two that could leave for a; held, b1 has to, then nobody can."""
    state = world(
        "n0=2",
        "p=1 q=0",
        """
        job  queue  pods  min  gpu  priority  at
        b1   q      1     1    1    50        n0
        b2   q      1     1    1    50        n0
        a    p      1     1    1    50        -
        """,
    )
    assert told(state, chosen, held(state))[0] == "evict b2 for a"
    assert told(state, chosen, held(state, victims="b2"))[0] == "evict b1 for a"
    assert told(state, chosen, held(state, victims="b1 b2")) == ["wait a: NoNodeFits"]


@in_both_modes
def test_victims_on_a_node_that_is_held_do_not_help(chosen: KaiSettings) -> None:
    """B2 on n1 would leave for a, which is not to be placed there: b1 on n0 leaves instead."""
    state = world(
        "n0=1 n1=1",
        "p=1 q=0",
        """
        job  queue  pods  min  gpu  priority  at
        b1   q      1     1    1    50        n0
        b2   q      1     1    1    50        n1
        a    p      1     1    1    50        -
        """,
    )
    assert told(state, chosen, held(state)) == ["evict b2 for a", "reserve a on n1"]
    assert told(state, chosen, held(state, nodes="a@n1"))[-1] == "reserve a on n0"
    assert told(state, chosen, held(state, nodes="a@n0 a@n1")) == ["wait a: NoNodeFits"]


@in_both_modes
def test_one_that_runs_on_a_node_that_is_held_for_it_may_stay_there(chosen: KaiSettings) -> None:
    """A wants 2 of n0, where b1 and b2 have 1 each and 1 is idle: b2 goes, and b1 stays.

    A second pod of b1 failed to start on n0. That must not make the first one leave in vain.
    """
    state = world(
        "n0=3",
        "p=2 q=0",
        """
        job  queue  pods  min  gpu  priority  at
        b1   q      1     1    1    50        n0
        b2   q      1     1    1    50        n0
        a    p      1     1    2    50        -
        """,
    )
    plain = told(state, chosen, held(state))
    assert plain == ["evict b2 for a", "reserve a on n0"]
    assert told(state, chosen, held(state, nodes="b1@n0 b2@n0")) == plain


@in_both_modes
def test_pods_of_one_that_is_held_may_be_asked_as_always(chosen: KaiSettings) -> None:
    """B has 2 of 3 pods and is held; for a it loses the second, and the third does not start."""
    state = world(
        "n0=2",
        "p=1 q=0",
        """
        job  queue  pods  min  gpu  priority  at
        b    q      3     1    1    50        n0,n0
        a    p      1     1    1    50        -
        """,
    )
    assert told(state, chosen, held(state, "b")) == [
        "wait b: HeldAfterFailure",
        "evict b for a",
        "reserve a on n0",
    ]
