"""A line of holders answers whom of them a claim may ask, however it came to be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.snapshot.admitted import Asking, line_up
from fairlead.policy.kueue.workloads import Holder
from tests.scale_examples import scale_examples


def holders() -> st.SearchStrategy[Holder]:
    usages = st.sampled_from([((0, 1),), ((0, 2),), ((1, 1),), ((0, 1), (1, 3))])
    return st.builds(
        Holder,
        name=st.sampled_from([WorkloadName(f"w{at}") for at in range(9)]),
        queue=st.just(QueueName("q")),
        priority=st.integers(0, 2),
        usage=usages,
        queued_ms=st.just(0),
        reserved_ms=st.integers(0, 2),
        is_evicted=st.booleans(),
        is_protected=st.booleans(),
    )


def askings() -> st.SearchStrategy[Asking]:
    return st.builds(
        Asking,
        policy=st.sampled_from(["Never", "LowerPriority", "Any"]),
        priority=st.integers(0, 3),
        need=st.frozensets(st.integers(0, 1), min_size=1),
        spared=st.sampled_from([frozenset(), frozenset({WorkloadName("w1"), WorkloadName("w5")})]),
        unprotected_only=st.booleans(),
    )


def is_asked(holder: Holder, asking: Asking) -> bool:
    """The rule for one holder, plainly."""
    return (
        (asking.policy == "Any" or (asking.policy != "Never" and holder.priority < asking.priority))
        and not (asking.unprotected_only and holder.is_protected)
        and holder.name not in asking.spared
        and any(axis in asking.need for axis, _ in holder.usage)
    )


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(300), deadline=None)
@given(st.lists(holders(), unique_by=lambda each: each.name), st.data())
def test_a_line_lets_those_be_asked_whom_the_rule_lets_be_asked_one_by_one(
    known: list[Holder], data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(known)))
    line = line_up(known[:begin])
    asking = data.draw(askings())
    for holder in known[begin:]:
        line.whom(asking)  # what was found out about another line is not told of this one
        line.add(holder)
    gone = data.draw(st.integers(0, len(known)))
    before = line.copy()
    for holder in known[:gone]:
        line.whom(asking)
        told = data.draw(st.booleans())  # it may have been told to leave since
        line.remove(replace(holder, is_evicted=told))
    for each, left in ((line, known[gone:]), (before, known)):
        in_order = sorted(left, key=Holder.key)
        asked = each.whom(asking)
        assert each.holders == in_order
        assert asked.holders == [holder for holder in in_order if is_asked(holder, asking)]
        assert sorted(asked.usages) == sorted({holder.usage for holder in asked.holders})
