"""A disk forgets one bit of a closed store: whoever reads it is told, or notices no difference.

The bits are drawn from a seed, over all of the file: names, keys, levels, acts, facts, what was
saved to be quicker, the pages that hold them, and what describes the tables.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from fairlead.errors import StoreError
from fairlead.store.file import checkpoints
from fairlead.store.file.usage_store import UsageStore
from tests.store.asked_store import HISTORY, LATER, NOW, RULES, Answers, answers
from tests.store.usage_entries import DAY, HOUR, RESOURCES, START, granted, held

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a store that has something of everything in it, and of things deleted."""
    path = tmp_path_factory.mktemp("whole") / "use.db"
    with pytest.MonkeyPatch.context() as patch, UsageStore.open(path, resources=RESOURCES) as store:
        patch.setattr(checkpoints, "CHECKPOINT_MS", 10 * HOUR)
        store.append(HISTORY[:100], observed_ms=HISTORY[99].at_ms)
        store.save_snapshot(store.ledger(RULES, HISTORY[99].at_ms), RULES)
        store.append(HISTORY[100:])
        store.append([held(3.33, 1, 2)])
        store.roll_up(NOW, DAY)
        store.save_snapshot(store.ledger(RULES, START + 29 * HOUR), RULES)
        store.append(LATER, observed_ms=NOW)
    return path.read_bytes()


@pytest.fixture(scope="module")
def wanted(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the undamaged file answers."""
    path = tmp_path_factory.mktemp("asked") / "use.db"
    path.write_bytes(content)
    return answers(path)


def is_told(path: Path, content: bytes, bit: int, wanted: Answers) -> bool:
    """Whether the file with that bit changed is refused; if it is not, it answers as before."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(changed)
    try:
        found = answers(path)
    except StoreError:
        return True
    assert found == wanted, f"bit {bit} is not told, and others are answered"
    return False


def bits_of(content: bytes, text: bytes) -> list[int]:
    """The bits of every place in the file where *text* is."""
    places = [at for at in range(len(content)) if content.startswith(text, at)]
    assert places
    return [8 * at + bit for at in places for bit in range(8 * len(text))]


def test_no_bit_anywhere_changes_an_answer_without_being_told(
    content: bytes, wanted: Answers, tmp_path: Path
) -> None:
    """240 bits of bytes that are used, of which most matter, and 80 of the whole file."""
    random = Random(8)
    used = [place for place, byte in enumerate(content) if byte]
    bits = [8 * random.choice(used) + random.randrange(8) for _ in range(240)]
    bits += [random.randrange(8 * len(content)) for _ in range(80)]
    told = [bit for bit in bits if is_told(tmp_path / "use.db", content, bit, wanted)]
    assert len(told) >= 160


def test_no_bit_by_which_pages_are_found_or_counted_changes_an_answer(
    content: bytes, wanted: Answers, tmp_path: Path
) -> None:
    """The page that leads to those of the journal, and byte 4 of each: how many rows it has.

    Rows are lost then, or a search takes a wrong turn, and no row by itself would tell.
    """
    path = tmp_path / "use.db"
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
        [root] = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'levels'"
        ).fetchone()
    begin = (root - 1) * size
    assert content[begin] == 5, "a page that leads to others"
    places = [place for place in range(begin, begin + size) if content[place]]
    places += [page + 4 for page in range(size, len(content), size)]
    bits = [8 * place + bit for place in places for bit in range(8)]
    told = [bit for bit in bits if is_told(path, content, bit, wanted)]
    assert len(told) >= len(bits) // 2


@pytest.mark.parametrize("name", ["lab", "eve", "gpu"])
def test_every_bit_of_a_name_is_told(
    name: str, content: bytes, wanted: Answers, tmp_path: Path
) -> None:
    """But in the index of names, which only who adds a name asks."""
    bits = bits_of(content, name.encode())
    told = [is_told(tmp_path / "use.db", content, bit, wanted) for bit in bits]
    assert sum(told) >= 8 * len(name)


def test_every_bit_of_what_describes_a_table_is_told(
    content: bytes, wanted: Answers, tmp_path: Path
) -> None:
    """In the word PRIMARY, for example, without which a key is not a key and nothing is read."""
    path = tmp_path / "use.db"
    bits = bits_of(content, b"CREATE TABLE acts (key INTEGER PRIMARY KEY")
    assert all(is_told(path, content, bit, wanted) for bit in bits)


@pytest.mark.parametrize("table", ["levels", "acts"])
def test_every_bit_of_the_key_of_a_row_is_told(table: str, tmp_path: Path) -> None:
    """Moved in time, with nothing beside it: SQLite sees nothing wrong."""
    path = tmp_path / "use.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append([held(0, 1, 1), granted(0, 1, 1)])
    for bit in range(50):
        flip = f"UPDATE {table} SET key = (key | {1 << bit}) - (key & {1 << bit})"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(flip)
            with pytest.raises(StoreError, match="it is damaged"):
                answers(path)
            connection.execute(flip)
    assert answers(path).entries
