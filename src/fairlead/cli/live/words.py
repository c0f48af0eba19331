"""What users read of decisions on the API server and in logs, made of the words of explain."""

from fairlead.explain.text.names import first_few, printable
from fairlead.explain.text.reasons import reason_text, wait_text
from fairlead.model.plan import Evict, LeftPending, Move, Reserve, Wait


class LiveWords:
    """Sentences about decisions of a live scheduler."""

    def waiting(self, decision: LeftPending | Reserve) -> str:
        """Return why the pods of a workload wait."""
        if isinstance(decision, Wait):
            return printable(wait_text(decision))
        text = reason_text(decision.reason)
        if isinstance(decision, Reserve):
            nodes = dict.fromkeys([each.node for each in decision.placements if each.node])
            text = f"waits for room on {first_few(list(nodes))}: {text}" if nodes else text
        return printable(text)

    def evicted(self, decision: Evict | Move) -> str:
        """Return for which workload pods are evicted, and by which rule."""
        text = reason_text(decision.reason)
        if decision.beneficiary is not None:
            text = f"gives way to {decision.beneficiary}: {text}"
        return printable(text)
