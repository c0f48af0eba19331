"""``fairlead usage import`` of what a record knows: nothing is written twice, no answer changes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.cli.usage.import_ import unknown_entries
from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Forgiven, Gap, Guarantee, Held, Removed
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.cli.run_cli import Ran, run_cli
from tests.scale_examples import scale_examples
from tests.store.entry_lists import BEGIN_MS, RESOURCES, entry_lists

NOW_MS = BEGIN_MS + 13 * 10**7
RULES = UsageRules(window=Sliding(10**9), half_life_ms=10**6)
A = QueueName("a")


def imported(store: Path, text: Path) -> Ran:
    later = ("--now", "2027-01-01T00:00:00Z")
    return run_cli("usage", "import", str(text), "--store", str(store), *later)


@settings(
    max_examples=scale_examples(15),
    deadline=None,
    # Every example makes files of its own names.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(entries=entry_lists().filter(bool))
def test_an_export_that_comes_back_writes_nothing(tmp_path: Path, entries: list[Entry]) -> None:
    store, text = tmp_path / "a.db", tmp_path / "text"
    for file in tmp_path.iterdir():
        file.unlink()
    with UsageStore.open(store, resources=RESOURCES) as record:
        record.append(entries)
        before = list(record.entries())
    run_cli("usage", "export", "--store", str(store), str(text))
    ran = imported(store, text)
    assert (ran.exit_code, ran.out) == (0, "imported no entries: the store has them all\n")
    assert ran.err == ""
    with UsageStore.open(store, writes=False) as record:
        assert list(record.entries()) == before


LEVELS = st.lists(
    st.builds(
        lambda step, queue, amount: Held(
            at_ms=BEGIN_MS + step, queue=QueueName(queue), amounts=(amount, 0)
        ),
        st.integers(0, 3),
        st.sampled_from("ab"),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=6,
).map(lambda found: sorted(found, key=lambda entry: entry.at_ms))


@settings(
    max_examples=scale_examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(known=entry_lists() | LEVELS, told=entry_lists() | LEVELS, kept=st.integers(0, 12))
def test_a_record_answers_the_same_whether_all_or_only_the_unknown_is_written(
    tmp_path: Path, known: list[Entry], told: list[Entry], kept: int
) -> None:
    """The plain way is to write all, but what administrators did, which would count twice."""
    told = sorted([*known[:kept], *told], key=lambda entry: entry.at_ms)
    answers: list[object] = []
    for name in ("all", "unknown"):
        path = tmp_path / name
        for file in tmp_path.glob(f"{name}*"):
            file.unlink()
        with UsageStore.open(path, resources=RESOURCES) as record:
            try:
                record.append(known)
                log = set(record.audit())
                plain = [entry for entry in told if entry not in log]
                record.append(plain if name == "all" else unknown_entries(record, told))
            except UsageError:
                answers.append("refused")
                continue
            answers.append(record.ledger(RULES, NOW_MS).usage(NOW_MS))
    if "refused" not in answers:
        assert answers[0] == answers[1]


def held(at_ms: int, amount: int) -> Held:
    return Held(at_ms=at_ms, queue=A, amounts=(amount,))


KNOWN: list[Entry] = [
    Capacity(at_ms=1000, amounts=(8,)),
    Guarantee(at_ms=1000, queue=A, amounts=(None,)),
    held(1000, 4),
    held(2000, 5),
    held(2000, 0),
    held(3000, 6),
    Removed(at_ms=3000, queue=A),
    Gap(at_ms=5000, since_ms=4000),
    Forgiven(at_ms=6000, queue=None, who="eve", reason="r"),
]
CASES: dict[str, tuple[list[Entry], list[Entry]]] = {
    "all of it": (KNOWN, []),
    "another level of the same moment": ([held(1000, 3)], [held(1000, 3)]),
    "a level that held for no time": ([held(2000, 5)], [held(2000, 5)]),
    "two levels of one moment": ([held(2000, 5), held(2000, 0)], []),
    "the same level at another moment": ([held(1500, 4)], [held(1500, 4)]),
    "a level of a queue that is removed at once": ([held(3000, 6)], [held(3000, 6)]),
    "a level, and its queue is removed at once": ([held(3000, 6), KNOWN[6]], []),
    "the same act by somebody else": (
        [Forgiven(at_ms=6000, queue=None, who="bob", reason="r")],
        [Forgiven(at_ms=6000, queue=None, who="bob", reason="r")],
    ),
    "something later than all": ([held(9000, 1)], [held(9000, 1)]),
}


@pytest.mark.parametrize(("told", "new"), CASES.values(), ids=CASES)
def test_what_a_record_knows_is_told_apart(
    tmp_path: Path, told: list[Entry], new: list[Entry]
) -> None:
    with UsageStore.open(tmp_path / "a.db", resources=("cpu",)) as record:
        record.append(KNOWN)
        assert unknown_entries(record, told) == new


def test_only_the_rest_of_a_longer_file_is_added_and_told(tmp_path: Path) -> None:
    store, text = tmp_path / "a.db", tmp_path / "text"
    lines = [
        '{"type":"usage","version":1,"resources":["cpu"]}',
        '{"type":"held","at_ms":2000,"queue":"a","amounts":[8]}',
        '{"type":"held","at_ms":4000,"queue":"a","amounts":[0]}',
        '{"type":"held","at_ms":3000,"queue":"b","amounts":[1]}',
        '{"type":"held","at_ms":3500,"queue":"b","amounts":[0]}',
    ]
    text.write_text("\n".join(lines[:3]))
    assert imported(store, text).exit_code == 0
    text.write_text("\n".join(lines))
    ran = imported(store, text)
    assert ran.out == (
        "imported 2 entries, from 1970-01-01T00:00:03Z to 1970-01-01T00:00:03Z; the store "
        "already had 2 more of the file\n"
    )
    assert "note: the store has entries up to 1970-01-01T00:00:04Z, and what is new" in ran.err
    with UsageStore.open(store, writes=False) as record:
        assert [entry.at_ms for entry in record.entries()] == [2000, 3000, 3500, 4000]
