"""The line of any path can be found, in YAML and in JSON."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml.nodes import Node

from fairlead.manifest.text.json_documents import compose_json
from fairlead.manifest.text.locate import JsonLocator, Locator
from fairlead.manifest.text.path import path_text
from fairlead.manifest.text.values import Mapping, Value
from fairlead.model.collector import paused_collector
from tests.manifest.reading import read
from tests.manifest.value_strategies import mappings

LOCATED = """\
spec:                        # 1
  base: &base                # 2
    quota: 1                 # 3
    limit: 2                 # 4
  list:                      # 5
  - name: x                  # 6
    resources: {gpu: 1,      # 7
                cpu: 2}      # 8
  - y                        # 9
  same: *base                # 10
  merged:                    # 11
    <<: *base                # 12
    limit: 5                 # 13
"""

PLACES = """
    $.spec                        1
    $.spec.base                   2
    $.spec.base.limit             4
    $.spec.list                   5
    $.spec.list[0]                6
    $.spec.list[0].resources      7
    $.spec.list[0].resources.cpu  8
    $.spec.list[1]                9
    $.spec.same                   10
    $.spec.same.quota             3
    $.spec.merged.limit           13
    $.spec.merged.quota           3
    $.spec.list[0].missing        6
    $.spec.list[0].missing.too    6
    $.spec.list[7]                5
    $.spec.list.name              5
    $.spec.base[0]                2
    $.missing                     1
"""


def parsed(path: str) -> tuple[str | int, ...]:
    """Take a path text of plain words apart."""
    steps = path[1:].replace("[", ".#").replace("]", "").split(".")[1:]
    return tuple(int(step[1:]) if step.startswith("#") else step for step in steps)


@pytest.mark.parametrize("row", PLACES.strip().splitlines())
def test_the_line_of_any_path_can_be_found(row: str) -> None:
    path, line = row.split()
    found, _ = read("# head\n---\n" + LOCATED)
    assert path_text(parsed(path)) == path
    assert found[0].source.locate(parsed(path)) == int(line) + 2


def test_the_line_of_any_path_can_be_found_in_json() -> None:
    text = '\n{"a": {\n"b": [1,\n{"c":\n2}],\n"d \\" e": 3}}'
    found, _ = read(text, "x.json")
    source = found[0].source
    paths = [(), ("a",), ("a", "b"), ("a", "b", 0), ("a", "b", 1), ("a", "b", 1, "c")]
    assert [source.locate(path) for path in paths] == [2, 2, 3, 3, 4, 4]
    assert source.locate(("a", 'd " e')) == 6


def test_lines_can_be_asked_for_in_a_document_with_circular_merges() -> None:
    found, _ = read("a: &a {<<: &b {<<: *a, c: 1}}\n")
    assert found[0].source.locate(("a", "missing")) == 1


def paths_in(value: Value, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """List the paths of a value and of all below it, and one beside each that leads nowhere."""
    children: list[tuple[str | int, Value]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    below = [each for step, child in children for each in paths_in(child, (*path, step))]
    return [path, (*path, "nowhere"), (*path, 99), *below]


@given(value=mappings, indent=st.sampled_from([None, 0, 2]))
def test_the_quick_way_to_a_line_in_json_equals_the_plain_one(
    value: Mapping, indent: int | None
) -> None:
    text = "\n" + json.dumps(value, default=str, indent=indent)
    quick, plain = JsonLocator(text), Locator(compose_json(text))
    for path in paths_in(value):
        assert quick.line_of(path) == plain.line_of(path)


def test_a_line_can_be_found_beside_a_number_of_any_size() -> None:
    found, _ = read('{"a": ' + "9" * 5000 + ',\n"b": 1}')
    assert found[0].source.locate(("b",)) == 2


def test_a_line_that_was_looked_up_leaves_no_nodes_behind() -> None:
    """Whoever finds something in each of ten thousand pods would keep the nodes of all of them."""
    gc.collect()
    with paused_collector():
        found, _ = read(LOCATED)
        assert found[0].source.locate(("spec", "merged")) == 11
        left = [each for each in gc.get_objects() if isinstance(each, Node)]
    assert left == []
