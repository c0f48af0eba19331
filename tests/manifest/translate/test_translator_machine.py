"""The same histories step by step, so that a failure shrinks to the fewest steps.

Each rule is one thing that happens in a cluster, on the way, or in a scheduler; what exactly is
drawn from a source of chance that shrinks. `history` says which laws hold.
"""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fairlead.policy.contract import PolicyName
from tests.manifest.translate.history import History
from tests.scale_examples import scale_examples

chance = st.randoms(use_true_random=False)


class Machine(RuleBasedStateMachine):
    """A history of which each step is a rule; without a rule set of its own it does nothing."""

    policy: PolicyName
    history: History

    @initialize(random=chance)
    def begin(self, random: Random) -> None:
        self.history = History(self.policy, random)

    @rule(random=chance)
    def objects_change(self, random: Random) -> None:
        self.history.world.step(random)

    @rule(random=chance)
    def facts_arrive(self, random: Random) -> None:
        self.history.deliver(random)

    @rule(random=chance)
    def a_fact_arrives_again(self, random: Random) -> None:
        self.history.watches.repeat(random)

    @rule(random=chance)
    def a_watch_breaks(self, random: Random) -> None:
        self.history.break_watch(random)

    @rule()
    def the_state_is_settled(self) -> None:
        self.history.driver.settle()

    @rule(random=chance)
    def a_cycle_runs(self, random: Random) -> None:
        self.history.run_a_cycle(random)

    @rule(random=chance)
    def an_order_is_sent(self, random: Random) -> None:
        self.history.driver.send(random)

    @rule(random=chance)
    def an_outcome_is_told(self, random: Random) -> None:
        self.history.driver.tell(random)

    @rule(random=chance)
    def time_passes(self, random: Random) -> None:
        self.history.pass_time(random)
        self.history.driver.look_into_overdue()

    @rule(outcomes_first=st.booleans())
    def all_comes_to_rest(self, outcomes_first: bool) -> None:
        self.history.come_to_rest(outcomes_first=outcomes_first)
        self.history.check_rest()

    def teardown(self) -> None:
        if hasattr(self, "history"):
            self.history.come_to_rest(outcomes_first=False)
            self.history.check_rest()


class KaiMachine(Machine):
    policy = "kai"


class KueueMachine(Machine):
    policy = "kueue"


class ElasticQuotaMachine(Machine):
    policy = "elastic-quota"


COUNTS = settings(max_examples=scale_examples(60), stateful_step_count=30)
TestKai = KaiMachine.TestCase
TestKai.settings = COUNTS
TestKueue = KueueMachine.TestCase
TestKueue.settings = COUNTS
TestElasticQuota = ElasticQuotaMachine.TestCase
TestElasticQuota.settings = COUNTS
