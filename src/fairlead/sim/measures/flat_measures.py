"""Every number of a summary by where it stands, for tables and for statistics."""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from fairlead.sim.measures.summary import Summary

Scope: TypeAlias = Literal["cluster", "queue", "user", "kind"]
Key: TypeAlias = tuple[Scope, str, str]
"""Scope, name (empty for the cluster), and the fields that lead to the number, as wait/p90_ms."""

SCOPES: tuple[Scope, ...] = ("cluster", "queue", "user", "kind")


def flat_measures(summary: Summary) -> Iterator[tuple[Key, float | None]]:
    """Yield every number of a summary with where it stands; None is one that is not defined."""
    tree = msgspec.to_builtins(summary)
    for measure, value in _numbers(tree["of_cluster"], ""):
        yield ("cluster", "", measure), value
    for scope, groups in (("queue", "of_queues"), ("user", "of_users"), ("kind", "of_kinds")):
        for name, group in tree[groups].items():
            for measure, value in _numbers(group, ""):
                yield (cast(Scope, scope), name, measure), value


def _numbers(tree: Mapping[str, object], path: str) -> Iterator[tuple[str, float | None]]:
    for field, value in tree.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{field}/")
        else:
            assert value is None or isinstance(value, int | float)
            yield f"{path}{field}", value
