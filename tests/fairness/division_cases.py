"""What the tests of the division have in common: tables in text, and random cases."""

from decimal import Decimal
from fractions import Fraction

import msgspec
from hypothesis import strategies as st

from fairlead.fairness.division import Claim, divide

DEVICE = 1000  # base units of a device, the unit of all tables


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table."""

    priority: int
    claim: Claim
    gets: int


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of one division."""

    amount: int
    claims: tuple[Claim, ...]
    levels: tuple[tuple[int, ...], ...]
    unit: int
    k: Fraction

    def shares(self) -> list[int]:
        """What `divide` makes of it."""
        return divide(self.amount, self.claims, self.levels, unit=self.unit, k=self.k)


def rows(table: str) -> tuple[int, list[Row]]:
    """Read ``amount N`` and the table below it, everything in devices."""
    first, head, *lines = (line.split() for line in table.strip().splitlines())
    return _devices(first[1]), [_row(dict(zip(head, line, strict=True))) for line in lines]


def _row(cells: dict[str, str]) -> Row:
    return Row(
        priority=int(cells["priority"]),
        claim=Claim(
            guaranteed=None if cells["guaranteed"] == "-" else _devices(cells["guaranteed"]),
            ceiling=None if cells["ceiling"] == "-" else _devices(cells["ceiling"]),
            weight=int(cells["weight"]),
            requested=_devices(cells["requested"]),
            usage_e9=int(Decimal(cells["usage"]) * 10**9),
        ),
        gets=_devices(cells["gets"]),
    )


def _devices(text: str) -> int:
    return int(Decimal(text) * DEVICE)


# Small numbers meet often: equal fractions, needs that are exactly a portion, whole portions.
_small = st.integers(0, 12) | st.integers(0, 60)
_usages_e9 = st.integers(0, 10).map(lambda tenths: tenths * 10**8) | st.integers(0, 2 * 10**9)
strengths = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3), Fraction(7, 2)])
claims = st.builds(
    Claim,
    guaranteed=st.none() | st.just(0) | _small,
    ceiling=st.none() | st.none() | _small,
    weight=st.integers(0, 4) | st.integers(1, 100),
    requested=_small | st.integers(0, 500),
    usage_e9=_usages_e9,
)


@st.composite
def cases(draw: st.DrawFn, *, most: int = 7, k: st.SearchStrategy[Fraction] = strengths) -> Case:
    """A division with up to three levels; the unit is 1, or 10 so that needs can be fractions."""
    members = draw(st.lists(claims, min_size=1, max_size=most))
    level_of = draw(st.lists(st.integers(0, 2), min_size=len(members), max_size=len(members)))
    age = draw(st.permutations(range(len(members))))
    return Case(
        amount=draw(_small | st.integers(0, 500)),
        claims=tuple(members),
        levels=tuple(tuple(i for i in age if level_of[i] == level) for level in range(3)),
        unit=draw(st.sampled_from([1, 10])),
        k=draw(k),
    )
