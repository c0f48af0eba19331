"""Garbage is looked for rarely while time passes, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from fairlead.model.collector import NEW_OBJECTS, rare_collections


@pytest.fixture(autouse=True)
def _thresholds_of_this_process() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "within"),
    [
        pytest.param(700, NEW_OBJECTS, id="it becomes rarer"),
        pytest.param(NEW_OBJECTS + 1, NEW_OBJECTS + 1, id="who wants it rarer still has it so"),
        pytest.param(0, 0, id="who has switched it off has it so"),
    ],
)
def test_only_the_first_threshold_is_raised_and_only_for_a_while(before: int, within: int) -> None:
    gc.set_threshold(before, 11, 12)
    with rare_collections():
        assert gc.get_threshold()[:2] == (within, 11)
    assert gc.get_threshold()[:2] == (before, 11)


def test_it_is_as_before_also_after_an_error() -> None:
    gc.set_threshold(700, 11, 12)
    with pytest.raises(ZeroDivisionError), rare_collections():
        raise ZeroDivisionError
    assert gc.get_threshold()[:2] == (700, 11)
