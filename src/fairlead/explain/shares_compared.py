"""The weighted shares of both sides, where fair sharing decided who gives way."""

from fairlead.explain.amount_text import number_text
from fairlead.explain.explanation import Section
from fairlead.explain.job_claims import SHOWN_VICTIMS
from fairlead.explain.kueue_job_view import KueueJobView
from fairlead.model.plan import Evict


def shares_section(view: KueueJobView) -> Section | None:
    """Return the shares for each who gives way, the side that gains first; None if none decided."""
    own = [each for each in view.decisions if isinstance(each, Evict)]
    compared = [each for each in (*view.victims, *own) if each.reason.shares]
    if not compared:
        return None
    rows = [
        (each.workload, side.queue, number_text(side.before), number_text(side.after))
        for each in compared[:SHOWN_VICTIMS]
        for side in each.reason.shares
    ]
    return Section(
        title="Weighted shares of both sides",
        table=(("GIVES WAY", "SIDE", "SHARE", "SHARE AFTER"), *rows),
        words=2,
        remarks=(
            "A side is a queue, or the cohort above it that stands beside the other side.",
            "A share is what is borrowed of what could be lent, in thousandths, over the weight:",
            "as the search found it, with those away whom it had tried before.",
        ),
    )
