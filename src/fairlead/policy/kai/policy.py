"""KAI's rules as one function: from a state to what should be done about it."""

from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kai.cycle import KaiCycle
from fairlead.policy.kai.settings import KaiSettings


class KaiPolicy:
    """Plans under KAI's rules with the settings of one administrator."""

    def __init__(self, settings: KaiSettings) -> None:
        """Make the policy once; it may plan for any number of states."""
        self.settings = settings
        self._last: tuple[ClusterState, int, tuple[Decision, ...]] | None = None

    def plan(self, state: ClusterState, now_ms: int) -> Plan:
        """Return what to do about *state*, which is afterwards as it was before.

        The same state gives the same decisions, whatever was planned before and in whichever order
        things were listed. A state that has not changed since the last call costs nothing.
        """
        last = self._last
        if last is None or last[0] is not state or last[1] != state.moment:
            with state.trial():
                cycle = KaiCycle(state, self.settings, now_ms)
                decisions = tuple(cycle.decisions())
            self._last = last = (state, state.moment, decisions)
        return Plan(taken_ms=now_ms, decisions=last[2])
