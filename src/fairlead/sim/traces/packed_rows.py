"""The rows of a whole trace in little memory, given back in the order in which the jobs came.

A log need not be sorted, and whether it is usable is known at its end only. So all rows must be
kept, as bytes in one piece of memory: some 110 bytes for a row that takes 600 as an object.
"""

from array import array
from collections.abc import Iterator

import msgspec

from fairlead.sim.traces.trace_job import TraceJob


class PackedRows:
    """Rows that were added, of which one at a time becomes an object again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._packed = bytearray()
        self._ends = array("q", [0])  # where each row ends in the bytes, and the next begins
        self._submit_ms = array("q")
        self._is_sorted = True
        self._encoder = msgspec.msgpack.Encoder()

    def __len__(self) -> int:
        return len(self._submit_ms)

    @property
    def first_ms(self) -> int:
        """When the first job came, on the clock of the trace; there must be one."""
        return min(self._submit_ms)

    def add(self, row: TraceJob) -> None:
        """Keep a row."""
        if self._submit_ms and row.submit_ms < self._submit_ms[-1]:
            self._is_sorted = False
        self._submit_ms.append(row.submit_ms)
        self._encoder.encode_into(row, self._packed, -1)
        self._ends.append(len(self._packed))

    def in_order(self) -> Iterator[TraceJob]:
        """Yield the rows by when the jobs came; those of one moment as they were added.

        Cost: O(n) if they were added in that order, else O(n log n).
        """
        places: range | list[int] = range(len(self))
        if not self._is_sorted:
            places = sorted(places, key=self._submit_ms.__getitem__)
        decode = msgspec.msgpack.Decoder(TraceJob).decode
        packed = memoryview(self._packed)
        for place in places:
            yield decode(packed[self._ends[place] : self._ends[place + 1]])
