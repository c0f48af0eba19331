"""Laws of a plan under KAI's rules, on random worlds."""

import random
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    NodeAdded,
    QueueChanged,
    UsageChanged,
    WorkloadAdded,
)
from fairlead.model.plan import Plan, Reserve, Start
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.kai.plan_laws import checked_plan
from tests.policy.kai.random_worlds import build, worlds

settings = st.builds(
    KaiSettings,
    gpu_placement=st.sampled_from(["binpack", "spread"]),
    cpu_placement=st.sampled_from(["binpack", "spread"]),
    queue_depth=st.sampled_from([(), (("allocate", 1),)]),
    faithful=st.booleans(),
)


@given(events=worlds(), given_settings=settings)
def test_a_plan_keeps_every_promise(events: list[Event], given_settings: KaiSettings) -> None:
    checked_plan(build(events), given_settings)


@given(events=worlds(), given_settings=settings, seed=st.integers())
def test_the_order_in_which_things_are_listed_changes_nothing(
    events: list[Event], given_settings: KaiSettings, seed: int
) -> None:
    policy = KaiPolicy(given_settings)
    shuffled = events.copy()
    random.Random(seed).shuffle(shuffled)
    assert policy.plan(build(shuffled), 0) == policy.plan(build(events), 0)


def renamed(event: Event) -> Event:
    """The same with every name after another letter, which keeps their order."""
    match event:
        case NodeAdded(node):
            return NodeAdded(msgspec.structs.replace(node, name=f"z{node.name}"))
        case ForeignPodChanged(pod):
            return ForeignPodChanged(msgspec.structs.replace(pod, node=f"z{pod.node}"))
        case QueueChanged(queue):
            parent = None if queue.parent is None else f"z{queue.parent}"
            return QueueChanged(
                msgspec.structs.replace(queue, name=f"z{queue.name}", parent=parent)
            )
        case WorkloadAdded(workload):
            return WorkloadAdded(
                msgspec.structs.replace(
                    workload, name=f"z{workload.name}", queue=f"z{workload.queue}"
                )
            )
        case _:
            raise AssertionError(event)


def outline(plan: Plan, letter: str) -> list[tuple[str, str, object, str]]:
    """What a plan decides, with *letter* before every name."""
    return [
        (
            type(each).__name__,
            f"{letter}{each.workload}",
            [(p.pod, f"{letter}{p.node}", p.share) for p in each.placements]
            if isinstance(each, Start | Reserve)
            else None,
            each.reason.code,
        )
        for each in plan.decisions
    ]


@given(events=worlds(), given_settings=settings)
def test_renaming_that_keeps_the_order_of_names_changes_nothing(
    events: list[Event], given_settings: KaiSettings
) -> None:
    policy = KaiPolicy(given_settings)
    plan = policy.plan(build(events), 0)
    other = policy.plan(build(map(renamed, events)), 0)
    assert outline(other, "") == outline(plan, "z")


@given(events=worlds(), k=st.fractions(0, 9))
def test_without_usage_the_strength_of_usage_changes_nothing(
    events: list[Event], k: Fraction
) -> None:
    plain = KaiPolicy(KaiSettings(k=Fraction(0))).plan(build(events), 0)
    assert KaiPolicy(KaiSettings(k=k)).plan(build(events), 0) == plain
    of_nobody = [*events, UsageChanged({})]
    assert KaiPolicy(KaiSettings(k=k)).plan(build(of_nobody), 0) == plain


@pytest.mark.exhaustive
@given(events=worlds(), given_settings=settings)
def test_a_policy_that_has_planned_before_plans_as_a_new_one(
    events: list[Event], given_settings: KaiSettings
) -> None:
    used = KaiPolicy(given_settings)
    state = build(events[:-1])
    used.plan(state, 0)
    state.apply(events[-1])
    assert used.plan(state, 5) == KaiPolicy(given_settings).plan(state, 5)
    assert used.plan(state, 7).taken_ms == 7
