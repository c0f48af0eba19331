"""What speaks against a flavor, in a few words that a reason can carry."""

from fairlead.model.selector import LabelRequirement
from fairlead.policy.kueue.flavors.eligibility import (
    FlavorMismatch,
    UnknownFlavor,
    UnmetLabels,
    UntoleratedTaint,
)


def flavor_mismatch_text(mismatch: FlavorMismatch) -> str:
    """Return in short what speaks against a flavor."""
    match mismatch:
        case UnknownFlavor():
            return f"{mismatch.flavor} does not exist"
        case UntoleratedTaint():
            taint = mismatch.taint
            return f"{mismatch.flavor} has the taint {taint.key}={taint.value}:{taint.effect}"
        case UnmetLabels():
            return f"{mismatch.flavor} lacks {' or '.join(map(_condition, mismatch.unmet))}"


def _condition(condition: LabelRequirement) -> str:
    values = ", ".join(condition.values)
    match condition.operator:
        case "In" if len(condition.values) == 1:
            return f"{condition.key}={values}"
        case "In":
            return f"{condition.key} in ({values})"
        case "NotIn":
            return f"{condition.key} not in ({values})"
        case "Exists":
            return condition.key
        case "DoesNotExist":
            return f"no {condition.key}"
        case "Gt":
            return f"{condition.key} > {values}"
        case "Lt":
            return f"{condition.key} < {values}"
