"""Which of very many siblings are shown: those that decided what one of them got."""

from collections.abc import Iterator, Sequence
from itertools import islice

from fairlead.explain.leftover_ranking import LeftoverRanking

MOST_SIBLINGS = 12


def siblings_shown(
    shares: Sequence[int], own: int, rankings: Sequence[LeftoverRanking]
) -> frozenset[int]:
    """Return at most `MOST_SIBLINGS` places in *shares*, always with *own* among them.

    After itself come its neighbours in the line for left-over units, then those around the last
    who got one, its own level first, then the largest shares.
    """
    by_share = sorted(range(len(shares)), key=lambda at: (-shares[at], at))
    candidates = dict.fromkeys([own, *_in_line(own, rankings), *by_share])
    return frozenset(islice(candidates, MOST_SIBLINGS))


def _in_line(own: int, rankings: Sequence[LeftoverRanking]) -> Iterator[int]:
    own_first = sorted(rankings, key=lambda ranking: ranking.place(own) is None)
    for ranking in own_first:
        for centre in (ranking.place(own), ranking.winners - 1):
            if centre is not None:
                near = ranking.line[max(0, centre - 1) : centre + 2]
                yield from (each.sibling for each in near)
