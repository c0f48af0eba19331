"""KAI's division explained: every sum can be checked by hand, and nobody is left without a why."""

from decimal import Decimal
from fractions import Fraction

import pytest

from fairlead.explain.kai.queue import explain_kai_queue
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import QueueChanged, UsageChanged, WorkloadAdded
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload
from fairlead.policy.kai.api import KaiShares
from tests.text_table import rows

GPU = 1000
DEFAULTS = {"guaranteed": "0", "limit": "-", "weight": "1", "priority": "100", "usage": "0"}


def gpus(text: str) -> int | None:
    """Return thousandths; ``-`` is no limit."""
    return None if text == "-" else int(Decimal(text) * GPU)


def cluster(queues: list[dict[str, str]]) -> ClusterState:
    """Return a cluster in which each queue asks for GPUs in one workload."""
    state = ClusterState(("gpu",), QuotaAxes([Axis("gpu")]))
    for given in queues:
        row = {**DEFAULTS, **given}
        name = QueueName(row["queue"])
        queue = Queue(
            name=name,
            priority=int(row["priority"]),
            weights=(Decimal(row["weight"]),),
            guaranteed=(gpus(row["guaranteed"]),),
            ceiling=(gpus(row["limit"]),),
            borrow_limit=(None,),
            lend_limit=(None,),
        )
        requests = (gpus(row["wants"]) or 0,)
        pods = PodSet(name="main", count=1, min_count=1, requests=requests)
        work = Workload(name=WorkloadName(name), queue=name, pod_sets=PodSets((pods,)), min_count=1)
        state.apply(QueueChanged(queue))
        state.apply(WorkloadAdded(work))
    usage: dict[QueueName, tuple[int, ...]] = {
        QueueName(row["queue"]): (int(Decimal(row["usage"]) * 10**9),)
        for row in queues
        if "usage" in row
    }
    if usage:
        state.apply(UsageChanged(usage))
    return state


def explained(total: int, queue: str, table: str | list[dict[str, str]], k: int = 0) -> Explanation:
    state = cluster(rows(table) if isinstance(table, str) else table)
    shares = KaiShares(state, (total * GPU,), Fraction(k))
    return explain_kai_queue(state, shares, QueueName(queue))


def section(explanation: Explanation, title: str) -> Section:
    (found,) = [each for each in explanation.sections if title in each.title]
    return found


def lines(found: Section) -> list[str]:
    """Return the rows of a table with single spaces between the cells."""
    return [" ".join(filter(None, row)) for row in found.table[1:]]


def test_a_share_is_the_sum_of_what_each_step_gave() -> None:
    told = explained(
        10,
        "a",
        """
        queue  guaranteed  weight  wants
        a      2           1       9
        b      4           3       9
        """,
    )
    assert told.answer == "a has a fair share of gpu 3."
    assert lines(section(told, "1.")) == ["a * 2 - 9 2", "b 4 - 9 4"]
    assert section(told, "1.").remarks == ("10 - 6 = 4 left.",)
    assert lines(section(told, "2.")) == ["a * 1 0.25 7 1 1 0", "b 3 0.75 5 3 3 0"]
    assert section(told, "2.").remarks == ("4 shared by 2 queues that need more; 0 left.",)
    assert section(told, "Result").remarks == ("a gets 2 + 1 = 3.", "It could use 9.")


def test_a_limit_below_the_request_is_named() -> None:
    told = explained(
        10,
        "a",
        """
        queue  limit  wants
        a      3      9
        b      -      4
        """,
    )
    # a may want 3 of its half, 5, and is done; b gets its 4, and 3 are nobody's
    assert lines(section(told, "1.")) == ["a * 0 3 9 0", "b 0 - 4 0"]
    assert lines(section(told, "2.")) == ["a * 1 0.5 3 5 3 done", "b 1 0.5 4 5 4 done"]
    assert section(told, "Result").remarks == (
        "a gets 0 + 3 = 3.",
        "It asks for 9, but its limit is 3.",
        "3 is left over.",
    )


def test_guarantees_beyond_what_there_is_are_honoured_on_paper() -> None:
    told = explained(
        10,
        "a",
        """
        queue  guaranteed  wants
        a      8           9
        b      8           9
        """,
    )
    (said,) = section(told, "1.").remarks
    assert said == "That is 16 together, more than there is; every queue keeps its guarantee."
    assert section(told, "Result").remarks == (
        "a gets 8.",
        "It could use 9. Nothing was left after the guarantees.",
    )


WHY_OUT = {
    "a higher priority took it all": (
        """
        queue  priority  wants
        a      50        9
        b      100       99
        """,
        "It could use 9. Nothing was left for priority 50.",
    ),
    "weight 0 takes part in no round": (
        """
        queue  weight  wants
        a      0       9
        b      1       99
        """,
        "It could use 9. With weight 0 it gets no more than its guarantee.",
    ),
}


@pytest.mark.parametrize(("table", "remark"), WHY_OUT.values(), ids=WHY_OUT.keys())
def test_who_takes_part_in_no_round_is_told_why(table: str, remark: str) -> None:
    assert section(explained(10, "a", table), "Result").remarks == ("a gets 0.", remark)


def test_a_share_above_the_request_is_a_unit_given_whole() -> None:
    told = explained(
        1,
        "a",
        """
        queue  wants
        a      0.5
        b      9
        c      9
        """,
    )
    assert section(told, "Result").remarks == (
        "a gets 0 + 0 + 1 = 1.",
        "That is 0.5 more than the 0.5 it can use: a unit left by rounding is given whole.",
    )


USAGE = """
    queue  usage  wants
    a      0.25   99
    b      0      99
"""


def test_past_usage_is_shown_where_it_counts() -> None:
    told = explained(8, "a", USAGE, k=1)
    # w is 0.5 each: a has 0.5 + 1 x (0.5 - 0.25) = 0.75, b has 0.5 + 1 x 0.5 = 1; of 1.75
    # a's part is 0.429, of 8 GPUs 3.429
    found = section(told, "2.")
    assert found.table[0][:4] == ("QUEUE", "WEIGHT", "USAGE", "PART")
    assert lines(found) == [
        "a * 1 0.25 0.429 99 3.429 3 0.429",
        "b 1 0 0.571 99 4.571 4 0.571",
    ]
    assert found.remarks[1] == (
        "PART counts past usage: in proportion to w + k(w - usage), or 0 where that is less; "
        "w is the part of the weights here, k = 1."
    )
    assert section(told, "3.").remarks[:2] == (
        "1 unit for 2 queues that remember a fraction; a is 2nd.",
        "a gets none: b, the last to get one, remembers 0.571.",
    )


def test_past_usage_is_not_shown_where_it_does_not_count() -> None:
    found = section(explained(8, "a", USAGE, k=0), "2.")
    assert {row[2] for row in found.table[1:]} == {""}  # a column that a table leaves out
    assert len(found.remarks) == 1


def test_usage_that_outweighs_every_claim_is_told() -> None:
    told = explained(8, "a", USAGE.replace("0.25", "1").replace("b      0", "b      1"), k=1)
    assert section(told, "2.").remarks[-1] == (
        "Past usage outweighs every claim, so this priority gets no more."
    )
    assert section(told, "Result").remarks[-1] == "8 is left over."


# 30 equal queues divide 50 GPUs: 1 each, and each remembers 2/3 of the second one; the other 20 go
# to q00 ... q19, because all fractions are equal, all queues as old, and those are named first.
NAMES = [f"q{at:02}" for at in range(30)]
THIRTY = [{"queue": name, "wants": "9"} for name in NAMES]


def test_among_many_siblings_those_are_shown_that_decided() -> None:
    told = explained(50, "q29", THIRTY)
    (said,) = told.sections[0].remarks
    assert said == (
        "Shown: 12 of them: q29, its neighbours in the ranking for units left by rounding, "
        "and the largest shares."
    )
    around_the_last_unit = ["q18", "q19", "q20"]
    largest = [f"q{at:02}" for at in range(7)]
    shown = [line.split()[0] for line in lines(section(told, "3."))]
    assert shown == [*largest, *around_the_last_unit, "q28", "q29", "(18"]


def test_who_got_none_of_the_units_left_is_told_its_rank_and_why() -> None:
    found = section(explained(50, "q29", THIRTY), "3.")
    assert "q19 20 0.667 age, then name 1" in lines(found)
    assert "q20 21 0.667 age, then name 0" in lines(found)
    assert "q29 * 30 0.667 age, then name 0" in lines(found)
    assert found.remarks == (
        "20 units for 30 queues that remember a fraction; q29 is 30th.",
        "q29 gets none: q19 has the same fraction, and is older or named first.",
        "One each, the largest remembered fraction first; need and limit do not count.",
    )


@pytest.mark.parametrize(
    ("queue", "ordinal"),
    [("q00", "1st"), ("q01", "2nd"), ("q02", "3rd"), ("q10", "11th"), ("q19", "20th")],
)
def test_who_got_a_unit_is_told_its_rank_alone(queue: str, ordinal: str) -> None:
    count, *others = section(explained(50, queue, THIRTY), "3.").remarks
    assert count == f"20 units for 30 queues that remember a fraction; {queue} is {ordinal}."
    assert len(others) == 1


@pytest.mark.parametrize(("title", "total"), [("1.", 0), ("2.", 30), ("3.", 20)])
def test_rows_that_are_left_out_are_counted_and_summed_up(title: str, total: int) -> None:
    head, *shown, rest = section(explained(50, "q29", THIRTY), title).table
    gets = head.index("GETS")
    assert rest[0] == "(18 more)"
    assert sum(int(row[gets]) for row in [*shown, rest]) == total


def test_few_siblings_are_all_shown() -> None:
    told = explained(20, "q11", THIRTY[:12])
    assert told.sections[0].remarks == ()
    assert all(row[0][0] == "q" for each in told.sections for row in each.table[1:])


TWO_PRIORITIES = """
    queue  priority  wants
    a      100       9
    b      100       9
    c      50        9
    d      50        9
"""


def test_a_lower_priority_is_told_that_a_higher_one_took_the_units_left() -> None:
    # a and b get 1 of their 1.5 each, c and d nothing of their 0.5: the unit left goes to a
    told = explained(3, "c", TWO_PRIORITIES)
    assert lines(section(told, "3. Units left by rounding, priority 100")) == [
        "a 1 0.5 age, then name 1",
        "b 2 0.5 age, then name 0",
    ]
    own = section(told, "3. Units left by rounding, priority 50")
    assert lines(own) == ["c * 1 0.5 priority 0", "d 2 0.5 priority 0"]
    assert own.remarks[:2] == (
        "no units for 2 queues that remember a fraction; c is 1st.",
        "c gets none: higher priorities come first and took them all.",
    )


def test_a_line_that_got_nothing_is_of_no_interest_to_others() -> None:
    titles = [each.title for each in explained(3, "a", TWO_PRIORITIES).sections]
    assert [title for title in titles if title.startswith("3.")] == [
        "3. Units left by rounding, priority 100"
    ]
