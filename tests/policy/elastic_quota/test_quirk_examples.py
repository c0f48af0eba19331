"""Each quirk of the plugin by an example: what it does, what happens here, which switch it is."""

import re
from itertools import takewhile

import pytest
from msgspec.structs import replace

from fairlead.manifest.assembled import Assembled
from fairlead.model.plan import Wait
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import (
    AS_THE_PLUGIN,
    FAITHFUL,
    ElasticQuotaSettings,
    PluginQuirks,
)
from tests.examples.elastic_quota_world import FOLDER, NOW_MS, decisions, read

QUIRKS = PluginQuirks.__struct_fields__
OURS = ElasticQuotaSettings()
FINDINGS = {"max_core_zero": ["peer-differs"], "pool_all": ["unusable"]}
NEEDED_WITH = {"double_remove": ("bare_first_check",)}
"""Quirks that another one only follows from."""

PLUGIN = {
    "max_core_zero": ["wait vision/train: OverMax NobodyBorrows"],  # cpu 0 + 4 > 0
    # cpu 6 + 0 > 4, so it is taken for a pod beyond the min
    "scalar_if_asked": ["wait speech/decode: PoolExhausted BeyondMin"],
    "pool_all": [
        "evict vision/probe for speech/decode: MinTakenBack",  # fpga 1 + 0 > 0
        "reserve speech/decode on cpu-1 until vision/probe left: TakesBack",
    ],
    "below_min": [
        "evict vision/train for speech/decode: TakenBelowMin",  # 5 - 4 < 4
        "reserve speech/decode on gpu-1 until vision/train left: TakesBack",
    ],
    "bare_first_check": [
        "reserve speech/next on gpu-1 until vision/gone left: WaitsForLeaving",
        "evict speech/old for speech/late: PreemptedByPriority",  # in vain: 2 + 3 + 2 > 6
        "reserve speech/late on gpu-2 until speech/old left: Preempts",
    ],
    "double_remove": [
        "reserve speech/next on gpu-1 until vision/gone left: WaitsForLeaving",
        "wait speech/late: OverMax BeyondMin",  # with an error, see below
    ],
    "pdb_undercount": [
        "evict vision/answers for speech/decode: MinTakenBack",
        "reserve speech/decode on gpu-1 until vision/answers left: TakesBack",
    ],
    "own_charge": [
        "start web/shop-1: WithinMin",  # 1 <= 3, while the node is charged 2
        "start web/shop-2: WithinMin",  # 2 <= 3, and 4
        "start web/shop-3: WithinMin",  # 3 <= 3, and 6
        "wait batch/report: NoNodeFits NobodyBorrows",
    ],
    "leaving_counts": [
        "evict vision/train-2 for speech/decode: MinTakenBack",  # 3 > 2
        "reserve speech/decode on gpu-1 until vision/train-2 left: TakesBack",
    ],
    "promise_taken": [
        "start search/index: WithinMin",  # 0 + 2 <= 2
        "wait speech/decode: NoNodeFits NobodyBorrows",
    ],
    "start_in_vain": [
        "start vision/sweep: Borrows",  # 0 + 2 > 0, and 0 + 2 <= 2 of the pool
        "evict vision/sweep for speech/decode: MinTakenBack",  # 2 > 0
        "reserve speech/decode on gpu-1 until vision/sweep left: TakesBack",  # 0 + 2 <= 2
    ],
}

HERE = {
    "max_core_zero": ["start vision/train: WithinMin"],
    "scalar_if_asked": [
        "evict vision/train-2 for speech/decode: MinTakenBack",  # gpu 4 > 2
        "reserve speech/decode on gpu-1 until vision/train-2 left: TakesBack",  # gpu 0 + 2 <= 2
    ],
    "pool_all": ["start speech/decode: WithinMin"],  # cpu 0 + 2 <= 8
    "below_min": [
        "evict vision/notebook for speech/decode: MinTakenBack",  # 5 - 1 >= 4
        "reserve speech/decode on gpu-1 until vision/notebook left: TakesBack",
    ],
    "bare_first_check": [
        "reserve speech/next on gpu-1 until vision/gone left: WaitsForLeaving",
        "wait speech/late: OverMax BeyondMin",
    ],
    "double_remove": [
        "reserve speech/next on gpu-1 until vision/gone left: WaitsForLeaving",
        "wait speech/late: OverMax BeyondMin",
    ],
    "pdb_undercount": [
        "evict vision/sweep for speech/decode: MinTakenBack",
        "reserve speech/decode on gpu-2 until vision/sweep left: TakesBack",
    ],
    "own_charge": [
        "start web/shop-1: WithinMin",  # 2 <= 3
        "wait web/shop-2: OverMax BeyondMin",  # 2 + 2 > 3
        "wait web/shop-3: OverMax BeyondMin",
        "start batch/report: WithinMin",
    ],
    "leaving_counts": ["reserve speech/decode on gpu-1 until vision/first left: WaitsForLeaving"],
    "promise_taken": [
        "wait search/index: NoNodeFits NobodyBorrows",
        "start speech/decode: WithinMin",
    ],
    "start_in_vain": ["wait vision/sweep: WouldBeEvicted", "start speech/decode: WithinMin"],
}

each_quirk = pytest.mark.parametrize("quirk", QUIRKS)


def example(quirk: str) -> Assembled:
    file = f"elastic-quota-quirks/{quirk.replace('_', '-')}.yaml"
    return read(file, but=FINDINGS.get(quirk, ()))


def test_there_is_an_example_for_every_quirk_and_no_other() -> None:
    files = {file.stem for file in (FOLDER / "elastic-quota-quirks").iterdir()}
    assert files == {quirk.replace("_", "-") for quirk in QUIRKS}
    assert set(PLUGIN) == set(HERE) == set(QUIRKS)


@each_quirk
def test_the_plugin_does_what_the_page_says(quirk: str) -> None:
    assert decisions(example(quirk), FAITHFUL) == PLUGIN[quirk]


@each_quirk
def test_here_happens_what_the_page_says(quirk: str) -> None:
    assert decisions(example(quirk), OURS) == HERE[quirk]


@each_quirk
def test_the_switch_alone_brings_back_what_the_plugin_does(quirk: str) -> None:
    names = (quirk, *NEEDED_WITH.get(quirk, ()))
    quirks = PluginQuirks(**dict.fromkeys(names, True))
    assert decisions(example(quirk), replace(OURS, quirks=quirks)) == PLUGIN[quirk]


@pytest.mark.parametrize("quirk", [name for name in QUIRKS if name not in NEEDED_WITH])
def test_all_other_switches_do_not(quirk: str) -> None:
    others = replace(AS_THE_PLUGIN, **{quirk: False})
    assert decisions(example(quirk), replace(FAITHFUL, quirks=others)) != PLUGIN[quirk]


@pytest.mark.parametrize(
    ("settings", "says"),
    [(FAITHFUL, "fail by an error of the plugin"), (OURS, "give too little back even then")],
    ids=["plugin", "ours"],
)
def test_the_error_is_told_apart_from_a_refusal(settings: ElasticQuotaSettings, says: str) -> None:
    state = example("double_remove").state
    *_, wait = ElasticQuotaPolicy(settings).plan(state, NOW_MS).decisions
    assert isinstance(wait, Wait)
    said = {tally.what: tally.count for tally in wait.claims[0].reason.tallies}
    assert said == {says: 1, "have no candidates": 1}


def test_without_the_error_the_pod_is_evicted_in_vain() -> None:
    """Of speech, keep 2 + next 2 + late 3 > 6, even without old."""
    quirks = PluginQuirks(bare_first_check=True)
    assert decisions(example("double_remove"), replace(OURS, quirks=quirks)) == [
        "reserve speech/next on gpu-1 until vision/gone left: WaitsForLeaving",
        "evict speech/old for speech/late: PreemptedByPriority",
        "reserve speech/late on gpu-2 until speech/old left: Preempts",
    ]


@each_quirk
def test_the_story_in_the_file_names_the_switch(quirk: str) -> None:
    text = (FOLDER / "elastic-quota-quirks" / f"{quirk.replace('_', '-')}.yaml").read_text("utf-8")
    story = " ".join(takewhile(lambda line: line.startswith("#"), text.splitlines()))
    switch = re.sub(r"_(\w)", lambda match: match[1].upper(), quirk)
    assert story.startswith(f"# {switch}: ")
