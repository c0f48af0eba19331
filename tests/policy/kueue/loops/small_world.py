"""A small cluster as rows of a table: cheap to make up, to send elsewhere, and to read."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.queue import ClusterQueue, ResourceGroup
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import ONE_AXIS, build, with_catalogue, with_rules

Row: TypeAlias = dict[str, str]


class SmallWorld(NamedTuple):
    """Rows as `plan_world.cluster` reads them, and the settings to plan with.

    ClusterQueues may have one more column, ``flavors``: which ones it lists where there is a
    choice, in its own order. Workloads may have two. ``arrives``: before which plan it comes, 0
    being the first. ``lingers``: for how many plans it stays after it was evicted; 0: it has
    left by the next. Each flavor has the label ``kind`` with its name.
    """

    settings: KueueSettings
    queues: tuple[Row, ...]
    workloads: tuple[Row, ...]
    groups: str = ONE_AXIS

    def state(self) -> ClusterState:
        """Return the cluster before the first plan."""
        state = build(self.queues, self.arriving(0), self.groups)
        if self.groups != ONE_AXIS:
            names = {name for each in self.groups.split() for name in each.split(":")[1].split(",")}
            flavors = [ResourceFlavor(name=name, node_labels=(("kind", name),)) for name in names]
            with_catalogue(state, flavors={each.name: each for each in flavors})
        for row in self.queues:
            if row.get("flavors", "-") != "-":
                listed = tuple(row["flavors"].split(","))
                with_rules(state, row["name"], resource_groups=_listing(state, row["name"], listed))
        return state

    def arriving(self, plan: int) -> list[Row]:
        """Return the workloads that come before that plan."""
        return [row for row in self.workloads if row.get("arrives", "0") == str(plan)]

    def last_arrival(self) -> int:
        """Return before which plan the last ones come."""
        return max(int(row.get("arrives", "0")) for row in self.workloads)

    def lingering(self) -> dict[str, int]:
        """Return who does not leave at once, and how many plans it stays for."""
        return {
            row["name"]: int(row["lingers"])
            for row in self.workloads
            if row.get("lingers", "0") != "0"
        }

    def told(self) -> str:
        """Return the tables, which a test can read again, and what else there is to know."""
        known = "; ".join(self._rules())
        return f"{known}\n\n{_table(self.queues)}\n\n{_table(self.workloads)}"

    def _rules(self) -> Iterator[str]:
        yield self.groups
        if self.settings.fair_sharing:
            yield f"fair sharing: {', '.join(self.settings.strategies)}"
        else:
            yield "no fair sharing"
        for gate, is_on in self.settings.feature_gates:
            yield f"{gate} {'on' if is_on else 'off'}"
        if self.settings.options.priority_override:
            yield "priority override, if loops are prevented"


def _listing(state: ClusterState, queue: str, listed: tuple[str, ...]) -> tuple[ResourceGroup, ...]:
    """Return the groups of *queue*, where there is a choice with these flavors and no others."""
    rules = state.queues[QueueName(queue)].extension
    assert isinstance(rules, ClusterQueue)
    return tuple(
        replace(group, flavors=listed) if len(group.flavors) > 1 else group
        for group in rules.resource_groups
    )


def _table(rows: Sequence[Row]) -> str:
    """Return the rows, without the columns in which nothing is said."""
    columns = [name for name in rows[0] if any(row[name] != "-" for row in rows)]
    lines = [columns, *([row[column] for column in columns] for row in rows)]
    return "\n".join(" ".join(cell.ljust(6) for cell in line).rstrip() for line in lines)
