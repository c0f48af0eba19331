"""The page about measures knows every one of them, under the name that it has in a summary."""

import re
from collections.abc import Iterator

from fairlead.sim.measures.summary import Summary
from tests.shared_folder import ROOT
from tests.sim.measures.histories import measure

PAGE = ROOT / "docs/reference/measures.md"


def field_names(value: object) -> Iterator[str]:
    """All names of fields in a summary; those of queues and resources are no fields."""
    if isinstance(value, dict):
        for each in value.values():
            yield from field_names(each)
    for name in getattr(value, "__struct_fields__", ()):
        yield name
        yield from field_names(getattr(value, name))


def measures_in(summary: Summary) -> set[str]:
    return {*field_names(summary.of_cluster), *field_names(summary.of_queues)}


def test_every_measure_is_on_the_page() -> None:
    summary, _ = measure([], 0, resources=("gpu",), parents={"a": None})
    names = measures_in(summary)
    assert {"p99_ms", "never_fair", "jain"} < names
    words = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert names - words == set()
