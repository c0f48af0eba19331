import pytest

from fairlead.sim.traces.trace_job import TraceError
from fairlead.sim.traces.trace_rules import QueueRule, check_template, queue_of

BY_GROUP = QueueRule(by="group", named={"g1": "physics", "": "nobody"}, others=None)
NAMED_OR_REST = QueueRule(by="user", named={"ann": "vip"}, others="rest")


@pytest.mark.parametrize(
    ("rule", "queue", "group", "user", "expected"),
    [
        (QueueRule(), "LS", "g1", "ann", "LS"),
        (QueueRule(), "", "g1", "ann", "default"),
        (QueueRule(untold=None), "", "g1", "ann", None),
        (QueueRule(others="{group}/{user}"), "", "g1", "ann", "g1/ann"),
        (QueueRule(others="{group}/{user}"), "LS", "g1", "", "default"),
        (QueueRule(others="team-{group}", untold="guests"), "LS", "", "", "guests"),
        (QueueRule(others="all"), "", "", "", "all"),
        (BY_GROUP, "LS", "g1", "ann", "physics"),
        (BY_GROUP, "g1", "g2", "g1", None),
        (BY_GROUP, "LS", "", "ann", "nobody"),
        (NAMED_OR_REST, "LS", "g1", "ann", "vip"),
        (NAMED_OR_REST, "LS", "g1", "bob", "rest"),
        # What a trace tells is text, never a pattern again.
        (QueueRule(others="{queue}-{user}"), "{user}", "", "ann", "{user}-ann"),
    ],
)
def test_a_job_belongs_to_the_queue_that_the_rule_says(
    rule: QueueRule, queue: str, group: str, user: str, expected: str | None
) -> None:
    assert queue_of(rule, queue, group, user) == expected


@pytest.mark.parametrize("pattern", ["", "{Group}", "{group", "{user.__class__}", "{}", "}"])
def test_a_pattern_with_braces_that_mean_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(TraceError, match="found the queue pattern"):
        check_template(pattern)


@pytest.mark.parametrize("pattern", [None, "all", "{queue}", "{group}/{user}"])
def test_a_pattern_that_can_be_meant_is_taken(pattern: str | None) -> None:
    check_template(pattern)
