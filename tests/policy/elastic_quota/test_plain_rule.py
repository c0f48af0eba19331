"""The plain rule answers as recorded; with a quirk off, only what that quirk decides changes."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import NodeAnswer
from tests.conformance.elastic_quirks import FIXES
from tests.conformance.elastic_quota import Difference, compared, differing
from tests.policy.elastic_quota.plain_rule import plain_answer
from tests.text_table import rows

Json = dict[str, Any]

VECTORS = Path(__file__).parents[2] / "vectors"
KINDS = ["used", "admission", "fit", "accounting", "victims", "choice"]
CORE = {"cpu", "memory", "ephemeral-storage"}


def recorded(name: str) -> list[Json]:
    cases: list[Json] = json.loads((VECTORS / name).read_text(encoding="utf-8"))["cases"]
    return cases


@cache
def all_recorded() -> list[Json]:
    return recorded("elastic-quota-public.json") + recorded("elastic-quota-crafted.json")


@cache
def differing_with(name: str) -> list[Difference]:
    return differing(all_recorded(), FIXES[name].settings, plain_answer)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("elastic-quota-public.json", 400),
        ("elastic-quota-crafted.json", 31),
        ("late-elastic-quota.json", 3),
    ],
)
def test_every_recorded_answer_is_that_of_the_plain_rule(name: str, count: int) -> None:
    outcomes = [each for case in recorded(name) for each in compared(case, FAITHFUL, plain_answer)]
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
    assert [outcome.kind for outcome in outcomes] == KINDS * count


# How many of the 431 differ with one quirk off, and how many of these carry its tag.
DIFFERING = """
    fix                    differ  tagged
    max-core-zero          7       7
    scalar-if-asked        7       0
    pool-all               54      20
    below-min              32      32
    below-min,_protectMin  85      85
    bare-first-check       18      18
    double-remove          16      16
    pdb-undercount         5       5
    own-charge             55      0
    leaving-counts         90      0
    promise-taken          41      0
"""


@pytest.mark.parametrize("row", rows(DIFFERING), ids=lambda row: row["fix"])
def test_with_one_quirk_off_so_many_cases_differ(row: dict[str, str]) -> None:
    fix = FIXES[row["fix"].replace("_", " ")]
    found = differing_with(fix.name)
    tagged = [each for each in found if fix.tag in each.quirks]
    assert (len(found), len(tagged)) == (int(row["differ"]), int(row["tagged"]))


def asked(pod: Json) -> set[str]:
    containers = [pod, *pod.get("containers", ()), *pod.get("initContainers", ())]
    return {
        name
        for container in containers
        for name, text in container.get("requests", {}).items()
        if text != "0"
    }


def leaves_out_a_core_resource(case: Json) -> bool:
    return not asked(case["incoming"]) >= CORE


def is_beside_one_that_asks_for_something_else(case: Json) -> bool:
    others = [*case["nominated"], *case["pods"]]
    return any(asked(pod) != asked(case["incoming"]) for pod in others)


def has_a_sidecar(case: Json) -> bool:
    pods = [*case["pods"], *case["nominated"], case["incoming"]]
    return any(each.get("sidecar") for pod in pods for each in pod.get("initContainers", ()))


def has_somebody_nominated(case: Json) -> bool:
    return bool(case["nominated"])


def has_somebody_leaving_or_nominated(case: Json) -> bool:
    return any(pod.get("terminating") for pod in case["pods"]) or bool(case["nominated"])


@pytest.mark.parametrize(
    ("name", "is_explained"),
    [
        ("scalar-if-asked", leaves_out_a_core_resource),
        ("pool-all", is_beside_one_that_asks_for_something_else),
        ("own-charge", has_a_sidecar),
        ("leaving-counts", has_somebody_leaving_or_nominated),
        ("promise-taken", has_somebody_nominated),
    ],
)
def test_a_case_that_differs_without_the_tag_has_what_explains_it(
    name: str, is_explained: Callable[[Json], bool]
) -> None:
    fix = FIXES[name]
    untagged = {each.name for each in differing_with(name) if fix.tag not in each.quirks}
    assert untagged
    assert [
        c["name"] for c in all_recorded() if c["name"] in untagged and not is_explained(c)
    ] == []


def gpu_case(mins: str, pods: str, incoming: str, nominated_node: str | None = None) -> Json:
    """Nodes n0 and n1 of 4 GPUs; *mins* such as "a4 b4", no max; *incoming* such as "a 2"."""
    namespace, gpus = incoming.split()
    new = {"name": "new", "namespace": namespace, "priority": 0, "requests": _gpus(gpus)}
    return {
        "name": "worked",
        "nodes": [{"name": node, "allocatable": {**_gpus("4"), "pods": "9"}} for node in NODES],
        "quotas": [
            {"namespace": each[0], "min": _gpus(each[1:]), "max": None} for each in mins.split()
        ],
        "pods": [
            {
                "name": row["pod"][1:],
                "namespace": row["pod"][0],
                "priority": int(row["priority"]),
                "requests": _gpus(row["gpus"]),
                "node": row["node"],
                "startTime": 0,
                "terminating": row["leaving"] == "yes",
            }
            for row in rows(pods)
        ],
        "nominated": [],
        "pdbs": [],
        "incoming": new if nominated_node is None else {**new, "nominatedNode": nominated_node},
    }


NODES = ("n0", "n1")


def _gpus(count: str) -> dict[str, str]:
    return {"nvidia.com/gpu": count}


def without(*quirks: str, protect_min: bool = False) -> ElasticQuotaSettings:
    off = msgspec.structs.replace(FAITHFUL.quirks, **dict.fromkeys(quirks, False))
    return msgspec.structs.replace(FAITHFUL, quirks=off, protect_min=protect_min)


# b uses 8 of its min of 4, so the pool of 8 is used up; a asks for 2 within its min of 4. 2 are
# about to be free on n1: with 6 used, 6 + 2 = 8 <= 8, and there is room.
ONE_IS_LEAVING = """
    pod  gpus  priority  node  leaving
    b0   4     0         n0    no
    b1   2     0         n1    no
    b2   2     0         n1    yes
"""


def test_the_plugin_takes_more_while_somebody_leaves_anyway() -> None:
    claim = plain_answer(gpu_case("a4 b4", ONE_IS_LEAVING, "a 2"), FAITHFUL).claim
    assert claim is not None
    assert claim.nodes == {
        "n0": NodeAnswer(outcome="victims", victims=("b/0",)),
        "n1": NodeAnswer(outcome="victims", victims=("b/2",)),
    }


def test_who_leaves_counts_as_gone_and_nobody_else_is_driven_out() -> None:
    claim = plain_answer(gpu_case("a4 b4", ONE_IS_LEAVING, "a 2"), without("leaving_counts")).claim
    assert claim is not None
    assert claim.nodes == {
        "n0": NodeAnswer(outcome="victims", victims=("b/0",)),
        "n1": NodeAnswer(outcome="no-victim-needed"),
    }
    assert (claim.code, claim.chosen, claim.deleted) == ("Success", "n1", ())


def test_one_that_waits_for_a_place_that_becomes_free_goes_on_waiting() -> None:
    case = gpu_case("a4 b4", ONE_IS_LEAVING, "a 2", nominated_node="n1")
    claim = plain_answer(case, without("leaving_counts")).claim
    assert claim is not None
    assert claim.why_not_eligible == "terminating-pod-on-nominated-node"


def test_one_that_waits_for_too_little_may_look_again() -> None:
    """It needs 4 on n1, where 2 leave and 2 stay; the plugin has it wait for nothing."""
    case = gpu_case("a4 b4", ONE_IS_LEAVING, "a 4", nominated_node="n1")
    waiting = plain_answer(case, FAITHFUL).claim
    assert waiting is not None
    assert waiting.why_not_eligible == "terminating-pod-on-nominated-node"
    claim = plain_answer(case, without("leaving_counts")).claim
    assert claim is not None
    assert claim.why_not_eligible is None
    assert claim.nodes["n1"] == NodeAnswer(outcome="victims", victims=("b/1",))


# b uses 8, 1 over its min of 7: the pod of 4 takes it to 4, that of 1 to 7.
ONE_FITS_THE_SURPLUS = """
    pod  gpus  priority  node  leaving
    b0   4     0         n0    no
    b1   3     5         n1    no
    b2   1     5         n1    no
"""


def test_the_plugin_takes_the_least_important_though_its_quota_falls_below_min() -> None:
    claim = plain_answer(gpu_case("a1 b7", ONE_FITS_THE_SURPLUS, "a 1"), FAITHFUL).claim
    assert claim is not None
    assert (claim.chosen, claim.deleted) == ("n0", ("b/0",))


def test_one_that_leaves_its_quota_at_min_is_preferred() -> None:
    settings = without("below_min")
    claim = plain_answer(gpu_case("a1 b7", ONE_FITS_THE_SURPLUS, "a 1"), settings).claim
    assert claim is not None
    assert claim.nodes == {
        "n0": NodeAnswer(outcome="no-victims"),
        "n1": NodeAnswer(outcome="victims", victims=("b/2",)),
    }


@pytest.mark.parametrize(("protect_min", "code"), [(False, "Success"), (True, "Unschedulable")])
def test_where_every_victim_takes_its_quota_below_min_a_setting_decides(
    protect_min: bool, code: str
) -> None:
    """2 more GPUs than the one to spare are asked for: only b0, or b1 and b2, make room."""
    settings = without("below_min", protect_min=protect_min)
    claim = plain_answer(gpu_case("a3 b7", ONE_FITS_THE_SURPLUS, "a 3"), settings).claim
    assert claim is not None
    assert claim.code == code


def test_a_sidecar_is_charged_beside_the_container_unless_as_the_plugin_does() -> None:
    """The container asks 2, its sidecar 1: the plugin takes max(2, 1), the node 2 + 1."""
    case = gpu_case("a9", "pod gpus priority node leaving\na0 0 0 n0 no", "a 1")
    case["pods"][0] |= {
        "containers": [{"requests": _gpus("2")}],
        "initContainers": [{"requests": _gpus("1"), "sidecar": True}],
    }
    assert plain_answer(case, FAITHFUL).used == {"a": {"nvidia.com/gpu": 2}}
    assert plain_answer(case, without("own_charge")).used == {"a": {"nvidia.com/gpu": 3}}
