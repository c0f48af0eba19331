"""What the options beyond Kueue do on manifests, beside what Kueue does there."""

import re

import pytest

from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadFinished
from tests.examples.kueue_world import (
    FOLDER,
    NOW_MS,
    SECOND_MS,
    changed,
    evictions,
    first_plan,
    follow,
    held,
    read,
    read_text,
    text_of,
)

MIN_RUN_TIME = "kueue-options/min-run-time"
DELAY = "kueue-options/preemption-delay"
COOLDOWN = "kueue-options/preemption-cooldown"
OVERRIDE = "kueue-options/priority-override"
SMALLEST = "kueue-options/smallest-first"
USES_3 = "Usage: {nvidia.com/gpu: 3}"
MINUTE_MS = 60 * SECOND_MS
OWNED = "vision/scan-4 for speech/digits: InCohortReclamation"


def test_without_the_option_those_who_have_just_started_lose_their_start() -> None:
    assembled = read(MIN_RUN_TIME, ("world.yaml",))
    lost = evictions(follow(assembled))
    assert lost == [OWNED, "vision/scan-3 for speech/letters: InCohortFairSharing"]
    assert held(assembled.state) == {"speech": "4", "vision": "4"}


def test_with_it_only_what_is_owned_comes_back_at_once() -> None:
    plans = follow(read(MIN_RUN_TIME))
    assert evictions(plans) == [OWNED]
    assert "wait speech/letters: WaitingForQuota ProtectedByMinRuntime" in plans[-1]


@pytest.mark.parametrize(
    ("seconds", "victim"),
    [
        (5 * 60 - 3, None),  # a cycle takes a second, and the third is the last: 09:04:59
        (5 * 60 - 2, "vision/scan-1"),  # since 08:50
        (7 * 60 - 2, "vision/scan-1"),
        (7 * 60 - 1, "vision/scan-2"),  # since 08:52; the last of those whose time is over
        (9 * 60 - 1, "vision/scan-3"),
    ],
)
def test_who_has_had_its_time_gives_way(seconds: int, victim: str | None) -> None:
    lost = evictions(follow(read(MIN_RUN_TIME), NOW_MS + seconds * SECOND_MS))
    expected = [] if victim is None else [f"{victim} for speech/letters: InCohortFairSharing"]
    assert lost == [OWNED, *expected]


def test_in_the_end_the_shares_are_those_without_the_option() -> None:
    assembled = read(MIN_RUN_TIME)
    follow(assembled, NOW_MS + 5 * MINUTE_MS)
    assert held(assembled.state) == {"speech": "4", "vision": "4"}


def test_without_a_delay_a_burst_evicts_what_has_run_for_hours() -> None:
    plan = first_plan(read(DELAY, ("world.yaml", "thumbnails.yaml")))
    assert plan[0] == "evict vision/pretrain for speech/spot-check: InCohortFairSharing"


@pytest.mark.parametrize("second", [0, 20, 49])
def test_with_a_delay_it_waits_for_a_minute_from_when_it_came(second: int) -> None:
    plan = first_plan(read(DELAY), NOW_MS + second * SECOND_MS)  # it came at 08:59:50
    assert plan == ["wait speech/spot-check: WaitingForQuota WaitsBeforeSharing"]


def test_after_the_delay_it_gets_its_share_all_the_same() -> None:
    assembled = read(DELAY)
    plans = follow(assembled, NOW_MS + 50 * SECOND_MS)
    assert evictions(plans) == ["vision/pretrain for speech/spot-check: InCohortFairSharing"]
    assert held(assembled.state) == {"speech": "4", "vision": "4"}


def test_when_room_becomes_free_meanwhile_nobody_has_given_way() -> None:
    assembled = read(DELAY)
    before = follow(assembled)
    assembled.state.apply(WorkloadFinished(WorkloadName("vision/thumbnails")))
    after = follow(assembled, NOW_MS + 20 * SECOND_MS)
    assert evictions(before + after) == []
    assert after[0] == ["start speech/spot-check"]


def test_the_file_left_out_is_the_job_that_is_done() -> None:
    finished = read(DELAY)
    finished.state.apply(WorkloadFinished(WorkloadName("vision/thumbnails")))
    left_out = read(DELAY, ("world.yaml", "settings.yaml"))
    now_ms = NOW_MS + 20 * SECOND_MS
    assert first_plan(left_out, now_ms) == first_plan(finished, now_ms)


def test_no_delay_keeps_a_queue_from_what_it_owns() -> None:
    text = changed(text_of(MIN_RUN_TIME), ("minRunTime: 15m", "preemptionDelay: 15m"))
    plans = follow(read_text(text))
    assert evictions(plans) == [OWNED]
    assert "wait speech/letters: WaitingForQuota WaitsBeforeSharing" in plans[-1]


IN_TURN = "vision/scan-2 for speech/letters: InCohortFairSharing"


@pytest.mark.parametrize(("minute", "is_cold"), [(0, False), (19, False), (20, True)])
def test_who_was_preempted_preempts_half_an_hour_later(minute: int, is_cold: bool) -> None:
    plan = first_plan(read(COOLDOWN, ("world.yaml",)), NOW_MS + minute * MINUTE_MS)
    if is_cold:
        assert evictions([plan]) == [IN_TURN]
    else:
        assert plan == ["wait speech/letters: WaitingForQuota CoolsDown"]


def test_without_a_cooldown_it_preempts_at_once() -> None:
    assert evictions([first_plan(read(COOLDOWN))]) == [IN_TURN]


def test_who_cools_down_starts_in_room_that_becomes_free() -> None:
    assembled = read(COOLDOWN, ("world.yaml",))
    assembled.state.apply(WorkloadFinished(WorkloadName("vision/scan-1")))
    assert first_plan(assembled) == ["start speech/letters"]


BY_IMPORTANCE = "vision/sweep for serving/hotfix: InCohortReclaimWhileBorrowing"


def test_with_fair_sharing_importance_counts_for_nothing() -> None:
    plans = follow(read(OVERRIDE, ("world.yaml",)))
    assert plans == [
        [f"wait serving/{job}: WaitingForQuota SharesForbid" for job in ("hotfix", "patch")]
    ]


def test_without_fair_sharing_it_counts() -> None:
    """So what the option restores is what the ClusterQueue says."""
    text = text_of(OVERRIDE, ("world.yaml",))
    configuration = re.compile(r"apiVersion: config\.(?:.*\n)*?---\n")
    without, count = configuration.subn("", text)
    assert count == 1
    assert "hotfix" in evictions([first_plan(read_text(without))])[0]


def override(*changes: tuple[str, str]) -> tuple[Assembled, list[str]]:
    assembled = read_text(changed(text_of(OVERRIDE), *changes))
    return assembled, evictions(follow(assembled))


def test_with_the_option_who_is_below_the_threshold_gives_way() -> None:
    """10 <= 100 for hotfix; 500 > 100, so patch waits."""
    assembled, lost = override()
    assert lost == [BY_IMPORTANCE]
    assert held(assembled.state) == {"serving": "10", "vision": "2"}


def test_with_a_higher_threshold_more_give_way() -> None:
    _, lost = override(("maxPriorityThreshold: 100", "maxPriorityThreshold: 500"))
    assert lost == [
        BY_IMPORTANCE,
        "vision/paper for serving/patch: InCohortReclaimWhileBorrowing",
    ]


def test_who_is_not_less_important_stays_whatever_the_threshold() -> None:
    _, lost = override(
        ("priority: 10\n", "priority: 1000\n"), ("Threshold: 100}", "Threshold: 1000}")
    )
    assert lost == ["vision/paper for serving/hotfix: InCohortReclaimWhileBorrowing"]


def test_nobody_loses_what_it_owns_to_importance() -> None:
    """Vision owns 4 of the 8 that were nobody's: sweep and paper are its own."""
    _, lost = override(
        ("nominalQuota: 0", "nominalQuota: 4"), ("nominalQuota: 8", "nominalQuota: 4")
    )
    assert lost == []


@pytest.mark.parametrize(
    ("files", "changes", "victim"),
    [
        (("world.yaml",), (), "train"),  # since 08:55, probe since 08:00
        (("world.yaml", "settings.yaml"), (), "probe"),  # 1 of 5 GPUs < 4 of 5
        # 3 of 5 each, so the time with quota decides
        (
            ("world.yaml", "settings.yaml"),
            (("Usage: {nvidia.com/gpu: 4}", USES_3), ("Usage: {nvidia.com/gpu: 1}", USES_3)),
            "train",
        ),
    ],
)
def test_the_smallest_gives_way_first_with_the_option(
    files: tuple[str, ...], changes: tuple[tuple[str, str], ...], victim: str
) -> None:
    lost = evictions(follow(read_text(changed(text_of(SMALLEST, files), *changes))))
    assert lost == [f"vision/{victim} for speech/digits: InCohortReclamation"]


def test_each_world_has_settings_of_its_own_option() -> None:
    options = {
        MIN_RUN_TIME: "minRunTime",
        DELAY: "preemptionDelay",
        COOLDOWN: "preemptionCooldown",
        OVERRIDE: "priorityOverride",
        SMALLEST: "preemptSmallestFirst",
    }
    assert {f"kueue-options/{folder.name}" for folder in (FOLDER / "kueue-options").iterdir()} == (
        set(options)
    )
    for world, option in options.items():
        assert f"\n    {option}: " in text_of(world, ("settings.yaml",))
