"""What ``sacct`` tells becomes levels: every job once, from its start to its end, and no more."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.text.sacct import (
    SacctHistory,
    SacctJob,
    allocated_amounts,
    held_entries,
    last_known_ms,
    read_sacct,
)
from tests.shared_folder import ROOT
from tests.text_table import rows

SAMPLE = ROOT / "examples/usage/sacct.txt"
UTC_ZONE = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
HOUR_MS = 3_600_000
HEAD = "JobID|Account|User|Start|End|ElapsedRaw|State|AllocTRES"


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def read(*lines: str, zone: ZoneInfo = UTC_ZONE, head: str = HEAD) -> SacctHistory:
    return read_sacct([f"{line}\n" for line in (head, *lines)], "old.txt", zone)


def job(start: str, end: str, *, name: str = "7", tres: str = "cpu=1", elapsed: str = "") -> str:
    return f"{name}|lab|ann|{start}|{end}|{elapsed}|COMPLETED|{tres}"


def same_name(account: str) -> QueueName:
    return QueueName(account)


def sample() -> SacctHistory:
    with SAMPLE.open(encoding="utf-8") as lines:
        return read_sacct(lines, "sacct.txt", UTC_ZONE)


def test_the_sample_counts_every_job_that_ran_and_no_step() -> None:
    """4101, 4102, 4103, 4104_1 and _2, 4106, both parts of 4107, 4108, 4109."""
    history = sample()
    assert len(history.jobs) == 10
    assert history.left_out == {"steps of jobs": 3, "never started": 2}


def test_the_sample_adds_up_to_its_gpu_hours() -> None:
    """Queue by queue, GPUs times hours.

    physics: 4 x 12 + 2 x 24 + 8 x 3 + 4 x 10 = 160.
    biology: 1 x 12 + 2 x 24 + 2 x 18 = 96, and 4108 with 3 from the 15th, 12:00, to the last known
    moment: its 72,000 s end on the 16th at 08:00, after all others, so 3 x 20 = 60 more.
    """
    assert gpu_hours(held_by_queue(sample())) == {"physics": 160, "biology": 156, "chemistry": 0}


def held_by_queue(history: SacctHistory) -> dict[str, int]:
    """GPU-milliseconds in thousandths, summed from level to level."""
    total: dict[str, int] = {}
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for entry in held_entries(history.jobs, same_name):
        since_ms, level = last.get((entry.queue, entry.user), (entry.at_ms, 0))
        used = level * (entry.at_ms - since_ms)
        total[entry.queue] = total.get(entry.queue, 0) + used
        last[entry.queue, entry.user] = (entry.at_ms, entry.amounts[2])
    return total


def gpu_hours(used: dict[str, int]) -> dict[str, float]:
    return {queue: each / 1000 / HOUR_MS for queue, each in used.items()}


def test_jobs_of_one_user_that_overlap_are_one_level() -> None:
    """8 h - 20 h with 4 GPUs, and 12 h - 36 h with 2: 4, then 6, then 2, then 0."""
    entries = held_entries(sample().jobs[:2], same_name)
    begin = moment("2026-11-09T00:00:00")
    levels = [((each.at_ms - begin) // HOUR_MS, each.amounts[2] // 1000) for each in entries]
    assert levels == [(8, 4), (12, 6), (20, 2), (36, 0)]
    assert {(each.queue, each.user) for each in entries} == {("physics", "ann")}


ALLOCATIONS = """
    text                                              cpu     MiB     gpus
    cpu=4,mem=16G,gres/gpu=2                          4000    16384   2000
    billing=9,cpu=1,mem=512M,node=1                   1000    512     0
    cpu=1,mem=1.50T                                   1000    1572864 0
    cpu=1,mem=2048K                                   1000    2       0
    cpu=1,mem=4000                                    1000    4000    0
    gres/gpu:a100=2,gres/gpu=2                        0       0       2000
    gres/gpu:a100=2,gres/gpu:h100=1                   0       0       3000
    gres/gpu=3,gres/gpu:a100=2                        0       0       3000
    gres/gpumem=80G,gres/shard=4,license/matlab=1     0       0       0
"""


@pytest.mark.parametrize("row", rows(ALLOCATIONS), ids=lambda row: row["text"])
def test_what_was_allocated_is_counted_in_base_units(row: dict[str, str]) -> None:
    expected = (int(row["cpu"]), int(row["MiB"]) * 2**20, int(row["gpus"]))
    assert allocated_amounts(row["text"]) == expected


def test_nothing_allocated_is_nothing() -> None:
    assert allocated_amounts("") == (0, 0, 0)


BAD_LINES = {
    job("100", "200", name=""): "found no JobID, expected one such as 4107 or 4104_1",
    job("yesterday", "Unknown"): "found the time 'yesterday', expected 2026-11-16T09:00:00",
    job("2026-11-09T08:00:00", "2026-11-09T07:59:59"): "which is before the start",
    job("1969-12-31T23:59:59", "Unknown"): "expected one in the years 1970 to 2200",
    job("99999999999", "Unknown"): "expected one in the years 1970 to 2200",
    job("2026-11-09T08:00:00", "Unknown", elapsed="1h"): "found ElapsedRaw '1h'",
    job("2026-11-09T08:00:00", "Unknown", tres="cpu=many"): "found 'cpu=many', expected such as",
    job("2026-11-09T08:00:00", "Unknown", tres="cpu=4G"): "found 'cpu=4G', expected such as",
    job("2026-11-09T08:00:00", "Unknown", tres="mem=-1G"): "found 'mem=-1G', expected such as",
    job("2026-11-09T08:00:00", "Unknown", tres="mem=8388608T"): "expected at most 92233720368547",
    "7": "found 1 field, expected 8",
    job("2026-11-09T08:00:00", "Unknown", tres="gres/gpu=1|x"): "found 9 fields, expected 8",
}


@pytest.mark.parametrize(("line", "told"), BAD_LINES.items(), ids=BAD_LINES.values())
def test_a_bad_line_is_told_with_its_place_and_cure(line: str, told: str) -> None:
    good = job("2026-11-09T08:00:00", "2026-11-09T09:00:00")
    with pytest.raises(StoreError) as raised:
        read(good, line)
    head, found, cure = str(raised.value).splitlines()
    assert head == "nothing was imported: 1 line of old.txt cannot be read"
    assert found.startswith("old.txt:3: ")
    assert told in found
    assert cure.startswith("    fix: ")


@pytest.mark.parametrize(
    ("head", "missing"),
    [
        ("", "JobID, Account, User, Start, End, AllocTRES"),
        ("JobID|Account|User|Start|AllocTRES", "End"),
        ("JobID|Account|User|Start|End|State", "AllocTRES"),
    ],
)
def test_a_missing_column_is_named_with_the_command_that_has_it(head: str, missing: str) -> None:
    with pytest.raises(StoreError, match="fix: use sacct --allusers --parsable2") as raised:
        read(head=head)
    assert f"old.txt:1: found no column {missing} in the first line" in str(raised.value)


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(StoreError, match="found the column User twice in the first line"):
        read("7|lab|ann|100|200|cpu=2|bob", head="JobID|Account|User|Start|End|AllocTRES|User")


@pytest.mark.parametrize(
    "line",
    [
        job("2026-11-09T08:00:00", "2026-11-20T00:00:00"),
        job("2026-11-20T00:00:00", "Unknown"),
        job("2026-11-19T23:00:00", "Unknown", elapsed="3600"),
    ],
    ids=["end", "start", "elapsed"],
)
def test_a_job_of_the_future_is_refused_and_named(line: str) -> None:
    """Each of them ends on the 20th, which is the first moment that is too late."""
    limit_ms = moment("2026-11-20T00:00:00")
    lines = [f"{each}\n" for each in (HEAD, line)]
    assert len(read_sacct(lines, "old.txt", UTC_ZONE, until_ms=limit_ms + 1).jobs) == 1
    told = "old.txt:2: found the time .* is 2026-11-20T00:00:00Z and more than a day from now"
    with pytest.raises(StoreError, match=told):
        read_sacct(lines, "old.txt", UTC_ZONE, until_ms=limit_ms)


def test_the_older_name_of_the_column_will_do() -> None:
    history = read("7|lab|ann|100|200|cpu=2", head="JobID|Account|User|Start|End|TRES")
    assert history.jobs[0].amounts == (2000, 0, 0)


def test_a_job_that_is_told_twice_counts_once_and_with_its_end() -> None:
    """As when the text of last week, in which it still ran, stands before that of this week."""
    begin, end = "2026-11-09T08:00:00", "2026-11-09T10:00:00"
    still_ran, ended = job(begin, "Unknown", elapsed="3600"), job(begin, end)
    for lines in ([still_ran, HEAD, ended], [ended, HEAD, still_ran], [ended, ended]):
        history = read(*lines)
        assert [each.end_ms for each in history.jobs] == [moment(end)]


def test_a_job_that_was_requeued_counts_for_each_of_its_runs() -> None:
    history = read(job("100", "200"), job("300", "450"))
    assert [(each.start_ms, each.end_ms) for each in history.jobs] == [
        (100_000, 200_000),
        (300_000, 450_000),
    ]


def test_a_job_that_ended_as_it_began_is_left_out() -> None:
    assert read(job("100", "100")).left_out == {"held nothing that is counted": 1}


def test_an_account_may_be_left_out() -> None:
    assert held_entries(sample().jobs, lambda _account: None) == []


ZONES = """
    start                end                  hours  why
    2026-11-09T08:00:00  2026-11-09T10:00:00  2      an-ordinary-day
    2026-03-29T01:00:00  2026-03-29T04:00:00  2      one-hour-was-skipped
    2026-10-25T01:00:00  2026-10-25T04:00:00  4      one-hour-came-twice
    2026-10-25T02:45:00  2026-10-25T02:15:00  0.5    the-end-is-in-the-second-turn
    1793000000           1793003600           1      seconds-need-no-zone
    2026-11-09T08:00:00Z 2026-11-09T11:00:00Z 3      a-zone-of-its-own
"""


@pytest.mark.parametrize("row", rows(ZONES), ids=lambda row: row["why"])
def test_times_are_those_of_the_zone(row: dict[str, str]) -> None:
    (only,) = read(job(row["start"], row["end"]), zone=BERLIN).jobs
    assert only.end_ms is not None
    assert only.end_ms - only.start_ms == float(row["hours"]) * HOUR_MS


# The clock of Berlin went back from 03:00 to 02:00: 02:15 was at 00:15 and at 01:15 in UTC.
TURNS = """
    start                end                  elapsed  begins  ends   why
    2026-10-25T02:15:00  2026-10-25T02:45:00  5400     00:15   01:45  first-turn-to-second
    2026-10-25T02:15:00  2026-10-25T02:45:00  1800     00:15   00:45  both-in-one-turn:-the-first
    2026-10-25T02:15:00  2026-10-25T02:15:00  3600     00:15   01:15  the-same-time-an-hour-later
    2026-10-25T02:45:00  2026-10-25T02:15:00  1800     00:45   01:15  the-only-way
    2026-10-25T02:15:00  2026-10-25T04:00:00  6300     01:15   03:00  only-the-start-came-twice
    2026-10-25T01:00:00  2026-10-25T02:30:00  9000     23:00   01:30  only-the-end-came-twice
    2026-10-25T02:15:00  2026-10-25T02:45:00  600      00:15   00:45  suspended:-fits-no-turn
    2026-10-25T02:15:00  2026-10-25T02:45:00  -        00:15   00:45  not-told
    2026-03-29T02:15:00  2026-03-29T04:00:00  6300     01:15   02:00  skipped:-fits-no-turn
"""


@pytest.mark.parametrize("row", rows(TURNS), ids=lambda row: row["why"])
def test_the_elapsed_time_settles_an_hour_that_came_twice(row: dict[str, str]) -> None:
    elapsed = row["elapsed"].replace("-", "")
    (only,) = read(job(row["start"], row["end"], elapsed=elapsed), zone=BERLIN).jobs
    assert only.end_ms is not None
    clock = [datetime.fromtimestamp(each // 1000, UTC) for each in (only.start_ms, only.end_ms)]
    assert [f"{each:%H:%M}" for each in clock] == [row["begins"], row["ends"]]


def test_a_run_that_is_told_twice_counts_once_though_only_its_end_tells_the_turn() -> None:
    begin, end = "2026-10-25T02:15:00", "2026-10-25T04:00:00"
    lines = [job(begin, "Unknown", elapsed="60"), job(begin, end, elapsed="6300")]
    (only,) = read(*lines, zone=BERLIN).jobs
    assert only.start_ms == moment("2026-10-25T01:15:00")


def test_a_time_without_a_zone_is_local() -> None:
    (only,) = read(job("2026-11-09T08:00:00", "Unknown"), zone=BERLIN).jobs
    assert only.start_ms == moment("2026-11-09T07:00:00")


jobs = st.builds(
    lambda account, user, start, length, amount: SacctJob(
        account=account,
        user=user,
        start_ms=start,
        end_ms=None if length is None else start + length,
        elapsed_ms=3,
        amounts=(amount, 0, 2 * amount),
    ),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["ann", "bob"]),
    st.integers(0, 12),
    st.none() | st.integers(1, 8),
    st.integers(1, 3),
)


@given(st.lists(jobs, max_size=8))
def test_at_every_moment_the_level_is_the_sum_of_the_jobs_that_run(found: list[SacctJob]) -> None:
    entries = held_entries(found, same_name)
    last_ms = last_known_ms(found) or 0
    assert [each.at_ms for each in entries] == sorted(each.at_ms for each in entries)
    for queue in ("p", "q"):
        for user in ("ann", "bob"):
            for now_ms in range(last_ms + 2):
                level: tuple[int, ...] = (0, 0, 0)
                for entry in entries:
                    if (entry.queue, entry.user) == (queue, user) and entry.at_ms <= now_ms:
                        level = entry.amounts
                assert level == plain_level(found, queue, user, now_ms, last_ms)


def plain_level(
    found: list[SacctJob], queue: str, user: str, now_ms: int, last_ms: int
) -> tuple[int, ...]:
    running = [
        each.amounts
        for each in found
        if (each.account, each.user) == (queue, user)
        and each.start_ms <= now_ms < (last_ms if each.end_ms is None else each.end_ms)
    ]
    return (sum(each[0] for each in running), 0, sum(each[2] for each in running))


@given(st.lists(jobs, max_size=8))
def test_no_entry_says_what_was_held_already(found: list[SacctJob]) -> None:
    held: dict[tuple[str, str], tuple[int, ...]] = {}
    for entry in held_entries(found, same_name):
        assert held.get((entry.queue, entry.user), (0, 0, 0)) != entry.amounts
        held[entry.queue, entry.user] = entry.amounts
    assert not any(any(amounts) for amounts in held.values())
