"""From settings to the rule set that plans under them."""

from collections.abc import Sequence
from typing import Protocol

from fairlead.model.events import MemoryChanged
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.names import Settings


class Policy(Protocol):
    """A rule set: the same state gives the same plan, and is left as it was.

    What the caller has *held* after failures is not tried. Law: that too depends on this call
    alone, whatever was held in calls before.

    A plan may stop once *at_most_starts* pods have started, 1 or more: so the first are bound while
    the others are still planned. It does so only where that changes nothing. Law: slices, each
    carried out and planned again at the same time until one is not cut, make the decisions of the
    whole plan but its waits, in the same order.
    """

    def plan(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
    ) -> Plan:
        """Return what to do about *state*."""

    def changes(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
    ) -> Sequence[Decision]:
        """Return the decisions of ``plan`` that are no ``Wait``, for who reads no reasons.

        A simulator asks a hundred thousand times. Nobody has to say why ten thousand wait.
        """

    @property
    def memories(self) -> Sequence[MemoryChanged]:
        """What the last answer leaves to be remembered: the ``memories`` of the plan."""

    @property
    def looked_at_the_clock(self) -> bool:
        """Whether the last answer might have been another one at another time."""

    @property
    def is_cut(self) -> bool:
        """Whether the last answer stopped after so many starts, and says nothing of the rest."""

    @property
    def holds_until_ms(self) -> int | None:
        """Until when it would be the same if nothing changed; None: nobody knows, or for ever."""


def make_policy(settings: Settings) -> Policy:
    """Return the policy that *settings* are for."""
    match settings:
        case KaiSettings():
            return KaiPolicy(settings)
        case KueueSettings():
            return KueuePolicy(settings)
        case ElasticQuotaSettings():
            return ElasticQuotaPolicy(settings)
