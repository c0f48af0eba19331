"""The order without fair sharing: one line over all trees, told by a table."""

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.order import ClassicalOrder, Head, OrderGates
from tests.text_table import rows

# Less high up first; then the higher priority, the earlier one, the name.
LINE = """
    head level priority queued preempting | turn by_time waiting
    a    1     9        1      no         | 5    5       6
    b    0     0        2      no         | 3    2       4
    c    0     0        2      no         | 4    3       5
    d    0     5        9      no         | 2    4       3
    e    0     5        1      no         | 1    1       2
    f    2     9        1      yes        | 6    6       1
"""
GATES = {
    "turn": OrderGates(),
    "by_time": OrderGates(priority_first=False),
    "waiting": OrderGates(preemptors_first=True),
}


def heads() -> list[Head]:
    return [
        Head(
            name=WorkloadName(line["head"]),
            queue=QueueName(f"queue-of-{line['head']}"),
            priority=int(line["priority"]),
            queued_ms=int(line["queued"]),
            usage=(),
            borrow_level=int(line["level"]),
            is_preempting=line["preempting"] == "yes",
        )
        for line in rows(LINE.replace("|", " "))
    ]


@pytest.mark.parametrize("column", GATES)
def test_heads_stand_in_one_line(column: str) -> None:
    lines = sorted(rows(LINE.replace("|", " ")), key=lambda line: int(line[column]))
    for listed in (heads(), heads()[::-1]):
        sort_admitted = ClassicalOrder(listed, GATES[column])
        assert list(iter(sort_admitted.pop, None)) == [line["head"] for line in lines]


def test_what_is_used_meanwhile_changes_nothing() -> None:
    sort_admitted = ClassicalOrder(heads(), OrderGates())
    assert sort_admitted.pop() == "e"
    sort_admitted.changed(QueueName("queue-of-d"))
    assert sort_admitted.pop() == "d"
