"""A scenario that was read and checked: all that is needed to make it run, as often as wanted."""

from collections.abc import Mapping

import msgspec

from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.policy_overrides import PolicyOverrides
from fairlead.sim.scenario.scenario_form import PolicyForm, SpecForm
from fairlead.sim.scenario.work_part import WorkPart


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Rules under which the work is run."""

    name: str
    policy: PolicyName
    form: PolicyForm


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate. Plain data: it can be sent to another process."""

    name: str
    file: str
    folder: str  # paths in the file are seen from it
    spec: SpecForm
    variants: tuple[Variant, ...]
    work: tuple[WorkPart, ...]
    log_jobs: dict[str, int] = {}  # how many jobs each log gave when it was checked, by source
    overrides: PolicyOverrides = PolicyOverrides()

    @property
    def by_name(self) -> Mapping[str, Variant]:
        """The variants by name."""
        return {variant.name: variant for variant in self.variants}
