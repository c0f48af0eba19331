"""Which variants of a scenario to run, as ``--policy`` names them."""

from collections.abc import Sequence

from fairlead.errors import SimulationError
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.policy.contract import POLICY_NAMES, PolicyName
from fairlead.sim.scenario.scenario import Scenario, Variant


def rule_sets(names: Sequence[str]) -> tuple[PolicyName, ...]:
    """Return those of *names* that are of rule sets: a scenario can be read under them as well."""
    return tuple(policy for policy in POLICY_NAMES if policy in names)


def choose_variants(scenario: Scenario, names: Sequence[str]) -> tuple[Variant, ...]:
    """Return the variants that *names* mean, in their order; without names all of them.

    A name is that of a variant, or else of a rule set: then it means all variants of it. Raises
    `SimulationError` for one that is neither.
    """
    if not names:
        return scenario.variants
    chosen: dict[str, Variant] = {}
    for name in names:
        found = [scenario.by_name[name]] if name in scenario.by_name else []
        found = found or [each for each in scenario.variants if each.policy == name]
        if not found:
            known = dict.fromkeys((*scenario.by_name, *POLICY_NAMES))
            hint = did_you_mean(name, known) or f"expected one of: {', '.join(known)}"
            raise SimulationError(f"found the policy {quote(name)}; {hint}")
        chosen |= {each.name: each for each in found}
    return tuple(chosen.values())
