"""Which settings of a sweep change nothing under a rule set: their rows would be equal.

Whoever looks at equal rows must not take them for a finding.
"""

from collections.abc import Iterator

from fairlead.sim.scenario.effect import Effects, WithoutEffect
from fairlead.sim.sweep.combinations import Sweep


def without_effect(sweep: Sweep) -> Iterator[WithoutEffect]:
    """Yield each variant and setting whose values are all the same under it.

    Cost: reading the cluster once for each variant.
    """
    # What is set at all can matter to others, as a window does to k; to which value does not.
    together = {**sweep.settings, **{name: values[0] for name, values in sweep.over.items()}}
    for variant in sweep.variants:
        effects = Effects(sweep.scenario, variant)
        for name, values in sweep.over.items():
            first, *others = [effects.of({**together, name: value}) for value in values]
            if others and all(each == first for each in others):
                yield effects.none_of(name, together)
