"""The tree of queues as measures see it."""

from fairlead.sim.measures.queue_books import QueueBooks

DEPTH = 1500  # more than Python calls in a row


def test_a_tree_may_be_as_deep_as_one_likes() -> None:
    parents = {f"q{at}": f"q{at - 1}" if at else None for at in range(DEPTH)}
    books = QueueBooks(parents, resources=1)
    assert [leaf.name for leaf in books.leaves] == [f"q{DEPTH - 1}"]
    assert len(list(books.tops[0].all_beneath())) == DEPTH
    assert len(books.upward[f"q{DEPTH - 1}"]) == DEPTH


def test_what_is_reported_of_a_queue_is_a_part_of_those_above_of_which_nothing_was_told() -> None:
    """Queue a has 2 and then 5, b has 1; of left nothing was told, of all 10 and later 4."""
    parents = {"all": None, "left": "all", "a": "left", "b": "left"}
    books = QueueBooks(parents, resources=1)
    place = {name: book.index for name, book in books.by_name.items()}

    def levels() -> dict[str, int]:
        return {name: books.entitled.table.levels[0][place[name]] for name in parents}

    def tell(at_ms: int, given: dict[str, tuple[int, ...]]) -> set[str]:
        changed: set[int] = set()
        books.entitled.give(at_ms, given, changed)
        return {name for name in parents if place[name] in changed}

    assert tell(0, {"a": (2,), "b": (1,), "elsewhere": (7,)}) == set(parents)
    assert levels() == {"all": 3, "left": 3, "a": 2, "b": 1}
    assert tell(1, {"all": (10,)}) == {"all"}
    assert tell(2, {"a": (5,), "b": (1,)}) == {"a", "left"}
    assert levels() == {"all": 10, "left": 6, "a": 5, "b": 1}
    assert tell(3, {"all": (4,)}) == {"all"}
