"""The campaign tries everything in turns, and fails if a fault was never delivered."""

import random
from itertools import product
from pathlib import Path

from tests.live.faults.campaign import Campaign, Runner, in_turns, run_until_delivered
from tests.live.faults.fault import Fault, Kind
from tests.live.faults.worlds import FULL_NODES
from tests.live.faults.writes import Write
from tools.k8s.cluster import Cluster

WRITES = [
    *(Write("bind", f"pods a/{group}", number) for group in "xyz" for number in range(1, 9)),
    Write("evict", "pods a/x", 1),
    Write("status", "pods a/x", 1),
    Write("status", "elasticquotas a/quota", 1),
]
KINDS = (Kind.CONFLICT, Kind.CUT_AFTER)
PAIRS = [("world", Fault(write, kind)) for write, kind in product(WRITES, KINDS)]


def test_every_fault_comes_once() -> None:
    assert sorted(in_turns(PAIRS, random.Random(1))) == sorted(PAIRS)


def test_rare_writes_meet_each_kind_of_fault_before_frequent_ones_do_twice() -> None:
    first = list(in_turns(PAIRS, random.Random(1)))[:8]  # 4 sorts of write, 2 kinds of fault
    sorts = {(fault.write.verb, fault.write.subject.split()[0], fault.kind) for _, fault in first}
    assert len(sorts) == 8


def test_a_seed_chooses_the_same_faults_again_and_another_one_others() -> None:
    one, again, other = (list(in_turns(PAIRS, random.Random(seed)))[:9] for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_the_summary_says_how_many_of_how_many_were_run() -> None:
    campaign = Campaign(pairs=PAIRS, run=PAIRS[:3], problems=["one"])
    assert campaign.summary().startswith("3 of 54 faults were run, at 27 writes")
    assert "with 1 of them something was wrong" in campaign.summary()


def test_a_fault_at_a_write_that_never_comes_is_wrong(cluster: Cluster, tmp_path: Path) -> None:
    fault = Fault(Write("bind", "pods a/nothing", 1), Kind.CONFLICT)
    found = run_until_delivered(Runner(cluster, tmp_path), FULL_NODES, fault)
    assert found == ["it was never delivered, in 3 runs"]


def test_where_the_nth_write_does_not_come_an_earlier_one_fails(
    cluster: Cluster, tmp_path: Path
) -> None:
    fault = Fault(Write("status", "pods b/late", 5), Kind.BROKEN)  # there is one pod, that waits
    assert run_until_delivered(Runner(cluster, tmp_path), FULL_NODES, fault) == []
