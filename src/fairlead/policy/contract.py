"""What every rule set promises, which rule sets there are, and how one is made from its settings.

A further rule set is one package beside the others, and one line here in each of `PolicyName`,
`Settings`, `_NAMES` and `make_policy`.
"""

from fractions import Fraction
from typing import Final, Literal, Protocol, TypeAlias, get_args

from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.usage.settings import UsageSettings

PolicyName: TypeAlias = Literal["kai", "kueue", "elastic-quota"]
Settings: TypeAlias = KaiSettings | KueueSettings | ElasticQuotaSettings


class Policy(Protocol):
    """A rule set: the same state gives the same plan, and the state is left as it was."""

    def plan(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
        explain: bool = True,
    ) -> Plan:
        """Return what to do about *state*.

        What is *held* after a failure is not tried. Law: this too depends on this call alone.

        The plan may stop after *at_most_starts* pods (1 or more), so that the first pods are bound
        while the rest is still being planned. It stops only where that changes nothing. Law:
        slices, each carried out and the state planned again at the same time until one is not cut,
        have the decisions of the whole plan without its waits, in the same order.

        Without *explain* the plan has no ``Wait`` and no ``Unknown``: a simulator, which asks a
        hundred thousand times, needs no reason for each of ten thousand waiting jobs. Law: all
        other decisions, ``memories`` and ``is_cut`` are the same with and without it.
        """


_NAMES: Final[dict[type[Settings], PolicyName]] = {
    KaiSettings: "kai",
    KueueSettings: "kueue",
    ElasticQuotaSettings: "elastic-quota",
}
POLICY_NAMES: Final[tuple[PolicyName, ...]] = get_args(PolicyName)
USAGE_POLICY_NAMES: Final[tuple[PolicyName, ...]] = tuple(
    name for kind, name in _NAMES.items() if "usage" in kind.__struct_fields__
)
"""The rule sets under which past usage counts."""


class CountsUsage(Protocol):
    """Settings of a rule set under which past usage counts."""

    @property
    def usage(self) -> UsageSettings | None:
        """Which past usage counts; None: it is not configured."""

    @property
    def k(self) -> Fraction:
        """How much past usage changes shares; 0: not at all."""


def counts_usage(settings: Settings) -> CountsUsage | None:
    """Return *settings* if past usage counts under them, else None."""
    return settings if isinstance(settings, KaiSettings) else None


def policy_of(settings: Settings) -> PolicyName:
    """Return the name of the rule set that *settings* configure."""
    return _NAMES[type(settings)]


def make_policy(settings: Settings, *, plain: bool = False) -> Policy:
    """Return the policy that plans under *settings*.

    *plain*: without all that only makes it fast. Law: the decisions are the same.
    """
    match settings:
        case KaiSettings():
            return KaiPolicy(settings, plain=plain)
        case KueueSettings():
            return KueuePolicy(settings, plain=plain)
        case ElasticQuotaSettings():
            return ElasticQuotaPolicy(settings, plain=plain)
