"""Whatever stands in a scenario file, it is told to be wrong or it can be made ready to run."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import read_documents
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.variant.prepare import prepare
from tests.manifest.value_strategies import as_json, values
from tests.scale_examples import scale_examples
from tests.shared_folder import ROOT

FILES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))


def documents() -> list[Any]:
    return [each.value for each in read_documents(map(str, FILES), Findings())]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping or list in *value* with each of its keys or places."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places(inner)


# Texts that mean something somewhere, so that more than the first check is passed.
near = st.sampled_from(
    [
        *(0, 1, -1, 2, 10**9, "0s", "1s", "1h", "100000h", "0", "1Gi", "kai", "vision", "gpu"),
        *([], {}, ["gpu"], {"gpu": 1}, {"uniform": {"atLeast": 1, "atMost": 2}}),
        *("forever", "a/b", "", "../x"),
    ]
)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(100), deadline=None)
@given(which=st.integers(0, len(FILES) - 1), changes=st.data())
def test_any_value_anywhere_is_read_or_refused(
    which: int, changes: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = deepcopy(documents()[which])
    for _ in range(changes.draw(st.integers(1, 2))):
        found = list(places(document))
        holder, key = found[changes.draw(st.integers(0, len(found) - 1))]
        holder[key] = deepcopy(changes.draw(near | values))  # a second change may be within it
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(as_json(document, is_ascii=True), encoding="utf-8")
    result = read_scenario(str(file))
    has_errors = any(each.severity == "error" for each in result.findings)
    assert (result.scenario is None) == has_errors
    if result.scenario is not None:
        for variant in result.scenario.variants:
            prepared = prepare(result.scenario, variant)
            assert prepared.rules.start_ms == result.scenario.spec.start_ms
