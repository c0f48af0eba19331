from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.traces.read_rows import PackedRows
from fairlead.sim.traces.trace_job import CPU, GPU, TraceJob

OPTIONAL = st.none() | st.integers(0, 2**62)
ROWS = st.builds(
    TraceJob,
    id=st.text(max_size=5),
    submit_ms=st.integers(0, 5) | st.integers(0, 2**62),
    run_ms=OPTIONAL,
    user=st.sampled_from(["", "ann", "Zoë"]),
    asks=st.sampled_from([(), ((GPU, 460),), ((GPU, 8000), (CPU, 2**62))]),
    pods=st.integers(1, 4),
    priority=st.none() | st.integers(-(2**31), 2**31),
    asked_ms=OPTIONAL,
    wait_ms=OPTIONAL,
)


@given(rows=st.lists(ROWS, max_size=12))
def test_packed_rows_are_the_same_rows_sorted_and_ties_stay(rows: list[TraceJob]) -> None:
    """The plain version: a list of the rows, sorted."""
    packed = PackedRows()
    for row in rows:
        packed.add(row)
    assert len(packed) == len(rows)
    assert list(packed.in_order()) == sorted(rows, key=lambda row: row.submit_ms)
    if rows:
        assert packed.first_ms == min(row.submit_ms for row in rows)
