"""The examples of the page on preemption across nodes."""

import pytest

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.examples.elastic_quota_world import FOLDER, decisions, follow, read, read_text, running
from tests.text_table import rows

CROSS_NODE = "elastic-quota-cross-node"
LEAST_HARM = f"{CROSS_NODE}/least-harm.yaml"


def test_a_gang_gets_places_on_two_nodes_together() -> None:
    """2 + 4 = 6 of speech's min of 6; only gpu-1 has 4, and gpu-2 has the other 2."""
    assembled = read(f"{CROSS_NODE}/gang.yaml")
    *evicted, reserved = decisions(assembled)
    assert evicted == [
        f"evict vision/sweep-{number} for speech/podgroup/train: MinTakenBack"
        for number in (1, 2, 3)
    ]
    assert reserved.startswith("reserve speech/podgroup/train on ")
    follow(assembled)
    assert running(assembled.state) == {"speech/podgroup/train": "gpu-1,gpu-2"}


def test_one_after_the_other_its_pods_are_in_each_other_s_way() -> None:
    gang = f"{CROSS_NODE}/gang.yaml"
    waits = ["wait speech/podgroup/train: PoolExhausted NoRoomWithVictims"]
    assert decisions(read(gang), FAITHFUL) == waits
    assert decisions(read(gang, f"{CROSS_NODE}/one-node-settings.yaml")) == waits


HARM = """
    without                   two-leave
    -                         short,middle
    short                     middle,long
    short,middle              long,paid
    short,middle,long         paid,store
    paid,short,middle         long,store
"""


@pytest.mark.parametrize("row", rows(HARM), ids=lambda row: row["without"])
def test_two_pods_leave_that_do_the_least_harm(row: dict[str, str]) -> None:
    """A budget first, then importance, then work: 0.5 h + 2 h < 0.5 h + 7 h < 2 h + 7 h.

    Who is missing is at home in another namespace then, so that 5 of 5 are in use all the same.
    """
    text = (FOLDER / LEAST_HARM).read_text("utf-8")
    for name in row["without"].split(","):
        text = text.replace(
            f"namespace: batch\n  name: {name}\n", f"namespace: own\n  name: {name}\n"
        )
    if row["without"] != "-":
        count = len(row["without"].split(","))
        text = text.replace("min: {cpu: 3}", f"min: {{cpu: {3 - count}}}") + quota("own", count)
    found = decisions(read_text(text))
    victims = {line.split()[1] for line in found if line.startswith("evict ")}
    assert victims == {f"batch/{name}" for name in row["two-leave"].split(",")}


def quota(namespace: str, cpu: int) -> str:
    return f"""---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {{namespace: {namespace}, name: quota}}
spec:
  min: {{cpu: {cpu}}}
"""


def test_no_node_alone_is_enough() -> None:
    waits = ["wait service/api: PoolExhausted NoRoomWithVictims"]
    one_node = ElasticQuotaSettings(cross_node_preemption=False)
    assert decisions(read(LEAST_HARM), FAITHFUL) == waits
    assert decisions(read(LEAST_HARM), one_node) == waits


def test_a_min_may_be_broken_for_another_unless_it_is_protected() -> None:
    """5 - 5 = 0 of vision's 4, for 5 + 1 = 6 of speech's 6."""
    world = f"{CROSS_NODE}/protect-min.yaml"
    assert decisions(read(world)) == [
        "evict vision/train for speech/decode: TakenBelowMin",
        "reserve speech/decode on gpu-1 until vision/train left: TakesBack",
    ]
    protected = read(world, f"{CROSS_NODE}/protect-min-settings.yaml")
    assert decisions(protected) == ["wait speech/decode: PoolExhausted NoRoomWithVictims"]
