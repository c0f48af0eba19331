"""The scheduler that checks itself notices when its state is not what its objects say."""

import pytest

from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, Seen
from fairlead.manifest.text.values import Mapping
from tests.live.faults.checked import CheckedEngine


def _node(name: str, cpu: str = "4", version: str = "1") -> Mapping:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid of {name}", "resourceVersion": version},
        "status": {"allocatable": {"cpu": cpu}},
    }


@pytest.fixture
def engine() -> CheckedEngine:
    """Gives an engine that has seen two nodes."""
    engine = CheckedEngine("elastic-quota")
    engine.take([Seen(_node("n1")), Seen(_node("n2"))], 0)
    return engine


def test_a_state_that_agrees_with_its_objects_passes(engine: CheckedEngine) -> None:
    for now_ms in (0, 1000, 2000):
        assert engine.overdue(now_ms) == []


def test_a_state_that_differs_twice_in_a_row_is_a_defect(engine: CheckedEngine) -> None:
    engine._objects.popitem()
    engine.overdue(0)
    with pytest.raises(AssertionError, match="n2"):
        engine.overdue(1000)


def test_objects_that_change_and_go_are_followed(engine: CheckedEngine) -> None:
    engine.take([Seen(_node("n1", cpu="8", version="3")), Gone(_node("n2", version="2"))], 0)
    engine.take([Seen(_node("n1", cpu="4", version="2"))], 0)  # late: the newer one counts
    assert [each["status"] for each in engine._objects.values()] == [{"allocatable": {"cpu": "8"}}]


def test_what_is_not_listed_is_gone(engine: CheckedEngine) -> None:
    engine.take([Listed(("", "Node"), [_node("n2")], "5")], 0)
    assert set(engine._objects) == {"uid of n2"}
    for now_ms in (0, 1000):
        assert engine.overdue(now_ms) == []
