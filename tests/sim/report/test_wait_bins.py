from fairlead.sim.report.make_report import EDGES_MS, WaitCounter


def test_a_wait_counts_for_its_queue_and_for_all_above() -> None:
    """Places: 0 is the top, 1 and 2 are beneath it. 999 ms is below the first edge, 1 s is not."""
    counter = WaitCounter({"top": 0, "a": 1, "b": 2}, {0: None, 1: 0, 2: 0})
    counter.add("a", 0)
    counter.add("a", 999)
    counter.add("b", 1000)
    counter.add("elsewhere", 10**12)
    bins = {place: each.counts for place, each in counter.bins().items()}
    assert [bins["1"][0], bins["2"][1]] == [2, 1]
    assert bins["0"][:2] == [2, 1]
    assert (bins[""][:2], bins[""][-1]) == ([2, 1], 1)
    assert {sum(counts) for counts in (bins["1"], bins["2"], bins["0"], bins[""])} == {2, 1, 3, 4}


def test_edges_rise() -> None:
    assert list(EDGES_MS) == sorted(set(EDGES_MS))
