"""The examples of Kueue and ElasticQuota explained: each number can be checked by hand."""

from pathlib import Path

import pytest

from fairlead.errors import FairleadError
from fairlead.explain.named import queue_named
from fairlead.explain.queues.report import ShareReport
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import Axis, QuotaAxes
from fairlead.model.state import ClusterState
from fairlead.policy.kai.settings import KaiSettings
from tests.manifest.reading import load_or_raise

EXAMPLES = Path(__file__).parents[2] / "examples"


def explained(family: str, queue: str) -> Explanation:
    assembled = load_or_raise([str(EXAMPLES / family)])
    state = assembled.state
    return rule_set_of(assembled.settings).explain_queue(
        state, assembled.settings, None, queue_named(state, queue)
    )


def reported(family: str) -> ShareReport:
    assembled = load_or_raise([str(EXAMPLES / family)])
    return rule_set_of(assembled.settings).share_report(assembled.state, assembled.settings, None)


def row(explanation: Explanation, section: int, first: str) -> tuple[str, ...]:
    return next(row for row in explanation.sections[section].table if row[0] == first)


def test_a_borrower_in_kueue() -> None:
    language = explained("kueue", "language")
    assert language.answer.startswith("language has a weighted share of 188")
    # 14 GPUs allocated, 8 of them its own
    assert row(language, 0, "a100/nvidia.com/gpu") == (
        "a100/nvidia.com/gpu",
        *("8", "8", "0", "14", "6", "0"),
    )
    # 6 borrowed of the 32 that its cohort could ever hold: 6 x 1000 / 32 = 187.5
    assert row(language, 2, "nvidia.com/gpu") == ("nvidia.com/gpu", "6", "32", "187.500")


def test_the_data_of_an_explanation_names_its_axes() -> None:
    path = explained("kueue", "language").data["path"]
    assert isinstance(path, list)
    assert [node["name"] for node in path] == ["language", "cohort/research", "cohort/institute"]
    assert path[0]["resources"]["a100/nvidia.com/gpu"]["borrowed"] == "6"
    pool = explained("elastic-quota", "speech").data["pool"]
    assert isinstance(pool, dict)
    assert pool["resources"]["nvidia.com/gpu"]["guaranteed"] == "10"


def test_a_lender_in_kueue_and_the_cohort_by_its_short_name() -> None:
    assert explained("kueue", "serving").answer == (
        "serving borrows nothing, so its weighted share is 0."
    )
    # language borrows 6: 2 of research's own, and of the 6 that vision leaves idle the other 4
    assert row(explained("kueue", "vision"), 0, "a100/nvidia.com/gpu")[-1] == "4"
    assert explained("kueue", "institute").data["queue"] == "cohort/institute"


def test_a_namespace_whose_guarantee_is_lent() -> None:
    speech = explained("elastic-quota", "speech")
    assert speech.answer == "speech is within its min."
    # min 4, uses 1, the pool of 10 has 1 left: 4 - 1 - 1 = 2 are lent to vision
    remarks = " ".join(speech.sections[0].remarks)
    assert "2 of nvidia.com/gpu within its min is lent to vision" in remarks
    assert explained("elastic-quota", "vision").answer.startswith("vision borrows cpu")


def test_what_leaving_pods_still_hold_counts_as_used() -> None:
    report = reported("elastic-quota")
    assert [column.key for column in report.axis_columns[2:4]] == ["used", "requested"]
    (gpu,) = [
        line.cells["used"]
        for entry in report.queues
        for line in entry.lines
        if entry.name == "speech" and line.axis.resource == "nvidia.com/gpu"
    ]
    assert gpu == 1000


def test_a_name_that_no_queue_has() -> None:
    state = load_or_raise([str(EXAMPLES / "kai" / "monday")]).state
    with pytest.raises(FairleadError, match="nothing in the input is named"):
        queue_named(state, "nobody")


@pytest.mark.parametrize("family", ["kai/monday", "kueue", "elastic-quota"])
def test_the_report_lists_parents_before_children(family: str) -> None:
    report = reported(family)
    seen: set[str] = set()
    for entry in report.queues:
        assert entry.parent is None or entry.parent in seen
        seen.add(entry.name)


def test_a_state_that_was_never_a_manifest_is_reported_too() -> None:
    state = ClusterState(("cpu",), QuotaAxes([Axis("cpu")]))
    report = rule_set_of(KaiSettings()).share_report(state, KaiSettings(), (64_000,))
    assert report.policy == "kai"
    assert report.capacity == {Axis("cpu"): 64_000}
    assert report.queues == ()
