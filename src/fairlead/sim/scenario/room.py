"""Whether a gang could ever run: nodes that hold it, and a queue that may."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.gang import Gang
from fairlead.sim.scenario.pod_room import WAITS, PodRoom
from fairlead.sim.scenario.queue_room import QueueRoom

Kind: TypeAlias = Literal["pod", "gang", "queue"]
"""What is too large: a pod for each node, a gang for all of them, or a gang for its queue."""


class Lack(NamedTuple):
    """Why a gang waits for ever: ``what`` follows "found", ``waits`` says under which rules."""

    kind: Kind
    what: str
    waits: str


class Room(NamedTuple):
    """What bounds gangs; without ``nodes`` none do, and ``queues`` are by rule set."""

    nodes: PodRoom | None
    queues: Mapping[PolicyName, QueueRoom]

    def lacks(self, gang: Gang, queues: Sequence[str]) -> Iterator[Lack]:
        """Yield what keeps *gang* from running for ever, of nodes and of *queues*.

        The first of the queues that is too small is told. Rules that say the same do it together.
        """
        if self.nodes is not None:
            of_pod = self.nodes.pod_lack(gang)
            if of_pod is not None:
                yield Lack("pod", of_pod, WAITS)
            elif (of_gang := self.nodes.gang_lack(gang)) is not None:
                yield Lack("gang", of_gang, WAITS)
        under: dict[str, list[str]] = {}
        for policy, room in self.queues.items():
            lacks = (room.lack(queue, gang) for queue in queues)
            first = next((lack for lack in lacks if lack is not None), None)
            if first is not None:
                under.setdefault(first, []).append(policy)
        for lack, policies in under.items():
            yield Lack("queue", lack, f"under {', '.join(policies)} it waits for ever")
