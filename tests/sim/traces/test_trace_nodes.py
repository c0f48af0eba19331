from pathlib import Path

import msgspec
import pytest

from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY, TraceError
from fairlead.sim.traces.trace_nodes import TraceNode, read_trace_nodes
from tests.shared_folder import shared_file
from tests.sim.traces.trace_files import written

HEAD = "sn,cpu_milli,memory_mib,gpu,model"


def test_machines_are_read_in_base_units(tmp_path: Path) -> None:
    file = written(tmp_path, f"{HEAD}\nn0,32000,262144,0,\nn1,96000,3,8,V100\n", "nodes.csv.gz")
    assert read_trace_nodes(file) == [
        TraceNode(name="n0", capacity={CPU: 32_000, MEMORY: 256 * 2**30, GPU: 0}),
        TraceNode(
            name="n1", capacity={CPU: 96_000, MEMORY: 3 * 2**20, GPU: 8000}, gpu_model="V100"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "found no column sn, cpu_milli, memory_mib, gpu, model"),
        (f"{HEAD}\n", "found no node"),
        ("sn,cpu_milli,gpu,model\n", "found no column memory_mib"),
        (f"{HEAD}\nn0,1,1,0,\nn1,1,1,x,\n", "nodes.csv:3: found 'x', expected a whole number"),
        (f"{HEAD}\nn0,1,1,-1,\n", "nodes.csv:2: found -1 in gpu"),
        (f"{HEAD}\nn0,1,1\n", "nodes.csv:2: found 3 cells, expected 5"),
        (f"{HEAD}\n,1,1,1,\n", "nodes.csv:2: found no name"),
        (f"{HEAD}\nn0,1,1,1,\nn0,1,1,1,\n", "nodes.csv:3: found the node n0 for the second time"),
    ],
)
def test_a_list_with_a_broken_row_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = written(tmp_path, text, "nodes.csv")
    with pytest.raises(TraceError, match=complaint):
        read_trace_nodes(file)


def test_the_published_cluster_has_as_many_nodes_and_gpus_as_published() -> None:
    """125,514 cpus are told beside the trace, and 583.7 TiB."""
    published = msgspec.json.decode(shared_file("vectors/published-results.json").read_bytes())
    [entry] = [entry for entry in published["entries"] if entry["id"] == "trace-openb"]
    nodes = read_trace_nodes(shared_file(f"traces/{entry['input']['file']}.csv.gz"))
    totals = {name: sum(node.capacity[name] for node in nodes) for name in (CPU, MEMORY, GPU)}
    assert {"nodes": len(nodes), "gpus": totals[GPU] // 1000} == entry["expected"]
    assert totals[CPU] == 125_514_000
    assert round(totals[MEMORY] / 2**40, 1) == 583.7
