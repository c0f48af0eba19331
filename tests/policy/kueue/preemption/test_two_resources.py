"""What only a preemptor of several resources meets: need and dominance may differ."""

from decimal import Decimal

import msgspec

from fairlead.fairness.quota_tree import QuotaNode
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import QueuePreemption
from fairlead.policy.kueue.preemption.fair import fair_targets
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload, Usage
from tests.policy.kueue.target_world import TargetWorld

CPU, GPU = 0, 1


def node(name: str, parent: str | None, cpu: int, gpu: int) -> QuotaNode:
    return QuotaNode(
        name=name,
        parent=parent,
        weight=Decimal(1),
        guaranteed=(cpu, gpu),
        borrow_limit=(None, None),
        lend_limit=(None, None),
        listed=frozenset({CPU, GPU}),
    )


def admitted(name: str, *usage: tuple[int, int], queue: str = "b") -> AdmittedWorkload:
    return AdmittedWorkload(WorkloadName(name), QueueName(queue), 0, usage, 0, 0)


def world(nodes: list[QuotaNode], admitted: list[AdmittedWorkload], claim: Usage) -> TargetWorld:
    a, queues = QueueName("a"), [QueueName(each.name) for each in nodes if each.name.islower()]
    return TargetWorld(
        axis_resources=("cpu", "gpu"),
        nodes=tuple(nodes),
        rules={
            each: QueuePreemption(reclaim_within_cohort="Any" if each == a else "Never")
            for each in queues
        },
        admitted=tuple(admitted),
        queue=a,
        usage=claim,
        priority=0,
        queued_ms=0,
        settings=KueueSettings(fair_sharing=True, strategies=BOTH_STRATEGIES[:1]),
    )


def told(asked: TargetWorld) -> list[tuple[str, str]]:
    targets = fair_targets(asked.snapshot(), asked.preemptor(), asked.settings)
    return [(target.workload.name, target.reason) for target in targets]


def test_equal_shares_stay_equal_when_the_dominant_resource_is_not_touched() -> None:
    """With 10 of each to lend, a would borrow 4 cpu -> 400, and b has 4 gpu -> 400.

    All cpu is in use: b has 10 of it within 6 + 4 of its own. Without u b still has 400.
    """
    nodes = [node("ROOT", None, 0, 4), node("a", "ROOT", 4, 6), node("b", "ROOT", 6, 0)]
    held = [admitted("u", (CPU, 8)), admitted("v", (GPU, 4)), admitted("w", (CPU, 2))]
    asked = world(nodes, held, ((CPU, 8),))
    assert told(asked) == [("u", "InCohortFairSharing")]


def test_what_is_not_lacking_may_exceed_the_quota_when_lent_quota_is_claimed() -> None:
    """The preemptor lacks cpu, of which it has quota, and borrows gpu, of which there is enough.

    With cpu alone in view it is within quota, so b gives back; by shares a has 3 gpu of 4 -> 750,
    while b would fall to 0.
    """
    nodes = [node("ROOT", None, 0, 4), node("a", "ROOT", 4, 0), node("b", "ROOT", 0, 0)]
    asked = world(nodes, [admitted("u", (CPU, 4))], ((CPU, 4), (GPU, 3)))
    assert asked.preemptor().need == {CPU}
    assert told(asked) == [("u", "InCohortReclamation")]
    off = (("FairSharingPreemptWithinNominal", False),)
    settings = msgspec.structs.replace(asked.settings, feature_gates=off)
    assert told(msgspec.structs.replace(asked, settings=settings)) == []


def test_who_has_nothing_that_lacks_is_not_asked() -> None:
    """Both borrow; v, listed first, has only gpu."""
    nodes = [node("ROOT", None, 0, 2), node("a", "ROOT", 4, 0), node("b", "ROOT", 0, 0)]
    held = [admitted("aa", (GPU, 2)), admitted("u", (CPU, 4))]
    assert told(world(nodes, held, ((CPU, 4),))) == [("u", "InCohortReclamation")]


def test_who_has_nothing_of_one_that_lacks_may_let_others_give_it() -> None:
    """The claim of a lacks 3 cpu, 2 gpu. Of 10 each, X has 9 cpu -> 900 with it, Y 8 gpu -> 800.

    So Y is not asked, until b, which has no gpu, has lost t: X falls to 600, and Y gives two to
    get there.
    """
    nodes = [
        *(node("ROOT", None, 10, 10), node("X", "ROOT", 0, 0), node("Y", "ROOT", 0, 0)),
        *(node("a", "X", 0, 0), node("b", "X", 0, 0), node("c", "Y", 0, 0)),
        *(node("Z", "ROOT", 0, 0), node("d", "Z", 0, 0)),
    ]
    held = [
        *(admitted("t", (CPU, 3)), admitted("u", (CPU, 3))),
        *(admitted(f"v{number}", (GPU, 1), queue="c") for number in range(8)),
        admitted("w", (CPU, 4), (GPU, 2), queue="d"),
    ]
    asked = world(nodes, held, ((CPU, 3), (GPU, 2)))
    assert asked.preemptor().need == {CPU, GPU}
    assert [name for name, _ in told(asked)] == ["t", "v0", "v1"]
