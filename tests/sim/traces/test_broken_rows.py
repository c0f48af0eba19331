"""What happens to rows that cannot be used, and what the user is told."""

from pathlib import Path

import pytest

from fairlead.errors import FairleadError
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.read_rows import MOST_FINDINGS, TraceTally
from fairlead.sim.traces.trace_job import TraceError
from fairlead.sim.traces.trace_rules import TraceRules
from tests.sim.traces.trace_files import OWN_HEAD, jobs_of, written

GOOD = "j{},{},10,,,,1,,,1,,,"
BROKEN = "j{},{},long,,,,1,,,1,,,"


def trace(folder: Path, good: int, broken: int) -> Path:
    forms = [GOOD] * good + [BROKEN] * broken
    lines = [form.format(number, number) for number, form in enumerate(forms)]
    return written(folder, "\n".join([OWN_HEAD, *lines, ""]))


@pytest.mark.parametrize(("good", "broken"), [(99, 1), (198, 2), (100, 0)])
def test_one_broken_row_in_a_hundred_is_reported_and_left_out(
    tmp_path: Path, good: int, broken: int
) -> None:
    tally = TraceTally()
    assert len(jobs_of(trace(tmp_path, good, broken), tally=tally)) == good
    assert (tally.rows, tally.given, tally.broken) == (good + broken, good, broken)
    assert len(tally.findings) == broken


@pytest.mark.parametrize(("good", "broken"), [(98, 1), (197, 2), (1, 1)])
def test_more_is_an_error_unless_allowed(tmp_path: Path, good: int, broken: int) -> None:
    file = trace(tmp_path, good, broken)
    with pytest.raises(TraceError, match=f"{broken} of {good + broken} rows are broken"):
        jobs_of(file)
    assert len(jobs_of(file, TraceRules(allow_broken=True))) == good


def test_a_trace_of_broken_rows_only_is_an_error_even_if_allowed(tmp_path: Path) -> None:
    with pytest.raises(FairleadError, match="2 of 2 rows are broken"):
        jobs_of(trace(tmp_path, 0, 2), TraceRules(allow_broken=True))


def test_a_finding_says_where_and_what_was_expected(tmp_path: Path) -> None:
    """99 good rows behind the heading: the broken one is line 101."""
    tally = TraceTally("my trace")
    jobs_of(trace(tmp_path, 99, 1), tally=tally)
    [finding] = tally.findings
    assert str(finding) == (
        "my trace:101: warning: run_s: found 'long', expected a number such as 12 or 0.5 "
        "[broken-row]\n    fix: correct or remove this row"
    )


def test_of_many_broken_rows_the_first_are_shown(tmp_path: Path) -> None:
    tally = TraceTally()
    jobs_of(trace(tmp_path, 1, 500), TraceRules(allow_broken=True), tally)
    assert tally.broken == 500
    assert [finding.line for finding in tally.findings] == list(range(3, 3 + MOST_FINDINGS))


def test_a_long_message_is_cut_in_its_middle(tmp_path: Path) -> None:
    text = f"JobID|Submit|Start|End|AllocTRES\n1|{'x' * 5000}|1|2|cpu=1\n"
    with pytest.raises(TraceError, match=r"found the time 'x+\.\.\.x+', expected") as raised:
        jobs_of(written(tmp_path, text))
    assert len(str(raised.value)) < 600


def test_the_trace_is_refused_before_any_job_is_given(tmp_path: Path) -> None:
    """The broken rows are the last ones; still nothing begins."""
    file = trace(tmp_path, 10, 10)
    with pytest.raises(TraceError, match="10 of 20"):
        jobs_of_trace(file)
