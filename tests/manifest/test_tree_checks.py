"""Cycles, orphans and doubles, on trees written as `child < parent`."""

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.tree_checks import cycles, orphans, refuse_cycles, refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Source, read_bytes
from fairlead.manifest.text.path import Path


class Item(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    name: str
    parent: str = ""


def tree(text: str) -> list[Item]:
    """Read `a < b` as a below b, and a lone name as one at the top, each on its own line."""
    manifests = []
    for word in text.split(","):
        name, _, parent = (part.strip() for part in word.partition("<"))
        manifests.append(f"{{metadata: {{name: {name}}}, spec: {{parentQueue: '{parent}'}}}}")
    documents = read_bytes("\n---\n".join(manifests).encode(), "tree.yaml", Findings())
    values: list[Any] = [each.value for each in documents]
    return [
        Item(
            source=each.source,
            name=str(value["metadata"]["name"]),
            parent=str(value["spec"]["parentQueue"]),
        )
        for each, value in zip(documents, values, strict=True)
    ]


def parent_path(_: Item) -> Path:
    return ("spec", "parentQueue")


def names(groups: Sequence[Sequence[Item]]) -> list[str]:
    return [" ".join(each.name for each in group) for group in groups]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b < a, c < b", []),
        ("a < a", ["a"]),
        ("b < a, a < b", ["a b"]),
        ("c < a, a < b, b < c", ["a b c"]),
        ("tail < b, b < a, a < b", ["a b"]),  # what only hangs below is no member
        ("d < c, c < d, b < a, a < b", ["a b", "c d"]),
        ("a < gone, b < a", []),
    ],
)
def test_cycles_are_found_once_from_the_smallest_name(text: str, expected: list[str]) -> None:
    assert names(cycles(tree(text))) == expected


def test_a_cycle_is_told_once_at_its_smallest_name() -> None:
    findings = Findings()
    items = tree("b < a, a < b, c < a, e < d, d < e, f < e")
    assert refuse_cycles(items, "Queue", parent_path, findings)
    assert [(each.line, each.code, each.path) for each in findings] == [
        (3, "cycle", "$.spec.parentQueue"),
        (9, "cycle", "$.spec.parentQueue"),
    ]
    assert [each.message.partition(": ")[2] for each in findings] == [
        '"a" -> "b" -> "a"',
        '"d" -> "e" -> "d"',
    ]


def test_a_tree_without_cycles_is_told_nothing() -> None:
    findings = Findings()
    assert not refuse_cycles(tree("a, b < a"), "Queue", parent_path, findings)
    assert len(findings) == 0


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (1, '"n00" -> "n00"'),
        (10, " -> ".join([f'"n{at:02d}"' for at in range(10)] + ['"n00"'])),
        (11, " -> ".join([f'"n{at:02d}"' for at in range(9)] + ["... (11 in all)", '"n00"'])),
    ],
)
def test_a_long_cycle_is_cut_in_the_message(length: int, expected: str) -> None:
    ring = ", ".join(f"n{at:02d} < n{(at + 1) % length:02d}" for at in range(length))
    findings = Findings()
    refuse_cycles(tree(ring), "Queue", parent_path, findings)
    (found,) = findings
    assert found.message == f"found a Queue that is its own ancestor: {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b < a", []),
        ("b < a", ["b"]),
        ("b < gone, d < c, c < b, a", ["b c d"]),
        ("z < gone, b < other", ["b", "z"]),
        ("a < b, b < a", []),
    ],
)
def test_orphans_come_with_everything_below_them(text: str, expected: list[str]) -> None:
    assert names(orphans(tree(text))) == expected


def test_a_double_is_refused_with_both_places_and_the_first_is_kept() -> None:
    findings = Findings()
    items = tree("a, b, a < b")
    kept = refuse_duplicates(items, lambda each: each.name, "Queue", findings)
    assert kept == items[:2]
    (found,) = findings
    assert (found.severity, found.code, found.line) == ("error", "duplicate-object", 5)
    assert found.message.startswith('found the Queue "a" a second time')
    assert found.message.endswith("the first is at tree.yaml:1")


def test_both_places_of_a_double_are_those_of_its_name() -> None:
    findings = Findings()
    text = "# head\n---\nkind: Queue\nmetadata:\n  name: a\n" * 2
    items = [
        Item(source=each.source, name="a") for each in read_bytes(text.encode(), "x.yaml", findings)
    ]
    refuse_duplicates(items, lambda each: each.name, "Queue", findings)
    (found,) = findings
    assert found.line == 10
    assert found.message.endswith("the first is at x.yaml:5")


@given(
    parents=st.lists(st.integers(-2, 7), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_every_object_is_rooted_orphaned_or_above_all_in_or_below_a_cycle(
    parents: list[int], order: Random
) -> None:
    """Plain reference: walk up n steps. Order of listing changes nothing."""
    source = read_bytes(b"{a: 1}", "x", Findings())[0].source
    label = {-2: "gone", -1: ""} | {at: f"n{at}" for at in range(8)}
    items = [Item(source=source, name=f"n{at}", parent=label[up]) for at, up in enumerate(parents)]
    above = {each.name: each.parent for each in items}

    def walk(name: str) -> list[str]:
        steps = [name]
        while steps[-1] in above and len(steps) <= 2 * len(items):
            steps.append(above[steps[-1]])
        return steps

    shuffled = list(items)
    order.shuffle(shuffled)
    in_cycle = {each.name for cycle in cycles(shuffled) for each in cycle}
    assert in_cycle == {name for name in above if name in walk(name)[1:]}
    lost = {each.name for group in orphans(shuffled) for each in group}
    assert lost == {name for name in above if walk(name)[-1] not in above and walk(name)[-1] != ""}
    assert names(cycles(shuffled)) == names(cycles(items))
    assert names(orphans(shuffled)) == names(orphans(items))
