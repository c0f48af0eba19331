"""Marks by which runs of the same work are recognised: hashes of all that decides which jobs come.

Two files of one name can hold other work, and two that differ can hold the same. So a run keeps a
mark of each source of its work, made of what the source says after all settings, and of the lines
of its log if it is one. Rules, queues and nodes are left out: they are what runs are compared for.
Where a load is a part of the cluster, the cluster is part of what the source says.
"""

import json
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from fairlead.sim.results.about import WorkMarks
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.work_part import TraceWork, WorkPart
from fairlead.sim.traces.trace_lines import trace_lines

_LINES_AT_ONCE: Final = 1000


def work_marks(scenario: Scenario) -> WorkMarks:
    """Return the marks of *scenario*, with whose seed the same jobs come wherever they are equal.

    Same marks on every machine. Cost: reading each log once; raises `TraceError` if one is not
    there.
    """
    return WorkMarks(
        duration_ms=scenario.spec.duration_ms,
        sources={part.name: _mark(part) for part in scenario.work},
    )


def _mark(part: WorkPart) -> str:
    if isinstance(part, TraceWork):
        # Where a log lies changes nothing, nor whether it is gzipped.
        part = msgspec.structs.replace(part, path=_lines_mark(Path(part.path)))
    plain = msgspec.to_builtins(part, builtin_types=(Decimal,), str_keys=True, enc_hook=_exact)
    return sha256(json.dumps(plain, sort_keys=True, default=_exact).encode()).hexdigest()


def _lines_mark(path: Path) -> str:
    seen = sha256()
    lines = trace_lines(path)
    while some := list(islice(lines, _LINES_AT_ONCE)):
        some.append("")  # so that the last one has its end too
        seen.update("\n".join(some).encode("utf-8", errors="surrogatepass"))
    return seen.hexdigest()


def _exact(number: object) -> str:
    """Return a number such that 1.0 and 1 are the same."""
    assert isinstance(number, Decimal | Fraction)
    return str(Fraction(number))
