"""Entries on other resources: each amount goes to its name, and what is not known is 0."""

from hypothesis import given

from fairlead.model.axes import QueueName
from fairlead.store.file.entry_amounts import fit_resources
from fairlead.usage.entries import Entry, Gap, Granted, Guarantee, Held
from tests.store.entry_lists import RESOURCES, entry_lists

A = QueueName("a")


def test_amounts_follow_the_names() -> None:
    entries: list[Entry] = [
        Held(at_ms=1, queue=A, amounts=(1, 2)),
        Guarantee(at_ms=1, queue=A, amounts=(None, 2)),
        Granted(at_ms=1, queue=A, resource_time=(-1, 2), who="eve", reason="r"),
        Gap(at_ms=3, since_ms=2),
    ]
    fitted = list(fit_resources(entries, ("x", "y"), ("y", "z", "x")))
    assert fitted == [
        Held(at_ms=1, queue=A, amounts=(2, 0, 1)),
        Guarantee(at_ms=1, queue=A, amounts=(2, 0, None)),
        Granted(at_ms=1, queue=A, resource_time=(2, 0, -1), who="eve", reason="r"),
        Gap(at_ms=3, since_ms=2),
    ]


@given(entry_lists())
def test_there_and_back_is_nothing(entries: list[Entry]) -> None:
    wider = ("memory", *reversed(RESOURCES))
    there = list(fit_resources(entries, RESOURCES, wider))
    assert list(fit_resources(there, wider, RESOURCES)) == entries
    assert list(fit_resources(entries, RESOURCES, RESOURCES)) == entries
