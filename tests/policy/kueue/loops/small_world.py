"""A small cluster as rows of a table: cheap to make up, to send elsewhere, and to read."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import build

Row: TypeAlias = dict[str, str]


class SmallWorld(NamedTuple):
    """Rows as `plan_world.cluster` reads them, and the settings to plan with.

    Workloads may have two more columns. ``arrives``: before which plan it comes, 0 being the first.
    ``lingers``: for how many plans it stays after it was told to leave; 0: it has left by the next.
    """

    settings: KueueSettings
    queues: tuple[Row, ...]
    workloads: tuple[Row, ...]

    def state(self) -> ClusterState:
        """Return the cluster before the first plan."""
        return build(self.queues, self.arriving(0))

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
        sharing = "no fair sharing"
        if self.settings.fair_sharing:
            sharing = f"fair sharing: {', '.join(self.settings.strategies)}"
        if self.settings.options.priority_override:
            sharing += "; priority override, if loops are prevented"
        return f"{sharing}\n\n{_table(self.queues)}\n\n{_table(self.workloads)}"


def _table(rows: Sequence[Row]) -> str:
    columns = list(rows[0])
    lines = [columns, *([row[column] for column in columns] for row in rows)]
    return "\n".join(" ".join(cell.ljust(6) for cell in line).rstrip() for line in lines)
