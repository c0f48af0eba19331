"""The candidates of a queue are the same, however its workloads came to be there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.snapshot.admitted import CandidateFilter, sort_admitted
from fairlead.policy.kueue.workloads import AdmittedWorkload
from tests.scale_examples import scale_examples


def admitted() -> st.SearchStrategy[AdmittedWorkload]:
    usages = st.sampled_from([((0, 1),), ((0, 2),), ((1, 1),), ((0, 1), (1, 3))])
    return st.builds(
        AdmittedWorkload,
        name=st.sampled_from([WorkloadName(f"w{at}") for at in range(9)]),
        queue=st.just(QueueName("q")),
        priority=st.integers(0, 2),
        usage=usages,
        queued_ms=st.just(0),
        reserved_ms=st.integers(0, 2),
        is_evicted=st.booleans(),
        is_protected=st.booleans(),
    )


def askings() -> st.SearchStrategy[CandidateFilter]:
    return st.builds(
        CandidateFilter,
        policy=st.sampled_from(["Never", "LowerPriority", "Any"]),
        priority=st.integers(0, 3),
        need=st.frozensets(st.integers(0, 1), min_size=1),
        spared=st.sampled_from([frozenset(), frozenset({WorkloadName("w1"), WorkloadName("w5")})]),
        unprotected_only=st.booleans(),
    )


def may_be_preempted(admitted: AdmittedWorkload, candidate_filter: CandidateFilter) -> bool:
    """The rule for one workload, plainly."""
    return (
        (
            candidate_filter.policy == "Any"
            or (
                candidate_filter.policy != "Never" and admitted.priority < candidate_filter.priority
            )
        )
        and not (candidate_filter.unprotected_only and admitted.is_protected)
        and admitted.name not in candidate_filter.spared
        and any(axis in candidate_filter.need for axis, _ in admitted.usage)
    )


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(300), deadline=None)
@given(st.lists(admitted(), unique_by=lambda each: each.name), st.data())
def test_a_line_lets_those_be_asked_whom_the_rule_lets_be_asked_one_by_one(
    known: list[AdmittedWorkload], data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(known)))
    line = sort_admitted(known[:begin])
    candidate_filter = data.draw(askings())
    for admitted in known[begin:]:
        line.matching(
            candidate_filter
        )  # what was found out about another line is not told of this one
        line.add(admitted)
    gone = data.draw(st.integers(0, len(known)))
    before = line.copy()
    for admitted in known[:gone]:
        line.matching(candidate_filter)
        told = data.draw(st.booleans())  # it may have been evicted since
        line.remove(replace(admitted, is_evicted=told))
    for each, left in ((line, known[gone:]), (before, known)):
        in_order = sorted(left, key=AdmittedWorkload.key)
        asked = each.matching(candidate_filter)
        assert each.workloads == in_order
        assert asked.workloads == [
            admitted for admitted in in_order if may_be_preempted(admitted, candidate_filter)
        ]
        assert sorted(asked.usages) == sorted({admitted.usage for admitted in asked.workloads})
