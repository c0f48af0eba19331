"""Random cases in the form of the recorded ones: the same question to the engine and to the text.

They are contended: nodes are small, quotas tight, and every pod asks for something scarce.
"""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

NAMESPACES = ("a", "b", "c", "free")
GPU = "nvidia.com/gpu"
LABELS: tuple[dict[str, str], ...] = ({}, {"team": "red"}, {"team": "blue"})


@st.composite
def requests(draw: st.DrawFn) -> dict[str, str]:
    """What a container asks for; a name may be there with 0."""
    found = {"cpu": draw(st.sampled_from(["1", "2", "500m", "0"]))}
    memory = draw(st.sampled_from([None, "1Gi", "2Gi"]))
    gpu = draw(st.sampled_from([None, None, "1", "2", "0"]))
    found |= {"memory": memory} if memory else {}
    return found | ({GPU: gpu} if gpu else {})


@st.composite
def limits(draw: st.DrawFn) -> dict[str, str]:
    """Entries of a min or a max, of which some are missing."""
    found = {}
    for resource, amounts in (
        ("cpu", ["2", "4", "1", "6"]),
        ("memory", ["8Gi", "8Gi", "2Gi"]),
        (GPU, ["1", "2", "4"]),
    ):
        if draw(st.sampled_from([True, True, True, False])):
            found[resource] = draw(st.sampled_from(amounts))
    return found


@st.composite
def pods(draw: st.DrawFn, name: str) -> Json:
    """A pod; some have sidecars, init containers or overhead, and some no start time."""
    pod: Json = {
        "name": name,
        "namespace": draw(st.sampled_from(NAMESPACES)),
        "priority": draw(st.sampled_from([0, 0, 1, 5])),
        "requests": draw(requests()),
        "labels": draw(st.sampled_from(LABELS)),
    }
    shape = draw(st.sampled_from("......sio"))
    if shape in "si":
        pod["containers"] = [{"requests": pod["requests"]}]
        pod["initContainers"] = [
            {"requests": draw(requests()), "sidecar": shape == "s"},
            {"requests": draw(requests())},
        ]
    if shape == "o":
        pod["overhead"] = {"cpu": "250m"}
    return pod


@st.composite
def cases(draw: st.DrawFn) -> Json:
    """Nodes, quotas, pods that run or are nominated, budgets, and the pod that is asked about."""
    nodes = [f"n{at}" for at in range(draw(st.integers(1, 3)))]
    running = [draw(pods(f"p{at}")) for at in range(draw(st.integers(1, 8)))]
    for pod in running:
        pod["node"] = draw(st.sampled_from(nodes))
        if draw(st.sampled_from([True, True, True, False])):
            pod["startTime"] = draw(st.sampled_from([100, 100, 200, 300]))
        if draw(st.sampled_from([False] * 6 + [True])):
            pod["terminating"] = True
    nominated = [draw(pods(f"m{at}")) for at in range(draw(st.sampled_from([0, 0, 1, 2])))]
    for pod in nominated:
        pod["nominatedNode"] = draw(st.sampled_from([*nodes, *nodes, "gone"]))
    incoming = draw(pods("new"))
    if draw(st.sampled_from([False] * 5 + [True])):
        incoming["nominatedNode"] = draw(st.sampled_from(nodes))
    if draw(st.sampled_from([False] * 15 + [True])):
        incoming["preemptionPolicy"] = "Never"
    return {
        "name": "random",
        "nodes": [
            {
                "name": name,
                "allocatable": {
                    "cpu": draw(st.sampled_from(["4", "2", "6", "8"])),
                    "memory": draw(st.sampled_from(["16Gi", "4Gi"])),
                    GPU: draw(st.sampled_from(["2", "4", "0"])),
                    "pods": draw(st.sampled_from(["12", "12", "3"])),
                },
            }
            for name in nodes
        ],
        "quotas": [
            {"namespace": namespace, "min": draw(limits()), "max": draw(st.none() | limits())}
            for namespace in NAMESPACES[:3]
            if draw(st.sampled_from([True, True, True, False]))
        ],
        "pods": running,
        "nominated": nominated,
        "pdbs": [
            {
                "name": "keep",
                "namespace": namespace,
                "selector": {"team": "red"},
                "disruptionsAllowed": draw(st.integers(0, 1)),
            }
            for namespace in NAMESPACES
            if draw(st.sampled_from([False, False, True]))
        ],
        "incoming": incoming,
    }
