"""What of an amount is above a guarantee, which may be of everything there is."""


def above_guarantee(amount: int, guarantee: int | None) -> int:
    """The part of *amount* that is not guaranteed; None guarantees all of it."""
    return 0 if guarantee is None or amount <= guarantee else amount - guarantee
