"""What comes of a try to make room on a node, and how much harm it does."""

from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.policy.elastic_quota.nodes.holders import Holder

Outcome: TypeAlias = Literal[
    "victims", "no-victim-needed", "no-victims", "does-not-fit", "quota", "error"
]
HarmKey: TypeAlias = tuple[int, int, int, int, int, str]

PRIORITY_OFFSET: Final = 2**31  # makes every priority positive, so that fewer victims weigh less


class NodeOutcome(NamedTuple):
    """What came of one node; victims are listed the most important first."""

    node: str
    outcome: Outcome
    victims: tuple[Holder, ...] = ()
    violations: int = 0

    def is_choice(self, looks_later: bool) -> bool:
        """Return whether the pod may wait here; with nobody to leave only for who *looks_later*."""
        return self.outcome == "victims" or (looks_later and self.outcome == "no-victim-needed")

    @property
    def key(self) -> HarmKey:
        """By what nodes are compared, the least harm first."""
        if not self.victims:
            return (0, -PRIORITY_OFFSET, 0, 0, 0, self.node)
        top = self.victims[0].priority
        return (
            self.violations,
            top,
            sum([each.priority + PRIORITY_OFFSET for each in self.victims]),
            len(self.victims),
            -min([each.started_ms for each in self.victims if each.priority == top]),
            self.node,
        )
