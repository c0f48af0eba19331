"""The Grafana board and the page about metrics speak of what is exported, and of nothing else."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.cluster.kubernetes.reporting.writer import ReportCounts
from fairlead.cluster.kubernetes.shadow.comparison import Comparison
from fairlead.store.metrics.family import Histogram, input_errors_family, usage_store_families
from fairlead.store.metrics.registry import state_families
from fairlead.web.live_metrics import LiveMetrics
from fairlead.web.shadow_metrics import shadow_families
from tests.manifest.reading import load_or_raise
from tests.shared_folder import ROOT

BOARD = ROOT / "docs" / "grafana" / "fairlead-usage.json"
PAGE = ROOT / "docs" / "reference" / "metrics.md"
# One with history, and one of each of the others; the Kueue example has fair sharing on.
WORLDS = ("examples/share-simulation", "examples/kueue", "examples/elastic-quota")

TEXT = re.compile(r'"[^"]*"')
MATCHERS = re.compile(r"\{[^}]*\}")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\([^)]*\)")
FUNCTION = re.compile(r"\b[a-z_]+\s*\(")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def exported() -> dict[str, frozenset[str]]:
    """Return every name that is exported, with its labels."""
    families = [*usage_store_families(age_ms=0, is_degraded=False), input_errors_family(0)]
    for world in WORLDS:
        assembled = load_or_raise([str(ROOT / world)])
        families += state_families(assembled.state, assembled.settings, None)
    assert all(family.samples for family in families)
    exported = {family.name: frozenset(family.labels) for family in families}
    live = LiveMetrics(is_leader=lambda: True, awaited=list, reports=ReportCounts())
    for each in (*live.families(), *shadow_families(Comparison())):
        labels = {"le"} if isinstance(each, Histogram) else each.labels
        exported[each.name] = frozenset(labels)
    return exported


EXPORTED = exported()


def names_in(expression: str) -> set[str]:
    """Return the names of metrics in a PromQL expression: what is no text, label or function."""
    plain = expression
    for pattern in (TEXT, MATCHERS, GROUPING, FUNCTION):
        plain = pattern.sub(" ", plain)
    return set(NAME.findall(plain))


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in board["panels"]:
        yield panel
        yield from panel.get("panels", ())


def board() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(BOARD.read_text(encoding="utf-8"))
    return document


def targets() -> list[dict[str, Any]]:
    return [target for panel in panels(board()) for target in panel.get("targets", ())]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("a_b", {"a_b"}),
        ('max(a{x="c"}) / sum by (d, e) (f)', {"a", "f"}),
        ("rate(a[5m]) - on(b) c", {"a", "m", "c"}),
        ('label_values(a{x=~"$y"}, z)', {"a", "z"}),
    ],
)
def test_the_names_of_an_expression_are_found(expression: str, names: set[str]) -> None:
    assert names_in(expression) == names


def test_every_expression_of_the_board_names_what_is_exported() -> None:
    found = {target["expr"]: names_in(target["expr"]) for target in targets()}
    assert len(found) >= 15
    assert {
        expr: names - set(EXPORTED) for expr, names in found.items() if names - set(EXPORTED)
    } == {}
    assert all(found.values())


def test_legends_show_labels_that_the_metric_has() -> None:
    for target in targets():
        (name,) = names_in(target["expr"])
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert shown <= EXPORTED[name], target


def test_matchers_ask_for_labels_that_the_metric_has() -> None:
    for target in targets():
        (name,) = names_in(target["expr"])
        for matchers in MATCHERS.findall(target["expr"]):
            assert set(re.findall(r"(\w+)\s*=", matchers)) <= EXPORTED[name], target


def test_the_choices_of_the_board_come_from_metrics_that_have_the_label() -> None:
    variables = {each["name"]: each for each in board()["templating"]["list"]}
    assert variables.pop("datasource")["query"] == "prometheus"
    assert variables
    for each in variables.values():
        call = re.fullmatch(r"label_values\((\w+), (\w+)\)", each["definition"])
        assert call is not None, each
        assert call[2] in EXPORTED[call[1]]


def test_the_board_asks_the_data_source_that_the_user_chose() -> None:
    shown = [panel for panel in panels(board()) if panel["type"] != "row"]
    assert len(shown) >= 10
    assert {panel["datasource"]["uid"] for panel in shown} == {"${datasource}"}
    assert {target["datasource"]["uid"] for target in targets()} == {"${datasource}"}


def test_no_two_panels_have_one_number_or_one_place() -> None:
    numbers = [panel["id"] for panel in panels(board())]
    assert len(set(numbers)) == len(numbers)
    for group in (
        board()["panels"],
        *(panel["panels"] for panel in panels(board()) if panel.get("panels")),
    ):
        cells = [
            (x, y)
            for place in (panel["gridPos"] for panel in group)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert len(set(cells)) == len(cells)
        assert max(x for x, _ in cells) < 24


def test_the_page_lists_every_metric_and_no_other() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(EXPORTED)
